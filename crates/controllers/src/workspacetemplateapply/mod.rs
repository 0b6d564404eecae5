//! The controller of WorkspaceTemplateApplies: what is known about one, in a snapshot, and what was decided, done.
//!
//! This module must never decide anything: that is `capt_core::wta`.

mod inputs;
mod observe;
mod rendering;
mod waits;

use std::sync::Arc;

use capt_api::WorkspaceTemplateApply;
use capt_core::{
    decision::{Event, EventKind, Target},
    names, wta,
};
use kube::Client;

use self::{inputs::KnownKeys, rendering::Renderings};
use crate::{
    Options,
    engine::{
        controller::{Outcome, Reconcile},
        execute::{Executor, Failure, Subject, Written},
        key::ObjectKey,
    },
    facts::{APPLIES, Facts},
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
    pub(crate) fn new(facts: Arc<Facts>, client: Client, executor: Executor, options: Options) -> Self {
        Self {
            facts,
            keys: KnownKeys::new(client.clone()),
            client,
            executor,
            options,
            renderings: Renderings::default(),
        }
    }
}

impl Reconcile for Applies {
    const NAME: &'static str = "workspacetemplateapply";

    async fn reconcile(&self, key: &ObjectKey, written: &mut Vec<Written>) -> Result<Outcome, Failure> {
        let reader = self.facts.wakes.reader(APPLIES, key);
        let Some(snapshot) = self.observe(&reader, key).await? else {
            reader.forget();
            self.renderings.forget(key);
            return Ok(Outcome::default());
        };
        reader.finish();
        let now = (self.options.clock)();
        let decision = wta::decide(&snapshot, now);
        let subject = subject(&snapshot.wta);
        self.executor.carry_out(&subject, &decision, now, written).await?;
        Ok(Outcome {
            look_again: decision.look_again,
        })
    }

    fn has_seen(&self, written: &Written) -> bool {
        let Target {
            api_version,
            kind,
            namespace,
            name,
        } = &written.target;
        let version = written.version;
        match kind.as_str() {
            "WorkspaceTemplateApply" => self.facts.applies.has_seen(version),
            "Workspace" if namespace.is_some() => self.facts.workspaces.has_seen(version),
            "Workspace" => self.facts.cluster_workspaces.has_seen(version),
            "Secret" if api_version == "v1" && name.ends_with("-rendering") => {
                self.facts.renderings.has_seen(version)
            }
            "Secret" => self.facts.secrets.has_seen(version),
            _ => true,
        }
    }

    async fn failed(&self, key: &ObjectKey, failure: &Failure) {
        let Failure::Call {
            action,
            target,
            source,
        } = failure
        else {
            return;
        };
        let Some(wta) = self.facts.applies.peek(key) else {
            return;
        };
        if source.is_refusal() {
            let event = Event {
                kind: EventKind::Warning,
                reason: "Refused".to_owned(),
                message: format!("Cannot {action} the {} {}: {source}", target.kind, target.name),
            };
            let teller = self.executor.teller();
            teller.tell(&subject(&wta), &event, (self.options.clock)()).await;
        }
    }
}

/// The name of the Secret that the last rendering of an object is kept in.
fn kept_in(key: &ObjectKey) -> ObjectKey {
    ObjectKey::within(key.namespace(), names::last_rendering(&key.name).parted())
}

fn subject(wta: &WorkspaceTemplateApply) -> Subject {
    let metadata = &wta.metadata;
    Subject {
        target: Target {
            api_version: "infrastructure.cluster.x-k8s.io/v1beta1".to_owned(),
            kind: "WorkspaceTemplateApply".to_owned(),
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone().unwrap_or_default(),
        },
        uid: metadata.uid.clone().unwrap_or_default(),
        resource_version: metadata.resource_version.clone().unwrap_or_default(),
        finalizers: metadata.finalizers.clone().unwrap_or_default(),
    }
}
