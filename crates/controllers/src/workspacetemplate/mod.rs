//! The controller of WorkspaceTemplates: who uses one, and what was decided, done.
//!
//! This module must never decide anything: that is `capt_core::template`.

use std::sync::Arc;

use capt_core::template::{self, Snapshot};

use crate::{
    Hands, Options,
    engine::{
        controller::{Outcome, Reconcile},
        execute::{Executor, Failure, Subject, Written},
        key::ObjectKey,
    },
    facts::{
        Facts, TEMPLATES,
        indexes::{self, within},
    },
};

/// The controller of WorkspaceTemplates.
pub(crate) struct Templates {
    facts: Arc<Facts>,
    executor: Executor,
    options: Options,
}

impl Templates {
    /// A controller that decides from these facts.
    pub(crate) fn new(hands: Hands) -> Self {
        Self {
            facts: hands.facts,
            executor: hands.executor,
            options: hands.options,
        }
    }
}

impl Reconcile for Templates {
    const NAME: &'static str = "workspacetemplate";

    async fn reconcile(&self, key: &ObjectKey, written: &mut Vec<Written>) -> Result<Outcome, Failure> {
        let reader = self.facts.wakes.reader(TEMPLATES, key);
        let Some(view) = self.facts.templates.get(&reader, key) else {
            reader.forget();
            return Ok(Outcome::default());
        };
        let place = within(key.namespace(), &key.name);
        let users = self.facts.applies.members(&reader, indexes::TEMPLATE, &place);
        reader.finish();
        let snapshot = Snapshot {
            template: view.template.clone(),
            users: users.iter().map(ToString::to_string).collect(),
        };
        let now = (self.options.clock)();
        let decision = template::decide(&snapshot, now);
        let subject = Subject::of(
            "infrastructure.cluster.x-k8s.io/v1beta1",
            "WorkspaceTemplate",
            &snapshot.template.metadata,
        );
        self.executor.carry_out(&subject, &decision, now, written).await?;
        Ok(Outcome {
            look_again: decision.look_again,
        })
    }

    fn has_seen(&self, written: &Written) -> bool {
        self.facts.have_seen(written)
    }

    async fn failed(&self, _: &ObjectKey, _: &Failure) {}
}
