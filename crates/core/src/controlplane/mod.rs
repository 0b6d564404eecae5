//! Decisions about a CAPTControlPlane: an EKS cluster from nothing to ready, its updates, and its end.
//!
//! [`machine`] is the table of states and the one value that every field of the status is a view of; [`judging`] says
//! where the facts lead. Each sort of fact is read in a file of its own: the EKS cluster ([`eks`]), what is around it
//! ([`setup`], [`endpoint`], [`kubeconfig`]), Fargate profiles ([`fargate`]), the network ([`vpc`]), versions ([`version`]), time ([`timeouts`]), turns
//! ([`turns`]), what the Go implementation left ([`adoption`]).
//!
//! A shell gathers a [`Snapshot`], carries out what [`decide`] says, and has found out what [`wants()`] asks for before
//! the next decision.
//!
//! This module must never know how facts are gathered or how a decision is carried out.

mod access;
pub mod adoption;
mod advancing;
mod clock;
pub mod connection;
mod deciding;
mod deletion;
pub mod eks;
pub mod endpoint;
pub mod fargate;
pub mod judging;
pub mod kubeconfig;
mod leftovers;
pub mod machine;
mod making;
mod operation;
mod pauses;
pub mod progress;
pub mod provider;
mod retrying;
pub mod setup;
pub mod snapshot;
pub mod statistics;
mod taking;
pub mod timeouts;
pub mod turns;
pub mod validity;
pub mod variables;
pub mod version;
pub mod view;
pub mod vpc;
mod wants;
mod work;

pub use deciding::{apply_name, apply_of};
pub use deletion::may_consent;
pub use leftovers::names_left;
pub use snapshot::Snapshot;
pub use wants::{ProbeWish, TokenWish, Wants, wants};

use capt_api::{
    captcontrolplane::{CAPTControlPlaneStatus, ControlPlaneState as State},
    conditions::captcontrolplane::CAPTControlPlaneReason as Reason,
    foreign::marks as foreign_marks,
    marks,
};
use k8s_openapi::jiff::Timestamp;

use self::{
    deciding::Deciding,
    judging::{Answer, Note},
};
use crate::{
    decision::Decision,
    gates::{self, Gates},
    metadata, owned,
};

/// Decides what has to be done for a CAPTControlPlane.
#[must_use]
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Decision<CAPTControlPlaneStatus> {
    let metadata = &snapshot.control_plane.metadata;
    // Whoever let go of an object, or moved it to another cluster, has nothing to say about it any more. One hold is
    // enough to bring the end that was begun to its end.
    let is_held = [
        marks::CAPTCONTROLPLANE_FINALIZER,
        marks::FARGATE_PROFILES_FINALIZER,
    ]
    .into_iter()
    .any(|finalizer| metadata::has_finalizer(metadata, finalizer));
    let is_let_go = metadata::is_deleting(metadata) && !is_held;
    if is_let_go || metadata::annotation(metadata, foreign_marks::DELETE_FOR_MOVE).is_some() {
        return Decision::default();
    }
    let mut deciding = Deciding::new(snapshot, now);
    gates::pass(&mut deciding);
    deciding.finish()
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
        let metadata = &self.snapshot.control_plane.metadata;
        if metadata::annotation(metadata, foreign_marks::PAUSED).is_some() {
            sources.push(format!("the object has the annotation {}", foreign_marks::PAUSED));
        }
        if sources.is_empty() {
            self.end_pause();
            self.say_and_tell(view::paused(None));
            return None;
        }
        // Whoever looks into a paused cluster needs a token that is valid.
        self.renew_token();
        advancing::follow(self);
        let takers = taking::takers(self);
        if takers.iter().all(|seen| seen.is_known_to_rest()) {
            self.say_held_up();
        }
        let message = owned::paused(&sources, takers.into_iter());
        self.say_and_tell(view::paused(Some(message)));
        // What goes already says how far it is.
        if self.is_deleting() && self.status.state != Some(State::Deleting) {
            let note = Note::new(Reason::Paused, deletion::after_the_pause(self));
            self.say(view::deleting(Some(&note)));
        }
        Some(())
    }

    fn deletion(&mut self) -> Option<()> {
        if !self.is_deleting() {
            self.prepare();
            self.say(view::deleting(None));
            return None;
        }
        deletion::decide(self);
        Some(())
    }

    fn owner(&mut self) -> Option<()> {
        let owners = self.snapshot.control_plane.metadata.owner_references.as_deref();
        let is_owned = metadata::cluster_owner(owners.unwrap_or_default()).is_some();
        // A reference that was stripped from something that was begun comes back.
        let is_begun = self.status.state.is_some_and(|state| state != State::Pending);
        if self.snapshot.cluster.is_some() && (is_owned || is_begun) {
            return None;
        }
        // What was begun stays as it is until its Cluster is there again.
        if !is_begun {
            let message = "Waiting for a Cluster to own this object, by its spec.controlPlaneRef, and for somebody to look \
                           after Clusters: Cluster API, or capt by --cluster-controller";
            let verdict = deciding::waiting(Reason::WaitingForCluster, message);
            self.arrive(&verdict, &Answer::Unknown);
        }
        Some(())
    }

    fn validity(&mut self) -> Option<()> {
        // What exists goes on whatever the spec says, so that this is one of the facts.
        None
    }

    fn work(&mut self) {
        if let Some(cluster) = &self.snapshot.cluster {
            work::decide(self, cluster);
        }
    }
}

#[cfg(test)]
mod tests;
