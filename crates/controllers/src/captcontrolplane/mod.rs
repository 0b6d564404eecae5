//! The controller of CAPTControlPlanes: what is known about one, in a snapshot, and what was decided, done.
//!
//! What lives outside of the API is found out by two keepers that work on their own: [`prober`] asks whether API servers
//! answer, [`tokens`] issues tokens for them. Both are told what decisions want to know, and wake objects when there is
//! news.
//!
//! This module must never decide anything: that is `capt_core::controlplane`.

mod exchange;
mod observe;
mod prober;
mod statistics;
mod tokens;

pub use prober::{Endpoints, NetworkEndpoints};
pub use tokens::{Credentials, OwnCredentials, ProcessCredentials};

use std::sync::Arc;

use capt_api::{
    CAPTControlPlane,
    captcontrolplane::{CAPTControlPlaneStatus, EndpointCheck},
};
use capt_core::{
    controlplane::{
        self, Snapshot,
        fargate::counting::{Census, Tally},
        kubeconfig, setup,
        statistics::lesson,
    },
    decision::Decision,
};
use k8s_openapi::jiff::Timestamp;
use tokio::task::JoinSet;

use self::{
    prober::Prober,
    statistics::Statistics,
    tokens::{Issuer, WorkspaceCredentials},
};
use crate::{
    Hands,
    engine::{
        controller::{Outcome, Reconcile},
        execute::{Failure, Subject, Writes, Written},
        key::ObjectKey,
    },
    facts::{CONTROLPLANES, indexes},
};

/// The controller of CAPTControlPlanes.
pub(crate) struct ControlPlanes {
    hands: Hands,
    prober: Arc<Prober>,
    issuer: Arc<Issuer>,
    statistics: Arc<Statistics>,
    /// The keepers at work. They end with the controller.
    _keepers: JoinSet<()>,
}

impl ControlPlanes {
    /// A controller that decides from these facts.
    pub(crate) fn new(hands: Hands) -> Self {
        let clock = &hands.options.clock;
        let wakes = &hands.facts.wakes;
        let outside = &hands.options.outside;
        let prober = Arc::new(Prober::new(outside.endpoints.clone(), clock.clone(), wakes));
        let signers = WorkspaceCredentials {
            facts: hands.facts.clone(),
            client: hands.client.clone(),
            own: outside.credentials.clone(),
            own_for: hands.options.own_credentials.clone(),
            clock: clock.clone(),
        };
        let issuer = Arc::new(Issuer::new(Arc::new(signers), clock.clone(), wakes));
        let statistics = Arc::new(Statistics::new(
            hands.client.clone(),
            hands.facts.config_maps.clone(),
        ));
        let mut keepers = JoinSet::new();
        keepers.spawn(prober.clone().run());
        keepers.spawn(issuer.clone().run());
        keepers.spawn(statistics.clone().run());
        Self {
            hands,
            prober,
            issuer,
            statistics,
            _keepers: keepers,
        }
    }

    /// Says what has to be found out outside of the API from now on.
    fn wish(&self, key: &ObjectKey, wants: controlplane::Wants) {
        self.prober.wish(key, wants.probe);
        self.issuer.wish(key, wants.token);
    }

    /// Counts what a decision that was carried out came to.
    fn count(
        &self,
        key: &ObjectKey,
        control_plane: &CAPTControlPlane,
        decision: &Decision<CAPTControlPlaneStatus>,
        now: Timestamp,
    ) {
        let fargate = self.hands.options.metrics.fargate();
        fargate.happened(&Tally::of(control_plane, decision, now));
        fargate.are(key, Census::after(control_plane, decision));
    }

    /// Whatever else cannot be written, those who are let in by a token must not be locked out because of it.
    async fn renew_anyway(
        &self,
        snapshot: &Snapshot,
        decision: &Decision<CAPTControlPlaneStatus>,
        now: Timestamp,
        written: &mut Writes,
    ) {
        let Some(cluster) = &snapshot.cluster else { return };
        let name = kubeconfig::secret_name(&cluster.name);
        let renewal = decision
            .children
            .iter()
            .filter(|child| child.target.kind == "Secret" && child.target.name == name)
            .filter(|child| written.all.iter().all(|written| written.target != child.target))
            .cloned()
            .collect();
        let renewal = Decision::<CAPTControlPlaneStatus> {
            children: renewal,
            ..Decision::default()
        };
        let subject = subject(&snapshot.control_plane);
        let done = self
            .hands
            .executor
            .carry_out(&subject, None, &renewal, now, written)
            .await;
        if let Err(failure) = done {
            tracing::debug!(object = %subject.target.name, %failure, "a kubeconfig was not renewed");
        }
    }
}

