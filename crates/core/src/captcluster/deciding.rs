//! A decision about a CAPTCluster while it is being made.

use capt_api::{
    CAPTCluster,
    captcluster::{CAPTClusterInitialization, CAPTClusterStatus},
    conditions::{
        Word as _,
        captcluster::{CAPTClusterCondition as Type, CAPTClusterReason as Reason},
        condition, find_condition, set_condition,
    },
    endpoint::ApiEndpoint,
    marks,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};

use super::{events::events, snapshot::Snapshot, stage::Stage};
use crate::{
    controlplane::endpoint,
    decision::Decision,
    metadata, names,
    owned::{self, Found, OwnedSeen, Owner, Role},
};

/// The longest message that a condition gets.
const MAX_MESSAGE: usize = 4096;

/// What is known, and what was decided so far.
pub(super) struct Deciding<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) now: Timestamp,
    pub(super) owner: Owner<'a>,
    pub(super) found: Found<'a>,
    /// A person asks for another try.
    pub(super) retry: Option<&'a str>,
    pub(super) decision: Decision<CAPTClusterStatus>,
    /// The status that results. What nothing is said about stays as it was.
    pub(super) status: CAPTClusterStatus,
}

/// What is known about a network.
pub(super) struct Conclusion {
    pub(super) stage: Stage,
    /// There is a VPC, whatever it should become.
    pub(super) is_there: bool,
    /// The control plane can know all about it.
    pub(super) is_known: bool,
    /// Something else is wanted of it than it is.
    pub(super) is_changing: bool,
    /// Why there is a VPC.
    pub(super) made: Reason,
}

impl Conclusion {
    /// There is no VPC.
    pub(super) fn nothing(stage: Stage) -> Self {
        Self {
            stage,
            is_there: false,
            is_known: false,
            is_changing: false,
            made: Reason::VpcCreated,
        }
    }
}

