//! A decision about a Cluster while it is being made.

use std::time::Duration;

use capt_api::{
    conditions::{
        ConditionStatus, Word as _,
        cluster::{ClusterCondition as Type, ClusterReason as Reason},
        condition, set_condition,
    },
    foreign::{
        cluster::{ClusterEndpoint, ClusterInitialization, ClusterStatus},
        marks,
    },
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use serde_json::json;

use super::{
    contract::{Contracted, as_meant, is_valid_endpoint},
    snapshot::Snapshot,
    summary,
};
use crate::{
    decision::{Decision, Event, EventKind},
    metadata,
};

/// What is known, and what was decided so far.
pub(super) struct Deciding<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) now: Timestamp,
    pub(super) decision: Decision<ClusterStatus>,
    /// The status that results: only fields and conditions that this module authors.
    pub(super) status: ClusterStatus,
    /// The endpoint that the Cluster has, or gets.
    pub(super) endpoint: Option<ClusterEndpoint>,
}

impl<'a> Deciding<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, now: Timestamp) -> Self {
        Self {
            snapshot,
            now,
            decision: Decision::default(),
            status: authored(snapshot),
            endpoint: snapshot
                .cluster
                .spec
                .control_plane_endpoint
                .clone()
                .filter(is_valid_endpoint),
        }
    }

    pub(super) fn name(&self) -> &'a str {
        self.snapshot.cluster.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn is_deleting(&self) -> bool {
        metadata::is_deleting(&self.snapshot.cluster.metadata)
    }

    pub(super) fn infrastructure_provisioned(&self) -> bool {
        let flags = self.status.initialization.as_ref();
        flags.and_then(|flags| flags.infrastructure_provisioned) == Some(true)
    }

    pub(super) fn control_plane_initialized(&self) -> bool {
        let flags = self.status.initialization.as_ref();
        flags.and_then(|flags| flags.control_plane_initialized) == Some(true)
    }

    /// Remembers for ever that the infrastructure was ready. Ours tells so itself.
    pub(super) fn latch_infrastructure(&mut self, object: Option<&Contracted>) {
        if !self.infrastructure_provisioned() {
            self.flags().infrastructure_provisioned = Some(true);
            if !object.is_some_and(Contracted::is_ours) {
                let message = format!("The infrastructure of the Cluster {} is provisioned", self.name());
                self.tell("InfrastructureReady", message);
            }
        }
    }

    /// Remembers for ever that the control plane answered. Ours tells so itself.
    pub(super) fn latch_control_plane(&mut self, object: &Contracted) {
        if !self.control_plane_initialized() {
            self.flags().control_plane_initialized = Some(true);
            if !object.is_ours() {
                let message = format!("The control plane of the Cluster {} is initialized", self.name());
                self.tell("ControlPlaneInitialized", message);
            }
        }
    }

    fn flags(&mut self) -> &mut ClusterInitialization {
        self.status.initialization.get_or_insert_default()
    }

    /// Takes an endpoint, unless there is one: the first valid one counts for ever. One that only is written as no host may
    /// be is written as it was meant.
    pub(super) fn take_endpoint(&mut self, endpoint: Option<&ClusterEndpoint>) {
        let is_taken = |own: &ClusterEndpoint| Some(own) == endpoint || Some(&as_meant(own)) != endpoint;
        if !self.endpoint.as_ref().is_some_and(is_taken)
            && let Some(endpoint) = endpoint
        {
            self.endpoint = Some(endpoint.clone());
            let value = json!({"host": endpoint.host, "port": endpoint.port});
            let spec = &mut self.decision.own.spec;
            spec.insert("controlPlaneEndpoint".to_owned(), value);
        }
    }

    /// Says something by a condition.
    pub(super) fn say(
        &mut self,
        type_: Type,
        status: impl Into<ConditionStatus>,
        reason: Reason,
        message: impl Into<String>,
    ) {
        let generation = self.snapshot.cluster.metadata.generation;
        let new = condition(type_, status, reason, message, generation, self.now);
        set_condition(self.status.conditions.get_or_insert_default(), new);
    }

    /// Says nothing by a condition any more.
    pub(super) fn unsay(&mut self, type_: Type) {
        let conditions = self.status.conditions.get_or_insert_default();
        conditions.retain(|condition| condition.type_ != type_.as_str());
    }

    /// Says by a condition what another object says by one of its own, since when it says so.
    pub(super) fn mirror(&mut self, type_: Type, original: &Condition, good: Reason) {
        let is_unexplained =
            original.status == "True" && original.reason == Reason::NoReasonReported.as_str();
        let new = Condition {
            type_: type_.as_str().to_owned(),
            reason: if is_unexplained {
                good.as_str().to_owned()
            } else {
                original.reason.clone()
            },
            observed_generation: self.snapshot.cluster.metadata.generation,
            last_transition_time: self.mirrored_time(type_, original),
            ..original.clone()
        };
        let conditions = self.status.conditions.get_or_insert_default();
        conditions.retain(|condition| condition.type_ != new.type_);
        conditions.push(new);
    }

    /// Somebody who does not say since when must not make the time jump with every decision.
    fn mirrored_time(&self, type_: Type, original: &Condition) -> Time {
        if original.last_transition_time.0 != Timestamp::UNIX_EPOCH {
            return original.last_transition_time.clone();
        }
        let old = self.condition(type_);
        old.filter(|old| old.status == original.status)
            .map_or(Time(self.now), |old| old.last_transition_time.clone())
    }

    /// What a condition says now.
    pub(super) fn condition(&self, type_: Type) -> Option<&Condition> {
        let mut conditions = self.status.conditions.iter().flatten();
        conditions.find(|condition| condition.type_ == type_.as_str())
    }

    /// Tells people of something that they have to mend.
    pub(super) fn warn(&mut self, reason: Reason, message: &str) {
        self.decision.events.push(Event {
            kind: EventKind::Warning,
            reason: reason.as_str().to_owned(),
            message: message.to_owned(),
        });
    }

    /// Looks again after so long, or sooner.
    pub(super) fn look_again(&mut self, after: Option<Duration>) {
        let before = self.decision.look_again;
        self.decision.look_again = before.into_iter().chain(after).min();
    }

    pub(super) fn tell(&mut self, reason: &str, message: String) {
        self.decision.events.push(Event {
            kind: EventKind::Normal,
            reason: reason.to_owned(),
            message,
        });
    }

    /// Our hold on the object must be there before anything is done for it.
    pub(super) fn prepare(&mut self) {
        let metadata = &self.snapshot.cluster.metadata;
        if !self.is_deleting() && !metadata::has_finalizer(metadata, marks::CLUSTER_FINALIZER) {
            let finalizers = &mut self.decision.own.add_finalizers;
            finalizers.push(marks::CLUSTER_FINALIZER.to_owned());
        }
    }

    fn set_phase(&mut self) {
        let spec = &self.snapshot.cluster.spec;
        let phase = if self.is_deleting() {
            "Deleting"
        } else if self.infrastructure_provisioned() && self.endpoint.is_some() {
            "Provisioned"
        } else if spec.infrastructure_ref.is_some() || spec.control_plane_ref.is_some() {
            "Provisioning"
        } else {
            self.status.phase.as_deref().unwrap_or("Pending")
        };
        if self.status.phase.as_deref() != Some(phase) {
            let phase = phase.to_owned();
            // That it is made is told by what it is made of.
            if self.is_deleting() {
                self.tell(&phase, format!("The Cluster {} is {phase}", self.name()));
            }
            self.status.phase = Some(phase);
        }
    }

    /// The decision of somebody who must do nothing but say so.
    pub(super) fn finish_paused(mut self) -> Decision<ClusterStatus> {
        self.put_in_order();
        self.write()
    }

    /// The decision.
    pub(super) fn finish(mut self) -> Decision<ClusterStatus> {
        self.set_phase();
        summary::available(&mut self);
        self.put_in_order();
        self.status.observed_generation = self.snapshot.cluster.metadata.generation;
        self.write()
    }

    fn put_in_order(&mut self) {
        let place = |condition: &Condition| {
            let mut types = Type::ALL.iter();
            types.position(|type_| type_.as_str() == condition.type_)
        };
        if let Some(conditions) = &mut self.status.conditions {
            conditions.sort_by_key(place);
        }
    }

    fn write(mut self) -> Decision<ClusterStatus> {
        let is_prepared = self.decision.own.add_finalizers.is_empty();
        if !is_prepared {
            self.decision.children.clear();
            self.decision.removals.clear();
            self.decision.own.spec.clear();
        }
        // Nobody can write the status of an object that is gone.
        let is_leaving = !self.decision.own.remove_finalizers.is_empty();
        if is_prepared && !is_leaving {
            if self.status != authored(self.snapshot) {
                self.decision.own.status = Some(self.status);
            }
        } else if !is_prepared {
            // All of it is decided again when the object is held.
            self.decision.events.clear();
        }
        self.decision
    }
}

/// What this module authors in the status that the Cluster has.
fn authored(snapshot: &Snapshot) -> ClusterStatus {
    let mut status = snapshot.cluster.status.clone().unwrap_or_default();
    status.rest.clear();
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|condition| Type::from_word(&condition.type_).is_some());
    }
    status
}
