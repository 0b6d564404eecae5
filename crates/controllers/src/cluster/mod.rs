//! Our own controller of Clusters, for where nothing of Cluster API runs: what is known about one, in a snapshot, and
//! what was decided, done.
//!
//! This module must never decide anything about a Cluster: that is `capt_core::cluster`.

mod observe;
pub(crate) mod switch;

use capt_api::foreign::Cluster;
use capt_core::cluster;

use crate::{
    Hands,
    engine::{
        controller::{Outcome, Reconcile},
        execute::{Failure, Subject, Writes, Written},
        key::ObjectKey,
    },
    facts::CLUSTERS,
};

/// The controller of Clusters.
pub(crate) struct Clusters {
    hands: Hands,
}

impl Clusters {
    /// A controller that decides from these facts.
    pub(crate) fn new(hands: Hands) -> Self {
        Self { hands }
    }
}

impl Reconcile for Clusters {
    const NAME: &'static str = "cluster";

    async fn reconcile(&self, key: &ObjectKey, written: &mut Writes) -> Result<Outcome, Failure> {
        let reader = self.hands.facts.wakes.reader(CLUSTERS, key);
        let snapshot = self.observe(&reader, key).await?;
        if self.hands.facts.clusters.peek(key).is_none() {
            reader.forget();
            return Ok(Outcome::default());
        }
        reader.finish();
        let Some(snapshot) = snapshot else {
            return Ok(Outcome::default());
        };
        let now = (self.hands.options.clock)();
        let decision = cluster::decide(&snapshot, now);
        let executor = &self.hands.executor;
        let told = snapshot.cluster.status.as_ref();
        executor
            .carry_out(&subject(&snapshot.cluster), told, &decision, now, written)
            .await?;
        Ok(Outcome {
            look_again: decision.look_again,
        })
    }

    fn has_seen(&self, written: &Written) -> bool {
        self.hands.facts.have_seen(written)
    }

    async fn failed(&self, key: &ObjectKey, failure: &Failure) {
        if let (Some(cluster), Some(event)) = (self.hands.facts.clusters.peek(key), failure.event()) {
            let now = (self.hands.options.clock)();
            let teller = self.hands.executor.teller();
            teller.remind(&subject(&cluster), &event, now);
        }
    }
}

fn subject(cluster: &Cluster) -> Subject {
    Subject::of("cluster.x-k8s.io/v1beta2", "Cluster", &cluster.metadata)
        .with_shared_status()
        .with_status(cluster.status.as_ref())
        .made_with_others()
}