impl Reconcile for ControlPlanes {
    const NAME: &'static str = "captcontrolplane";

    async fn reconcile(&self, key: &ObjectKey, written: &mut Writes) -> Result<Outcome, Failure> {
        let reader = self.hands.facts.wakes.reader(CONTROLPLANES, key);
        let Some(mut snapshot) = self.observe(&reader, key).await? else {
            match self.hands.facts.captcontrolplanes.peek(key) {
                None => reader.forget(),
                Some(found) => {
                    let by = indexes::CONTROL_PLANE;
                    self.hands
                        .tell_if_overlooked(&reader, by, key, &found.metadata, &subject(&found))
                        .await;
                    reader.finish();
                }
            }
            self.wish(key, controlplane::Wants::default());
            self.hands.options.metrics.fargate().are(key, None);
            return Ok(Outcome::default());
        };
        reader.finish();
        let wants = controlplane::wants(&snapshot, (self.hands.options.clock)());
        let asks_first = wants.probe.is_some() && snapshot.probe.is_none() && must_answer(&snapshot);
        self.wish(key, wants);
        if asks_first {
            // Most answer at once, and nobody has to be told that it is waited for.
            snapshot.probe = self.prober.first(key).await;
        }
        let now = (self.hands.options.clock)();
        let decision = controlplane::decide(&snapshot, now);
        let subject = subject(&snapshot.control_plane);
        let executor = &self.hands.executor;
        let told = snapshot.control_plane.status.as_ref();
        let done = executor.carry_out(&subject, told, &decision, now, written).await;
        self.hands.secrets.keep_written(written);
        if let Err(failure) = done {
            self.renew_anyway(&snapshot, &decision, now, written).await;
            if failure.target() == &subject.target {
                let tally = Tally::unwritten(&snapshot.control_plane, &decision);
                self.hands.options.metrics.fargate().happened(&tally);
            }
            return Err(failure);
        }
        if written.tells_after.is_some() {
            // The next look comes to the same, counts it and learns from it.
            return Ok(Outcome {
                look_again: decision.look_again,
            });
        }
        self.count(key, &snapshot.control_plane, &decision, now);
        let template = observe::template_key(&snapshot.control_plane);
        // What another namespace shares is read there and not written.
        if template.namespace() == key.namespace()
            && let Some(lesson) = lesson(snapshot.control_plane.status.as_ref(), &decision, now)
        {
            self.statistics.learn(&template, &lesson);
        }
        Ok(Outcome {
            look_again: decision.look_again,
        })
    }

    fn tidy(&self) -> bool {
        self.prober.tidy()
    }

    fn has_seen(&self, written: &Written) -> bool {
        self.hands.facts.have_seen(written)
    }

    async fn failed(&self, key: &ObjectKey, failure: &Failure) {
        let found = self.hands.facts.captcontrolplanes.peek(key);
        if let (Some(control_plane), Some(event)) = (found, failure.event()) {
            let now = (self.hands.options.clock)();
            let teller = self.hands.executor.teller();
            teller.remind(&subject(&control_plane), &event, now);
        }
    }
}

/// Whether everything waits for the API server to answer for the first time.
fn must_answer(snapshot: &Snapshot) -> bool {
    let status = snapshot.control_plane.status.as_ref();
    let is_initialized = status.is_some_and(|status| status.initialized);
    !is_initialized && setup::check(&snapshot.control_plane.spec) == EndpointCheck::Required
}

fn subject(control_plane: &CAPTControlPlane) -> Subject {
    Subject::of(
        "controlplane.cluster.x-k8s.io/v1beta1",
        "CAPTControlPlane",
        &control_plane.metadata,
    )
    .with_status(control_plane.status.as_ref())
    .made_with_others()
}
