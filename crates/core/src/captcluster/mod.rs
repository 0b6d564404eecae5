//! Decisions about a CAPTCluster: which network a cluster has, what is known about it, and how it goes.
//!
//! A network is made by a WorkspaceTemplateApply, or exists and is only told about. It belongs to the Cluster whose owner
//! reference it has: nothing is done before, and it goes after the control planes that stand in it. That it was ready
//! once is never taken back, and what serves goes on serving while something about it is changed.
//!
//! This module must never know how facts are gathered or how a decision is carried out.

mod again;
mod clock;
mod deciding;
mod deletion;
mod events;
pub mod facts;
mod outputs;
mod secrets;
pub mod snapshot;
mod stage;
pub mod timeouts;
mod validity;
mod variables;
mod work;

pub(crate) use deciding::needs_person;
pub use deciding::{apply_name, apply_of};
pub use deletion::name_left;
pub use secrets::{SecretSeen, secrets_to_read};
pub use snapshot::Snapshot;

use capt_api::{
    CAPTCluster,
    captcluster::CAPTClusterStatus,
    conditions::{
        Word as _,
        captcluster::{CAPTClusterCondition as Type, CAPTClusterReason as Reason},
    },
    foreign::marks as foreign_marks,
    marks,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::ObjectMeta, jiff::Timestamp};

use self::{
    deciding::{Conclusion, Deciding},
    stage::Stage,
};
use crate::{
    decision::Decision,
    gates::{self, Gates},
    metadata, names,
    owned::{self, OwnedSeen, Standing, standing},
};

/// Decides what has to be done for a CAPTCluster.
#[must_use]
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Decision<CAPTClusterStatus> {
    let metadata = &snapshot.captcluster.metadata;
    let is_held = metadata::has_finalizer(metadata, marks::CAPTCLUSTER_FINALIZER);
    // Whoever let go of an object, or moved it to another cluster, has nothing to say about it any more.
    if metadata::annotation(metadata, foreign_marks::DELETE_FOR_MOVE).is_some()
        || (metadata::is_deleting(metadata) && !is_held)
    {
        return Decision::default();
    }
    if is_externally_managed(metadata) {
        let mut decision = Decision::default();
        // A hold from before somebody else took over would keep it for ever.
        if metadata::is_deleting(metadata) {
            let finalizers = &mut decision.own.remove_finalizers;
            finalizers.push(marks::CAPTCLUSTER_FINALIZER.to_owned());
        }
        return decision;
    }
    let mut deciding = Deciding::new(snapshot, now);
    gates::pass(&mut deciding);
    deciding.finish()
}

/// Names that the WorkspaceTemplateApply of a network may have.
#[must_use]
pub fn apply_names(captcluster: &CAPTCluster) -> Vec<String> {
    let name = captcluster.metadata.name.as_deref().unwrap_or_default();
    let derived = names::vpc_apply(name);
    let mut all: Vec<String> = captcluster
        .spec
        .workspace_template_apply_name
        .iter()
        .cloned()
        .chain([derived.preferred().to_owned(), derived.parted().to_owned()])
        .collect();
    all.dedup();
    all
}

/// Whether somebody else manages the infrastructure. The contract says label, its own code looks at annotations.
#[must_use]
pub fn is_externally_managed(metadata: &ObjectMeta) -> bool {
    let labels = metadata.labels.as_ref();
    metadata::annotation(metadata, foreign_marks::MANAGED_BY).is_some()
        || labels.is_some_and(|labels| labels.contains_key(foreign_marks::MANAGED_BY))
}

/// Whether a network serves, as its status says. Who else manages it says so by what the contract asks for.
#[must_use]
pub fn serves(captcluster: &CAPTCluster) -> bool {
    let status = captcluster.status.as_ref();
    let is_provisioned = || {
        let flags = status.and_then(|status| status.initialization.as_ref());
        flags.and_then(|flags| flags.provisioned) == Some(true)
    };
    status.is_some_and(|status| status.ready)
        || (is_externally_managed(&captcluster.metadata) && is_provisioned())
}

