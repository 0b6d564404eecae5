//! What tests of the runner have in common: a world, a runner in it, and hands.

use std::{sync::Arc, time::Duration};

use capt_api::{
    foreign::{Workspace, marks::CROSSPLANE_FINALIZER, workspace::WorkspaceCondition},
    run::{REPORT_KEY, RunReport},
};
use capt_core::names;
use capt_runner::{Options, Which};
use capt_testkit::{Process, World};
use k8s_openapi::api::{
    core::v1::{ConfigMap, Secret},
    events::v1::Event,
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::script::Script;

/// The name of the runner in faults and records.
pub(crate) const RUNNER: &str = "runner";

/// Options for a runner in a world.
pub(crate) fn options(script: &Script, process: &Process) -> Options {
    let clock = process.clock.clone();
    let mut options = Options::new(Arc::new(script.clone()), "runner-1");
    options.clock = Arc::new(move || clock.now());
    options.system_namespace.clone_from(&process.namespace);
    options
}

/// Starts a runner that polls as it does by default.
pub(crate) fn start(world: &World, script: &Script) {
    start_with(world, script, |_| {});
}

/// Starts a runner with other options.
pub(crate) fn start_with(
    world: &World,
    script: &Script,
    change: impl Fn(&mut Options) + Send + Sync + 'static,
) {
    let script = script.clone();
    world.start(RUNNER, move |process| {
        let mut options = options(&script, &process);
        change(&mut options);
        async move {
            let ended = capt_runner::run(process.client, options, CancellationToken::new()).await;
            panic!("the runner ended: {ended:?}");
        }
    });
}

/// Never looks for drift.
pub(crate) fn no_polls(options: &mut Options) {
    options.poll_interval = None;
}

/// A runner that acts on labelled Workspaces only.
pub(crate) fn labelled(options: &mut Options) {
    options.which = Which::Labelled("blue".to_owned());
}

/// A module with these resources.
pub(crate) fn module(resources: &[&str]) -> String {
    resources
        .iter()
        .map(|name| format!("resource \"thing\" \"{name}\" {{}}\n"))
        .collect()
}

/// A Workspace with these resources.
pub(crate) fn workspace(name: &str, resources: &[&str]) -> Value {
    json!({
        "apiVersion": "tf.m.upbound.io/v1beta1",
        "kind": "Workspace",
        "metadata": {"name": name},
        "spec": {"forProvider": {"source": "Inline", "module": module(resources)}},
    })
}

/// Namespaced Workspaces.
pub(crate) fn workspaces(world: &World) -> Api<Workspace> {
    Api::namespaced(world.client(), world.namespace())
}

/// Makes a Workspace.
pub(crate) async fn create(world: &World, object: Value) -> Workspace {
    let object: Workspace = serde_json::from_value(object).expect("a Workspace");
    let created = workspaces(world).create(&PostParams::default(), &object).await;
    created.expect("it can be created")
}

/// Changes a Workspace.
pub(crate) async fn patch(world: &World, name: &str, patch: Value) {
    let patched = workspaces(world)
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await;
    patched.expect("it can be patched");
}

/// Sets an annotation of ours.
pub(crate) async fn annotate(world: &World, name: &str, mark: &str, value: &str) {
    patch(world, name, json!({"metadata": {"annotations": {(mark): value}}})).await;
}

/// Deletes a Workspace.
pub(crate) async fn delete(world: &World, name: &str) {
    let deleted = workspaces(world).delete(name, &DeleteParams::default()).await;
    deleted.expect("it can be deleted");
}

/// A Workspace, if it is there.
pub(crate) async fn find(world: &World, name: &str) -> Option<Workspace> {
    workspaces(world).get_opt(name).await.expect("it can be read")
}

/// A Workspace that is there.
pub(crate) async fn get(world: &World, name: &str) -> Workspace {
    find(world, name).await.expect("it is there")
}

/// A condition, as `status reason`.
pub(crate) async fn says(world: &World, name: &str, type_: &str) -> Option<String> {
    let condition = condition(world, name, type_).await?;
    Some(format!("{} {}", condition.status, condition.reason))
}

/// A condition.
pub(crate) async fn condition(world: &World, name: &str, type_: &str) -> Option<WorkspaceCondition> {
    let conditions = get(world, name).await.status?.conditions?;
    conditions.into_iter().find(|condition| condition.type_ == type_)
}

/// What a condition says in words.
pub(crate) async fn message(world: &World, name: &str, type_: &str) -> String {
    let condition = condition(world, name, type_).await;
    condition
        .and_then(|condition| condition.message)
        .unwrap_or_default()
}

/// Waits until a Workspace is applied as it is now.
pub(crate) async fn until_settled(world: &World, name: &str) {
    world
        .until("the Workspace to settle", async || {
            let object = get(world, name).await;
            let synced = condition(world, name, "Synced").await;
            synced.is_some_and(|synced| {
                synced.status == "True" && synced.observed_generation == object.metadata.generation
            })
        })
        .await;
}

/// Waits until a condition says this.
pub(crate) async fn until(world: &World, name: &str, type_: &str, said: &str) {
    world
        .until(&format!("{type_} to be {said}"), async || {
            says(world, name, type_).await.as_deref() == Some(said)
        })
        .await;
}

/// Waits until a Workspace is gone.
pub(crate) async fn until_gone(world: &World, name: &str) {
    world
        .until("the Workspace to be gone", async || {
            find(world, name).await.is_none()
        })
        .await;
}

/// The ConfigMap about a Workspace.
pub(crate) async fn page(world: &World, name: &str) -> Option<ConfigMap> {
    let api: Api<ConfigMap> = Api::namespaced(world.client(), world.namespace());
    let name = names::run_report("tf.m.upbound.io", name);
    api.get_opt(&name).await.expect("it can be read")
}

/// The report about a Workspace.
pub(crate) async fn report(world: &World, name: &str) -> RunReport {
    let data = page(world, name)
        .await
        .and_then(|page| page.data)
        .unwrap_or_default();
    let text = data.get(REPORT_KEY).map(String::as_str).unwrap_or("{}");
    serde_json::from_str(text).expect("a report")
}

/// Names of all Secrets with state.
pub(crate) async fn state_secrets(world: &World) -> Vec<String> {
    let api: Api<Secret> = Api::namespaced(world.client(), world.namespace());
    let found = api.list(&ListParams::default().labels("tfstate=true")).await;
    found
        .expect("they can be listed")
        .iter()
        .map(|secret| secret.name_any())
        .collect()
}

/// Makes or changes a Secret.
pub(crate) async fn put_secret(world: &World, name: &str, key: &str, value: &str) {
    let api: Api<Secret> = Api::namespaced(world.client(), world.namespace());
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {(key): value},
    });
    let params = PatchParams::apply("test").force();
    api.patch(name, &params, &Patch::Apply(&secret))
        .await
        .expect("it can be written");
}

/// Deletes a Secret.
pub(crate) async fn delete_secret(world: &World, name: &str) {
    let api: Api<Secret> = Api::namespaced(world.client(), world.namespace());
    let gone = api.delete(name, &DeleteParams::default()).await;
    gone.expect("it can be deleted");
}

/// Whether our finalizer is on it.
pub(crate) fn is_held(object: &Workspace) -> bool {
    object.finalizers().iter().any(|one| one == CROSSPLANE_FINALIZER)
}

/// So many seconds.
pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Events about a Workspace: reason and text.
pub(crate) async fn events(world: &World, name: &str) -> Vec<(String, String)> {
    let api: Api<Event> = Api::all(world.client());
    let found = api
        .list(&ListParams::default())
        .await
        .expect("they can be listed");
    let about = |event: &Event| {
        let regarding = event.regarding.as_ref();
        regarding.and_then(|regarding| regarding.name.as_deref()) == Some(name)
    };
    let all = found.items.into_iter().filter(about);
    all.map(|event| (event.reason.unwrap_or_default(), event.note.unwrap_or_default()))
        .collect()
}
