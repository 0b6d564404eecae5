//! Labels and owner references that somebody takes off what the runner keeps.

use std::fmt::Debug;

use capt_core::names;
use capt_testkit::{Calls, Fault, Times, World};
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{ConfigMap, Secret},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Resource,
    api::{Patch, PatchParams},
};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::{script::Script, support::*};

const STATE: &str = "tfstate-vpc-capt";

fn report_name() -> String {
    names::run_report("tf.m.upbound.io", "vpc")
}

trait Kept:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned
{
}

impl Kept for Secret {}
impl Kept for ConfigMap {}

async fn metadata<K: Kept>(world: &World, name: &str) -> ObjectMeta {
    let api: Api<K> = Api::namespaced(world.client(), world.namespace());
    api.get_metadata(name).await.unwrap().metadata
}

/// Takes off all labels and owner references.
async fn strip<K: Kept>(world: &World, name: &str) {
    let api: Api<K> = Api::namespaced(world.client(), world.namespace());
    let bare = Patch::Merge(json!({"metadata": {"labels": null, "ownerReferences": null}}));
    api.patch_metadata(name, &PatchParams::default(), &bare)
        .await
        .unwrap();
}

/// Waits until labels and owner references are what they were.
async fn until_whole<K: Kept>(world: &World, name: &str, before: &ObjectMeta) {
    world
        .until(&format!("{name} to be whole"), async || {
            let now = metadata::<K>(world, name).await;
            now.labels == before.labels && now.owner_references == before.owner_references
        })
        .await;
}

async fn settled(world: &World) -> Script {
    let script = Script::default();
    start_with(world, &script, no_polls);
    create(world, workspace("vpc", &["a"])).await;
    until_settled(world, "vpc").await;
    world.settle().await;
    script
}

#[tokio::test]
async fn what_is_stripped_comes_back_at_once_and_without_terraform() {
    let world = World::embedded_only().await;
    let script = settled(&world).await;
    let opened = script.with(|stage| stage.plans);
    let state = metadata::<Secret>(&world, STATE).await;
    let told = metadata::<ConfigMap>(&world, &report_name()).await;
    assert!(state.labels.is_some() && told.labels.is_some() && told.owner_references.is_some());

    strip::<Secret>(&world, STATE).await;
    strip::<ConfigMap>(&world, &report_name()).await;
    until_whole::<Secret>(&world, STATE, &state).await;
    until_whole::<ConfigMap>(&world, &report_name(), &told).await;

    assert_eq!(script.with(|stage| stage.plans), opened, "no Terraform ran");
    world.settle().await;
    let mark = world.recorder().mark();
    world.advance(seconds(3600)).await;
    let asked = world.recorder().requests_since(mark);
    assert!(asked.is_empty(), "{asked:#?}");
    world.finish().await;
}

#[tokio::test]
async fn what_was_stripped_while_nobody_looked_comes_back_and_is_remembered() {
    let world = World::embedded_only().await;
    let script = settled(&world).await;
    let opened = script.with(|stage| stage.plans);
    let state = metadata::<Secret>(&world, STATE).await;
    let told = metadata::<ConfigMap>(&world, &report_name()).await;
    world.stop(RUNNER);
    strip::<Secret>(&world, STATE).await;
    strip::<ConfigMap>(&world, &report_name()).await;
    start_with(&world, &script, no_polls);
    until_whole::<Secret>(&world, STATE, &state).await;
    until_whole::<ConfigMap>(&world, &report_name(), &told).await;
    world.settle().await;
    assert_eq!(
        script.with(|stage| stage.plans),
        opened,
        "what the report says counts"
    );
    world.finish().await;
}

#[tokio::test]
async fn an_api_that_fails_only_delays_it() {
    let world = World::embedded_only().await;
    let _script = settled(&world).await;
    let state = metadata::<Secret>(&world, STATE).await;
    let writes = Calls::by(RUNNER).resource("secrets").writes();
    let failing = world.faults().inject(writes, Times::Every, Fault::fail(503));
    strip::<Secret>(&world, STATE).await;
    world.advance(seconds(60)).await;
    assert_eq!(metadata::<Secret>(&world, STATE).await.labels, None);
    failing.release();
    until_whole::<Secret>(&world, STATE, &state).await;
    world.finish().await;
}

#[tokio::test]
async fn what_only_bears_such_a_name_is_left_alone() {
    let world = World::embedded_only().await;
    let _script = settled(&world).await;
    let others = "tfstate-other-capt";
    put_secret(&world, others, "note", "mine").await;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": names::run_report("tf.m.upbound.io", "other")},
    });
    let api: Api<ConfigMap> = Api::namespaced(world.client(), world.namespace());
    let map = api
        .create(&Default::default(), &serde_json::from_value(map).unwrap())
        .await
        .unwrap();
    world.advance(seconds(60)).await;
    assert_eq!(metadata::<Secret>(&world, others).await.labels, None);
    let now = metadata::<ConfigMap>(&world, map.metadata.name.as_deref().unwrap()).await;
    assert_eq!(now.resource_version, map.metadata.resource_version);
    world.finish().await;
}
