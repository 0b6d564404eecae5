//! Decisions about a Cluster, for where nothing of Cluster API runs: what its own controller does for the fields that
//! capt needs, and no more.
//!
//! A Cluster owns what it refers to, learns from it where the API server answers and in which zones, remembers for ever
//! that infrastructure and control plane were ready once, says all of it by its phase and its conditions, and goes in
//! the one order in which nothing is left behind. Machines, kubeconfigs and topologies are not looked after here.
//!
//! The status in a decision holds only what is authored here; it is applied, and never replaces what others wrote.
//!
//! This module must never know which kinds implement the contract, nor how facts are gathered.

mod adoption;
pub mod contract;
mod deciding;
mod deletion;
mod references;
pub mod snapshot;
mod summary;
mod work;

pub use contract::{Contracted, Role};
pub use snapshot::{Referenced, Snapshot, Worker};

use capt_api::{
    conditions::cluster::{ClusterCondition as Type, ClusterReason as Reason},
    foreign::{cluster::ClusterStatus, marks},
};
use k8s_openapi::jiff::Timestamp;

use self::deciding::Deciding;
use crate::{
    decision::Decision,
    gates::{self, Gates},
    metadata,
};

/// Decides what has to be done for a Cluster.
#[must_use]
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Decision<ClusterStatus> {
    let metadata = &snapshot.cluster.metadata;
    // Whoever let go of an object, or moved it to another cluster, has nothing to say about it any more.
    let is_let_go =
        metadata::is_deleting(metadata) && !metadata::has_finalizer(metadata, marks::CLUSTER_FINALIZER);
    if is_let_go || metadata::annotation(metadata, marks::DELETE_FOR_MOVE).is_some() {
        return Decision::default();
    }
    let mut deciding = Deciding::new(snapshot, now);
    match gates::pass(&mut deciding) {
        Answer::Paused => deciding.finish_paused(),
        Answer::Decided => deciding.finish(),
    }
}

/// How a decision came about.
enum Answer {
    /// Nothing may be done.
    Paused,
    /// What was decided is in the object itself.
    Decided,
}

impl Gates for Deciding<'_> {
    type Answer = Answer;

    fn paused(&mut self) -> Option<Answer> {
        self.prepare();
        let cluster = &self.snapshot.cluster;
        let mut sources = Vec::new();
        if cluster.spec.paused == Some(true) {
            sources.push("spec.paused is true".to_owned());
        }
        if metadata::annotation(&cluster.metadata, marks::PAUSED).is_some() {
            sources.push(format!("the object has the annotation {}", marks::PAUSED));
        }
        if sources.is_empty() {
            self.say(Type::Paused, false, Reason::NotPaused, "");
            return None;
        }
        self.say(Type::Paused, true, Reason::Paused, sources.join(", "));
        if self.is_deleting() {
            let message = deletion::after_the_pause(self.snapshot);
            self.say(Type::Deleting, true, Reason::Paused, message);
        }
        Some(Answer::Paused)
    }

    fn deletion(&mut self) -> Option<Answer> {
        if !self.is_deleting() {
            self.say(Type::Deleting, false, Reason::NotDeleting, "");
            return None;
        }
        deletion::decide(self);
        work::report(self);
        Some(Answer::Decided)
    }

    /// Nobody owns a Cluster.
    fn owner(&mut self) -> Option<Answer> {
        None
    }

    /// What is wrong with one reference does not keep the other from being followed.
    fn validity(&mut self) -> Option<Answer> {
        None
    }

    fn work(&mut self) -> Answer {
        work::decide(self);
        work::report(self);
        Answer::Decided
    }
}

#[cfg(test)]
mod tests;
