//! A small controller that does what all of ours will do: it adds a finalizer, keeps a child in step, reports on the
//! object itself only if there is news, deletes under preconditions, and gives every call a deadline.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use capt_testkit::Process;
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::runtime::controller::{Action, Config};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{Controller, WatchStreamExt, predicates, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;
use tokio::time::{error::Elapsed, timeout};

pub(crate) const NAME: &str = "demo";
pub(crate) const LABEL: &str = "demo.example.com/parent";
pub(crate) const OBSERVED: &str = "demo.example.com/observed";
pub(crate) const FINALIZER: &str = "demo.example.com/cleanup";
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(300);
const DEADLINE: Duration = Duration::from_secs(5);
const TRY_AGAIN: Duration = Duration::from_secs(3);

/// The child of a parent.
pub(crate) fn child_name(parent: &str) -> String {
    format!("{parent}-child")
}

struct Context {
    client: Client,
    namespace: String,
    children: Store<Secret>,
    reconciled: Arc<AtomicUsize>,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("a call failed")]
    Call(#[from] kube::Error),
    #[error("a call took too long")]
    Deadline(#[from] Elapsed),
    #[error("the finalizer step failed")]
    Finalizer(#[source] Box<kube::runtime::finalizer::Error<Self>>),
}

/// Runs until its process dies, counting its reconciles.
pub(crate) async fn run(process: Process, reconciled: Arc<AtomicUsize>) {
    let parents: Api<ConfigMap> = Api::default_namespaced(process.client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(process.client.clone());
    let (children, writer) = reflector::store();
    let child_events = reflector::reflector(writer, watcher(secrets, watcher::Config::default()))
        .default_backoff()
        .touched_objects()
        .predicate_filter(predicates::resource_version, Default::default());
    let context = Context {
        client: process.client,
        namespace: process.namespace,
        children,
        reconciled,
    };
    Controller::new(parents, watcher::Config::default().labels(LABEL))
        .owns_stream(child_events)
        .with_config(Config::default().concurrency(4))
        .run(reconcile, |_, _, _| Action::requeue(TRY_AGAIN), Arc::new(context))
        .for_each(async |_| {})
        .await;
}

async fn reconcile(parent: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    context.reconciled.fetch_add(1, Ordering::Relaxed);
    let parents: Api<ConfigMap> = Api::namespaced(context.client.clone(), &context.namespace);
    let step = finalizer(&parents, FINALIZER, parent, async |event| match event {
        Event::Apply(parent) => context.keep(&parent).await,
        Event::Cleanup(parent) => context.clean_up(&parent).await,
    });
    timeout(DEADLINE * 4, step)
        .await?
        .map_err(|error| Error::Finalizer(Box::new(error)))
}

impl Context {
    async fn keep(&self, parent: &ConfigMap) -> Result<Action, Error> {
        let name = child_name(&parent.name_any());
        let color = parent
            .data
            .as_ref()
            .and_then(|data| data.get("color"))
            .cloned()
            .unwrap_or_default();
        let wanted = BTreeMap::from([("color".to_owned(), color.clone())]);
        let child = self.child(&name);
        if child.as_ref().is_none_or(|child| !has(child, &wanted)) {
            let apply = json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "ownerReferences": [parent.controller_owner_ref(&())]},
                "stringData": wanted,
            });
            let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
            let parameters = PatchParams::apply(NAME).force();
            timeout(DEADLINE, secrets.patch(&name, &parameters, &Patch::Apply(apply))).await??;
        }
        if parent.annotations().get(OBSERVED) != Some(&color) {
            let report = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"annotations": {OBSERVED: color}},
            });
            let parents: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
            let parameters = PatchParams::apply(NAME).force();
            timeout(
                DEADLINE,
                parents.patch(&parent.name_any(), &parameters, &Patch::Apply(report)),
            )
            .await??;
        }
        Ok(Action::requeue(LOOK_AGAIN))
    }

    /// Deletes exactly the child that was seen, and only if it is the parent's.
    async fn clean_up(&self, parent: &ConfigMap) -> Result<Action, Error> {
        let name = child_name(&parent.name_any());
        let Some(child) = self.child(&name) else {
            return Ok(Action::await_change());
        };
        if !child
            .owner_references()
            .iter()
            .any(|owner| Some(&owner.uid) == parent.uid().as_ref())
        {
            return Ok(Action::await_change());
        }
        let guard = Preconditions {
            uid: child.uid(),
            resource_version: child.resource_version(),
        };
        let parameters = DeleteParams::default().preconditions(guard);
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        match timeout(DEADLINE, secrets.delete(&name, &parameters)).await? {
            Ok(_) => Ok(Action::await_change()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Action::await_change()),
            Err(error) => Err(error.into()),
        }
    }

    fn child(&self, name: &str) -> Option<Arc<Secret>> {
        self.children.get(&ObjectRef::new(name).within(&self.namespace))
    }
}

fn has(child: &Secret, wanted: &BTreeMap<String, String>) -> bool {
    let data = child.data.iter().flatten();
    let is: BTreeMap<&str, &[u8]> = data
        .map(|(key, value)| (key.as_str(), value.0.as_slice()))
        .collect();
    is == wanted
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_bytes()))
        .collect()
}