impl<'a> Deciding<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, now: Timestamp) -> Self {
        let captcluster = &snapshot.captcluster;
        let owner = owner(captcluster);
        Self {
            snapshot,
            now,
            found: found(captcluster, &owner, &snapshot.applies),
            owner,
            retry: metadata::annotation(&captcluster.metadata, marks::RETRY_REQUESTED),
            decision: Decision::default(),
            status: authored(snapshot),
        }
    }

    pub(super) fn is_deleting(&self) -> bool {
        metadata::is_deleting(&self.snapshot.captcluster.metadata)
    }

    /// Our hold on the object must be there before anything is made for it.
    pub(super) fn prepare(&mut self) {
        let metadata = &self.snapshot.captcluster.metadata;
        if !metadata::has_finalizer(metadata, marks::CAPTCLUSTER_FINALIZER) {
            let finalizers = &mut self.decision.own.add_finalizers;
            finalizers.push(marks::CAPTCLUSTER_FINALIZER.to_owned());
        }
    }

    /// A request for another try is passed on by this very decision, and then is done with.
    pub(super) fn answer_retry(&mut self) {
        if self.retry.is_some() {
            let annotations = &mut self.decision.own.annotations;
            annotations.insert(marks::RETRY_REQUESTED.to_owned(), None);
        }
    }

    /// What a condition says now.
    pub(super) fn condition(&self, type_: Type) -> Option<&Condition> {
        find_condition(
            self.status.conditions.as_deref().unwrap_or_default(),
            type_.as_str(),
        )
    }

    /// Says something by a condition.
    pub(super) fn say(&mut self, type_: Type, holds: bool, reason: Reason, message: impl Into<String>) {
        let message: String = message.into().chars().take(MAX_MESSAGE).collect();
        let generation = self.snapshot.captcluster.metadata.generation;
        let new = condition(type_, holds, reason, message, generation, self.now);
        set_condition(self.status.conditions.get_or_insert_default(), new);
    }

    /// Says something by a condition that nothing was said by yet.
    pub(super) fn say_first(&mut self, type_: Type, holds: bool, reason: Reason, message: &str) {
        if self.condition(type_).is_none() {
            self.say(type_, holds, reason, message);
        }
    }

    /// Says of what was under way when a pause began that nothing of it runs any more. How far it is stays as it was.
    pub(super) fn say_held_up(&mut self) {
        for told in self.status.conditions.clone().unwrap_or_default() {
            let words = (Type::from_word(&told.type_), Reason::from_word(&told.reason));
            let (Some(type_), Some(reason)) = words else {
                continue;
            };
            let message = match (type_, reason) {
                _ if told.message.is_empty() => continue,
                (Type::Deleting, Reason::WaitingForWorkspace) => owned::held_up(&told.message),
                (Type::Deleting, _) => continue,
                (_, Reason::VpcCreating | Reason::VpcUpdating) => owned::HELD_UP.to_owned(),
                _ => continue,
            };
            self.say(type_, told.status == "True", reason, message);
        }
    }

    pub(super) fn was_provisioned(&self) -> bool {
        let flags = self.status.initialization.as_ref();
        flags.and_then(|flags| flags.provisioned) == Some(true)
    }

    /// Whether a control plane could be made in the network once. Status does not move, but the endpoint of the Cluster does,
    /// and there is none without a network.
    pub(super) fn has_served(&self) -> bool {
        let cluster = self.snapshot.cluster.as_ref();
        let endpoint = cluster.and_then(|cluster| cluster.endpoint.as_ref());
        let host = endpoint.and_then(|endpoint| endpoint.host.as_deref());
        self.was_provisioned() || host.is_some_and(|host| !host.is_empty())
    }

    /// Writes down what is known about the network.
    pub(super) fn conclude(&mut self, conclusion: Conclusion) {
        let Conclusion {
            stage,
            is_there,
            is_known,
            is_changing,
            made,
        } = conclusion;
        let was_provisioned = self.was_provisioned();
        // A change that is refused leaves what is there as it is, and nothing of that failed.
        let stage = match stage {
            Stage::Failed { reason, message } if was_provisioned && is_there && is_refusal(reason) => {
                Stage::Waiting { reason, message }
            }
            other => other,
        };
        let is_lost = was_provisioned && stage.waits_for_secret();
        // What was ready where it was moved from serves while what keeps it from being looked at here passes by itself.
        let is_found = is_there && is_known && stage.is_tried_again();
        let stage = match was_provisioned {
            true if is_lost => self.judge_loss(stage),
            true => stage,
            false if is_found => stage,
            false => self.judge(stage),
        };
        // What serves has not failed because a change of it did, be it here or where it was moved from.
        let stage = match stage {
            Stage::Failed { reason, message } if is_there && is_known => Stage::Waiting {
                reason: match reason {
                    Reason::VpcCreationFailed => Reason::VpcUpdateFailed,
                    other => other,
                },
                message,
            },
            other => other,
        };
        // What was taken over, or waits for a person to approve a change of it, is there for all that.
        let is_kept = (was_provisioned || is_found || matches!(stage, Stage::Waiting { .. })) && is_there;
        let (reason, message) = match &stage {
            Stage::Creating { reason, message, .. }
            | Stage::Waiting { reason, message }
            | Stage::Failed { reason, message }
            | Stage::Ready { reason, message } => (*reason, message.clone()),
        };
        let is_ready = matches!(stage, Stage::Ready { .. });
        let is_failed = matches!(stage, Stage::Failed { .. });
        let is_creating = matches!(stage, Stage::Creating { .. }) && !is_kept;
        let quiet = if is_ready || is_kept { made } else { reason };
        self.say(
            Type::VpcReady,
            is_ready || is_kept,
            quiet,
            message_if(is_ready || !is_kept, &message),
        );
        self.say(
            Type::VpcCreating,
            is_creating,
            reason,
            message_if(is_creating, &message),
        );
        self.say(
            Type::VpcFailed,
            is_failed,
            reason,
            message_if(is_failed, &message),
        );
        // What serves goes on serving while something is changed about it, also if that fails.
        let serves = is_ready || (is_kept && is_known);
        let why = match stage {
            Stage::Creating { .. } if serves && !stage.is_tried_again() => match is_changing {
                true => Reason::VpcUpdating,
                false => made,
            },
            Stage::Ready { .. } => made,
            _ => reason,
        };
        self.say(Type::Ready, serves, why, message.clone());
        self.status.ready = serves;
        self.status.failure_reason = is_failed.then(|| reason.as_str().to_owned());
        self.status.failure_message = is_failed.then_some(message);
        if serves {
            let flags = CAPTClusterInitialization {
                provisioned: Some(true),
            };
            self.status.initialization = Some(flags);
        }
        if !is_lost && (was_provisioned || !is_creating) {
            self.status.pauses = None;
        }
        self.status.endpoint = self.endpoint();
        self.status.observed_generation = self.snapshot.captcluster.metadata.generation;
    }

    /// Where the cluster's API server answers, for people.
    fn endpoint(&self) -> Option<String> {
        let endpoint = self.snapshot.cluster.as_ref()?.endpoint.as_ref()?;
        let told = ApiEndpoint {
            host: endpoint.host.clone()?,
            port: endpoint.port.filter(|port| *port > 0)?,
        };
        endpoint::stored(&told).map(|endpoint| endpoint::display(&endpoint))
    }

    /// The decision.
    pub(super) fn finish(mut self) -> Decision<CAPTClusterStatus> {
        let order = |one: &Condition| Type::ALL.iter().position(|type_| type_.as_str() == one.type_);
        if let Some(conditions) = &mut self.status.conditions {
            conditions.sort_by_key(order);
        }
        let own = &self.decision.own;
        if !own.add_finalizers.is_empty() {
            // The object is held, and says what will be made for it, before anything is. The rest is decided then.
            let mut held = Decision::default();
            held.own.add_finalizers.clone_from(&own.add_finalizers);
            held.own.spec.clone_from(&own.spec);
            return held;
        }
        if !own.spec.is_empty() {
            // What there is to say is about the object as this very write makes it.
            return self.decision;
        }
        let old = authored(self.snapshot);
        self.decision.events.extend(events(&old, &self.status));
        // Nobody can write the status of an object that is gone.
        let is_leaving = !self.decision.own.remove_finalizers.is_empty();
        if !is_leaving && self.status != old {
            self.decision.own.status = Some(self.status);
        }
        self.decision
    }
}

