//! The controller of WorkspaceTemplateApplies: what is known about one, in a snapshot, and what was decided, done.
//!
//! This module must never decide anything: that is `capt_core::wta`.

mod inputs;
mod observe;
mod rendering;
mod waits;
mod workspaces;

use std::sync::Arc;

use capt_api::{WorkspaceTemplateApply, workspacetemplateapply::WorkspaceTemplateApplyStatus};
use capt_core::{decision::Decision, names, wta};
use kube::Client;

use self::{inputs::KnownKeys, observe::Observed, rendering::Renderings};
use crate::{
    Hands, Options,
    engine::{
        controller::{Outcome, Reconcile},
        execute::{Executor, Failure, Patience, Subject, Writes, Written},
        key::ObjectKey,
    },
    facts::{
        APPLIES, Facts,
        indexes::{self, within},
    },
};

/// The controller of WorkspaceTemplateApplies.
pub(crate) struct Applies {
    facts: Arc<Facts>,
    client: Client,
    executor: Executor,
    options: Options,
    renderings: Renderings,
    keys: KnownKeys,
}

impl Applies {
    /// A controller that decides from these facts.
    pub(crate) fn new(hands: Hands) -> Self {
        Self {
            facts: hands.facts,
            keys: KnownKeys::new(hands.client.clone()),
            client: hands.client,
            executor: hands.executor,
            options: hands.options,
            renderings: Renderings::default(),
        }
    }
}

impl Applies {
    /// Marks the Workspaces of an object that was moved away and is gone, and tells about them.
    async fn mark_what_is_left(&self, key: &ObjectKey, written: &mut Writes) -> Result<(), Failure> {
        if !self.facts.applies.has_departed(key) {
            return Ok(());
        }
        let identity = within(
            &names::label_value(key.namespace()),
            &names::label_value(key.name()),
        );
        let now = (self.options.clock)();
        for table in [&self.facts.workspaces, &self.facts.cluster_workspaces] {
            for place in table.peek_members(indexes::IDENTITY, &identity) {
                // Labels can be written by anybody, in any namespace.
                let is_near = |namespace: &str| namespace == key.namespace();
                if !place.own_namespace().is_none_or(is_near) {
                    continue;
                }
                let Some(workspace) = table.peek(&place) else {
                    continue;
                };
                let Some(left) = wta::left_behind(&workspace) else {
                    continue;
                };
                let subject = Subject {
                    target: workspace.target(key.namespace()),
                    uid: workspace.uid.clone(),
                    resource_version: workspace.resource_version.clone(),
                    finalizers: workspace.finalizers.clone(),
                    shares_status: true,
                    is_told: true,
                    patience: Patience::None,
                    generation: None,
                    is_new: false,
                };
                let mut decision = Decision::<WorkspaceTemplateApplyStatus>::default();
                decision.own.annotations = left.annotations;
                decision.events.push(left.event);
                self.executor
                    .carry_out(&subject, None, &decision, now, written)
                    .await?;
            }
        }
        self.facts.applies.forget_departed(key);
        Ok(())
    }
}

impl Reconcile for Applies {
    const NAME: &'static str = "workspacetemplateapply";

    async fn reconcile(&self, key: &ObjectKey, written: &mut Writes) -> Result<Outcome, Failure> {
        let reader = self.facts.wakes.reader(APPLIES, key);
        let snapshot = match self.observe(&reader, key).await? {
            Observed::Known(snapshot) => snapshot,
            Observed::Unknown | Observed::NotOurs => {
                reader.finish();
                return Ok(Outcome::default());
            }
            Observed::Gone => {
                reader.forget();
                self.renderings.forget(key);
                self.mark_what_is_left(key, written).await?;
                return Ok(Outcome::default());
            }
        };
        reader.finish();
        let now = (self.options.clock)();
        let decision = wta::decide(&snapshot, now);
        let subject = subject(&snapshot.wta);
        let told = snapshot.wta.status.as_ref();
        self.executor
            .carry_out(&subject, told, &decision, now, written)
            .await?;
        Ok(Outcome {
            look_again: decision.look_again,
        })
    }

    fn tidy(&self) -> bool {
        self.renderings.age()
    }

    fn has_seen(&self, written: &Written) -> bool {
        self.facts.have_seen(written)
    }

    async fn failed(&self, key: &ObjectKey, failure: &Failure) {
        if let (Some(wta), Some(event)) = (self.facts.applies.peek(key), failure.event()) {
            let teller = self.executor.teller();
            teller.remind(&subject(&wta), &event, (self.options.clock)());
        }
    }
}

/// The name of the Secret that the last rendering of an object is kept in.
fn kept_in(key: &ObjectKey) -> ObjectKey {
    ObjectKey::within(key.namespace(), names::last_rendering(key.name()).parted())
}

fn subject(wta: &WorkspaceTemplateApply) -> Subject {
    Subject::of(
        "infrastructure.cluster.x-k8s.io/v1beta1",
        "WorkspaceTemplateApply",
        &wta.metadata,
    )
    .with_beginning(wta.status.as_ref())
}
