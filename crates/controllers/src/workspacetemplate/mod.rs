//! The controller of WorkspaceTemplates: who uses one, and what was decided, done.
//!
//! This module must never decide anything: that is `capt_core::template`.

use std::{collections::HashMap, sync::Arc, time::Duration};

use capt_api::{WorkspaceTemplate, marks};
use capt_core::template::{self, Snapshot};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    Hands, Options,
    engine::{
        controller::{Outcome, Reconcile},
        execute::{Executor, Failure, Subject, Writes, Written},
        key::ObjectKey,
    },
    facts::{
        Facts, TEMPLATES,
        indexes::{self, within},
    },
};

/// A template that many use is told only so often how many they are.
const PAUSE: Duration = Duration::from_secs(1);

/// The controller of WorkspaceTemplates.
pub(crate) struct Templates {
    facts: Arc<Facts>,
    executor: Executor,
    options: Options,
    /// When each was looked at last, and which generation it had.
    looked: Mutex<HashMap<ObjectKey, (Instant, Option<i64>)>>,
}

impl Templates {
    /// A controller that decides from these facts.
    pub(crate) fn new(hands: Hands) -> Self {
        Self {
            facts: hands.facts,
            executor: hands.executor,
            options: hands.options,
            looked: Mutex::default(),
        }
    }

    /// How long a template can be left alone. One that is held and stays as it is has nothing to tell but how many use
    /// it.
    fn rest(&self, key: &ObjectKey) -> Option<Duration> {
        let view = self.facts.templates.peek(key)?;
        let metadata = &view.metadata;
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        let is_held = finalizers
            .iter()
            .any(|one| one == marks::WORKSPACETEMPLATE_FINALIZER);
        let (at, generation) = *self.looked.lock().get(key)?;
        let is_same = generation == metadata.generation && metadata.deletion_timestamp.is_none();
        (is_held && is_same)
            .then(|| PAUSE.saturating_sub(at.elapsed()))
            .filter(|rest| !rest.is_zero())
    }
}

impl Reconcile for Templates {
    const NAME: &'static str = "workspacetemplate";

    async fn reconcile(&self, key: &ObjectKey, written: &mut Writes) -> Result<Outcome, Failure> {
        if let Some(rest) = self.rest(key) {
            return Ok(Outcome {
                look_again: Some(rest),
            });
        }
        let reader = self.facts.wakes.reader(TEMPLATES, key);
        let Some(view) = self.facts.templates.get(&reader, key) else {
            reader.forget();
            self.looked.lock().remove(key);
            return Ok(Outcome::default());
        };
        // What fails is tried again by the queue, which waits longer each time.
        self.looked.lock().remove(key);
        let place = within(key.namespace(), key.name());
        let users = self.facts.applies.members(&reader, indexes::TEMPLATE, &place);
        reader.finish();
        let snapshot = Snapshot {
            template: WorkspaceTemplate {
                metadata: view.metadata.clone(),
                spec: view.template.spec().clone(),
                status: view.status.clone(),
            },
            users: users.iter().map(ToString::to_string).collect(),
        };
        let now = (self.options.clock)();
        let decision = template::decide(&snapshot, now);
        let subject = Subject::of(
            "infrastructure.cluster.x-k8s.io/v1beta1",
            "WorkspaceTemplate",
            &snapshot.template.metadata,
        );
        let looked_at = (Instant::now(), snapshot.template.metadata.generation);
        self.executor
            .carry_out(&subject, None, &decision, now, written)
            .await?;
        self.looked.lock().insert(key.clone(), looked_at);
        Ok(Outcome {
            look_again: decision.look_again,
        })
    }

    fn has_seen(&self, written: &Written) -> bool {
        self.facts.have_seen(written)
    }

    async fn failed(&self, _: &ObjectKey, _: &Failure) {}
}