impl Gates for Deciding<'_> {
    /// What was decided is in the object itself.
    type Answer = ();

    fn paused(&mut self) -> Option<()> {
        let mut sources = Vec::new();
        if self
            .snapshot
            .cluster
            .as_ref()
            .is_some_and(|cluster| cluster.paused)
        {
            sources.push("the Cluster has spec.paused: true".to_owned());
        }
        if let Some(name) = &self.snapshot.paused_by {
            sources.push(format!(
                "the Cluster {name}, which refers to this object and will own it, is paused"
            ));
        }
        if metadata::annotation(&self.snapshot.captcluster.metadata, foreign_marks::PAUSED).is_some() {
            sources.push(format!("the object has the annotation {}", foreign_marks::PAUSED));
        }
        if sources.is_empty() {
            self.end_pause();
            self.say(Type::Paused, false, Reason::NotPaused, "");
            return None;
        }
        let message = owned::paused(&sources, self.found.usable().into_iter());
        self.say(Type::Paused, true, Reason::Paused, message);
        if self.found.usable().is_none_or(OwnedSeen::is_known_to_rest) {
            self.say_held_up();
        }
        // What goes already says how far it is.
        let is_said = self
            .condition(Type::Deleting)
            .is_some_and(|said| said.status == "True" && said.reason != Reason::Paused.as_str());
        if self.is_deleting() && !is_said {
            let message = deletion::after_the_pause(self);
            self.say(Type::Deleting, true, Reason::Paused, message);
        }
        Some(())
    }

    fn deletion(&mut self) -> Option<()> {
        if !self.is_deleting() {
            self.say(Type::Deleting, false, Reason::NotDeleting, "");
            return None;
        }
        deletion::decide(self);
        Some(())
    }

    fn owner(&mut self) -> Option<()> {
        if self.snapshot.cluster.is_some() {
            self.say(Type::WaitingForCluster, false, Reason::ClusterFound, "");
            return None;
        }
        let message = match self.owner.cluster {
            None => "No Cluster owns this object yet; name it in spec.infrastructureRef of one. One that names it takes it \
                     over as soon as somebody looks after Clusters: Cluster API, or capt by --cluster-controller"
                .to_owned(),
            Some(name) => {
                let spec = &self.snapshot.captcluster.spec;
                let fate = match (&spec.vpc_template_ref, spec.retain_vpc_on_delete) {
                    (None, _) => "",
                    (Some(_), Some(true)) => ", which leaves its VPC as it is",
                    (Some(_), _) => ", which destroys its VPC unless spec.retainVpcOnDelete is true",
                };
                format!(
                    "The Cluster {name}, which owns this object, does not exist. Make it again, or delete this \
                     object{fate}"
                )
            }
        };
        for type_ in [Type::Ready, Type::VpcReady, Type::VpcCreating, Type::VpcFailed] {
            self.say_first(type_, false, Reason::ClusterNotFound, &message);
        }
        self.say(Type::WaitingForCluster, true, Reason::ClusterNotFound, message);
        Some(())
    }

    fn validity(&mut self) -> Option<()> {
        self.prepare();
        let Some((reason, message)) = validity::problem(self) else {
            self.answer_retry();
            return None;
        };
        let apply = self.found.usable();
        // What is stuck is tried again when the spec makes sense.
        if apply.is_none_or(|apply| standing(apply) == Standing::Ready) {
            self.answer_retry();
        }
        let conclusion = Conclusion {
            stage: Stage::Failed { reason, message },
            is_there: self.status.vpc_id.is_some() && apply.is_none_or(|apply| apply.is("Ready")),
            is_known: true,
            is_changing: false,
            made: if self.snapshot.captcluster.spec.existing_vpc_id.is_some() {
                Reason::ExistingVpcUsed
            } else {
                Reason::VpcCreated
            },
        };
        self.conclude(conclusion);
        Some(())
    }

    fn work(&mut self) {
        work::decide(self);
    }
}

#[cfg(test)]
mod tests;
