//! The controller of CAPTControlPlanes: what is known about one, in a snapshot, and what was decided, done.
//!
//! This module must never decide anything: that is `capt_core::controlplane`.

use capt_core::controlplane::{self, Snapshot};

use crate::{
    Hands,
    engine::{
        controller::{Outcome, Reconcile},
        execute::{Failure, Subject, Written},
        key::ObjectKey,
        wakes::Reader,
    },
    facts::CONTROLPLANES,
};

/// The controller of CAPTControlPlanes.
pub(crate) struct ControlPlanes {
    hands: Hands,
}

impl ControlPlanes {
    /// A controller that decides from these facts.
    pub(crate) fn new(hands: Hands) -> Self {
        Self { hands }
    }

    /// Everything that is known about an object, if there is such an object.
    #[expect(clippy::unused_async, reason = "nothing is gathered yet")]
    async fn observe(&self, _: &Reader, _: &ObjectKey) -> Result<Option<Snapshot>, Failure> {
        Ok(None)
    }
}

impl Reconcile for ControlPlanes {
    const NAME: &'static str = "captcontrolplane";

    async fn reconcile(&self, key: &ObjectKey, written: &mut Vec<Written>) -> Result<Outcome, Failure> {
        let reader = self.hands.facts.wakes.reader(CONTROLPLANES, key);
        let Some(snapshot) = self.observe(&reader, key).await? else {
            reader.forget();
            return Ok(Outcome::default());
        };
        reader.finish();
        let now = (self.hands.options.clock)();
        let decision = controlplane::decide(&snapshot, now);
        let subject = Subject::of(
            "controlplane.cluster.x-k8s.io/v1beta1",
            "CAPTControlPlane",
            &snapshot.control_plane.metadata,
        );
        let executor = &self.hands.executor;
        executor.carry_out(&subject, &decision, now, written).await?;
        Ok(Outcome {
            look_again: decision.look_again,
        })
    }

    fn has_seen(&self, written: &Written) -> bool {
        self.hands.facts.have_seen(written)
    }

    async fn failed(&self, _: &ObjectKey, _: &Failure) {}
}
