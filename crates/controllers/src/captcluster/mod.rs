//! The controller of CAPTClusters: what is known about one, in a snapshot, and what was decided, done.
//!
//! This module must never decide anything: that is `capt_core::captcluster`.

mod control_planes;
mod observe;

use capt_api::CAPTCluster;
use capt_core::captcluster;

use crate::{
    Hands,
    engine::{
        controller::{Outcome, Reconcile},
        execute::{Failure, Subject, Writes, Written},
        key::ObjectKey,
    },
    facts::{CAPTCLUSTERS, indexes},
};

/// The controller of CAPTClusters.
pub(crate) struct CaptClusters {
    hands: Hands,
}

impl CaptClusters {
    /// A controller that decides from these facts.
    pub(crate) fn new(hands: Hands) -> Self {
        Self { hands }
    }
}

impl Reconcile for CaptClusters {
    const NAME: &'static str = "captcluster";

    async fn reconcile(&self, key: &ObjectKey, written: &mut Writes) -> Result<Outcome, Failure> {
        let reader = self.hands.facts.wakes.reader(CAPTCLUSTERS, key);
        let Some(snapshot) = self.observe(&reader, key).await? else {
            match self.hands.facts.captclusters.peek(key) {
                None => reader.forget(),
                Some(found) => {
                    let by = indexes::INFRASTRUCTURE;
                    self.hands
                        .tell_if_overlooked(&reader, by, key, &found.metadata, &subject(&found))
                        .await;
                    reader.finish();
                }
            }
            return Ok(Outcome::default());
        };
        reader.finish();
        let now = (self.hands.options.clock)();
        let decision = captcluster::decide(&snapshot, now);
        let executor = &self.hands.executor;
        let told = snapshot.captcluster.status.as_ref();
        let done = executor
            .carry_out(&subject(&snapshot.captcluster), told, &decision, now, written)
            .await;
        self.hands.secrets.keep_written(written);
        done?;
        Ok(Outcome {
            look_again: decision.look_again,
        })
    }

    fn has_seen(&self, written: &Written) -> bool {
        self.hands.facts.have_seen(written)
    }

    async fn failed(&self, key: &ObjectKey, failure: &Failure) {
        if let (Some(captcluster), Some(event)) = (self.hands.facts.captclusters.peek(key), failure.event()) {
            let now = (self.hands.options.clock)();
            let teller = self.hands.executor.teller();
            teller.remind(&subject(&captcluster), &event, now);
        }
    }
}

fn subject(captcluster: &CAPTCluster) -> Subject {
    Subject::of(
        "infrastructure.cluster.x-k8s.io/v1beta1",
        "CAPTCluster",
        &captcluster.metadata,
    )
    .with_status(captcluster.status.as_ref())
    .made_with_others()
}