/// Whether something that a person has to see to keeps a network that serves from becoming what it should.
pub(super) fn holds_back(reason: Reason) -> bool {
    is_refusal(reason)
        || matches!(
            reason,
            Reason::VpcUpdateFailed
                | Reason::WorkspaceTemplateNotFound
                | Reason::TemplateNotShared
                | Reason::OutputInvalid
        )
}

/// Whether a person has to do something, by the reason of the condition Ready.
pub(crate) fn needs_person(reason: &str) -> bool {
    Reason::from_word(reason).is_some_and(|reason| {
        let is_unowned = matches!(reason, Reason::WaitingForApproval | Reason::ClusterNotFound);
        is_unowned || holds_back(reason)
    })
}

/// Whether something is wrong with what the spec says, rather than with what was made of it.
pub(super) fn is_refusal(reason: Reason) -> bool {
    matches!(reason, Reason::InvalidVpcConfig | Reason::WorkspaceNotOurs)
}

/// A CAPTCluster as the owner of others.
fn owner(captcluster: &CAPTCluster) -> Owner<'_> {
    Owner {
        api_version: "infrastructure.cluster.x-k8s.io/v1beta1",
        kind: "CAPTCluster",
        namespace: captcluster.metadata.namespace.as_deref().unwrap_or_default(),
        name: captcluster.metadata.name.as_deref().unwrap_or_default(),
        uid: captcluster.metadata.uid.as_deref().unwrap_or_default(),
        cluster: super::snapshot::owner(captcluster),
    }
}

fn found<'a>(captcluster: &CAPTCluster, owner: &Owner<'_>, applies: &'a [OwnedSeen]) -> Found<'a> {
    let named = captcluster.spec.workspace_template_apply_name.as_deref();
    owned::find(
        owner,
        &Role::Vpc,
        named,
        &names::vpc_apply(owner.name),
        &[],
        applies,
    )
}

/// The WorkspaceTemplateApply that makes the network of a CAPTCluster, of those in a snapshot, if there is one.
#[must_use]
pub fn apply_of<'a>(captcluster: &CAPTCluster, applies: &'a [OwnedSeen]) -> Option<&'a OwnedSeen> {
    found(captcluster, &owner(captcluster), applies).usable()
}

/// The name that the WorkspaceTemplateApply of a network has, or will have.
#[must_use]
pub fn apply_name(captcluster: &CAPTCluster, applies: &[OwnedSeen]) -> String {
    found(captcluster, &owner(captcluster), applies).name().to_owned()
}

/// The status that the object has, without conditions of others.
fn authored(snapshot: &Snapshot) -> CAPTClusterStatus {
    let mut status = snapshot.captcluster.status.clone().unwrap_or_default();
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|condition| Type::from_word(&condition.type_).is_some());
    }
    status
}

fn message_if(holds: bool, message: &str) -> String {
    if holds { message.to_owned() } else { String::new() }
}
