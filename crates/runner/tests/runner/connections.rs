//! Connection Secrets that somebody changes or removes.

use capt_testkit::{Verb, World};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{script::Script, support::*};

const NAME: &str = "facts";

fn secrets(world: &World) -> Api<Secret> {
    Api::namespaced(world.client(), world.namespace())
}

async fn edit(world: &World, patch: Value) {
    let patch = Patch::Merge(patch);
    secrets(world)
        .patch(NAME, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

async fn remove(world: &World) {
    secrets(world)
        .delete(NAME, &DeleteParams::default())
        .await
        .unwrap();
}

/// The output as the Secret has it.
async fn count(world: &World) -> Option<String> {
    let secret = secrets(world).get_opt(NAME).await.unwrap()?;
    let count = secret.data?.remove("count")?;
    Some(String::from_utf8(count.0).unwrap())
}

async fn until_back(world: &World, what: &str) {
    world
        .until(what, async || count(world).await.as_deref() == Some("2"))
        .await;
}

async fn settled(world: &World) -> Script {
    let script = Script::default();
    start_with(world, &script, no_polls);
    let mut object = workspace("vpc", &["a", "b"]);
    object["spec"]["writeConnectionSecretToRef"] = json!({"name": NAME});
    create(world, object).await;
    until_settled(world, "vpc").await;
    world.settle().await;
    assert_eq!(count(world).await.as_deref(), Some("2"));
    script
}

#[tokio::test]
async fn what_somebody_does_to_it_is_undone_at_once_and_without_terraform() {
    let world = World::embedded_only().await;
    let script = settled(&world).await;
    let opened = script.with(|stage| stage.plans);

    remove(&world).await;
    until_back(&world, "a deleted Secret to be back").await;
    edit(&world, json!({"data": null})).await;
    until_back(&world, "an emptied Secret to be filled").await;
    edit(&world, json!({"stringData": {"count": "3"}})).await;
    until_back(&world, "an edit to be undone").await;
    edit(
        &world,
        json!({"data": null, "metadata": {"ownerReferences": null}}),
    )
    .await;
    until_back(&world, "a Secret without an owner to be taken again").await;
    // Whatever we do not write is somebody else's.
    edit(&world, json!({"stringData": {"note": "mine"}})).await;
    world.settle().await;
    let found = secrets(&world).get(NAME).await.unwrap().data.unwrap();
    assert!(found.contains_key("note"));

    assert_eq!(script.with(|stage| stage.plans), opened, "no Terraform ran");
    let told = events(&world, "vpc").await;
    assert!(
        told.iter()
            .any(|(reason, _)| reason == "ConnectionSecretRestored"),
        "{told:?}"
    );
    let mark = world.recorder().mark();
    world.advance(seconds(3600)).await;
    let asked = world.recorder().requests_since(mark);
    assert!(asked.is_empty(), "{asked:#?}");
    world.finish().await;
}

#[tokio::test]
async fn what_went_while_nobody_looked_comes_back_too() {
    let world = World::embedded_only().await;
    let script = settled(&world).await;
    let opened = script.with(|stage| stage.plans);
    world.stop(RUNNER);
    remove(&world).await;
    start_with(&world, &script, no_polls);
    until_back(&world, "the Secret to be back").await;
    assert_eq!(script.with(|stage| stage.plans), opened, "no Terraform ran");
    world.finish().await;
}

#[tokio::test]
async fn who_writes_it_again_and_again_is_not_answered_as_often() {
    let world = World::embedded_only().await;
    let _script = settled(&world).await;
    let mark = world.recorder().mark();
    for _ in 0..20 {
        edit(&world, json!({"stringData": {"count": "3"}})).await;
        world.advance(seconds(1)).await;
    }
    until_back(&world, "the last word").await;
    let mut writes = world.recorder().writes_since(mark);
    writes.retain(|entry| {
        let is_ours = entry.call.caller == RUNNER && entry.call.resource == "secrets";
        is_ours && matches!(entry.call.verb, Verb::Patch | Verb::Create)
    });
    assert!((2..=8).contains(&writes.len()), "{writes:#?}");
    world.finish().await;
}

#[tokio::test]
async fn during_a_pause_it_is_left_alone() {
    let world = World::embedded_only().await;
    let _script = settled(&world).await;
    patch(&world, "vpc", json!({"spec": {"managementPolicies": []}})).await;
    until(&world, "vpc", "Synced", "False ReconcilePaused").await;
    remove(&world).await;
    world.advance(seconds(3600)).await;
    assert_eq!(count(&world).await, None);
    patch(&world, "vpc", json!({"spec": {"managementPolicies": ["*"]}})).await;
    until_back(&world, "the end of the pause").await;
    world.finish().await;
}

#[tokio::test]
async fn who_puts_something_else_in_its_place_is_told_and_asked_no_more_than_once() {
    let world = World::embedded_only().await;
    let script = settled(&world).await;
    remove(&world).await;
    until_back(&world, "the Secret to be back").await;
    // Both at once, so that there is no time for ours in between.
    world.stop(RUNNER);
    remove(&world).await;
    let other = serde_json::from_value(json!({"metadata": {"name": NAME}, "stringData": {"count": "other"}}));
    let other: Secret = other.unwrap();
    secrets(&world)
        .create(&PostParams::default(), &other)
        .await
        .unwrap();
    let plans = script.with(|stage| stage.plans);
    start_with(&world, &script, no_polls);
    until(&world, "vpc", "Failing", "True ConnectionSecretFailed").await;
    world.advance(seconds(3600)).await;
    assert_eq!(script.with(|stage| stage.plans), plans + 1);
    assert_eq!(count(&world).await.as_deref(), Some("other"));
    remove(&world).await;
    until_back(&world, "the other one to be gone").await;
    until(&world, "vpc", "Failing", "False NotFailing").await;
    world.finish().await;
}

#[tokio::test]
async fn what_another_controller_writes_to_its_own_secret_runs_nothing() {
    let world = World::embedded_only().await;
    let held = json!({"metadata": {"name": NAME, "ownerReferences": [
        {"apiVersion": "example.org/v1", "kind": "Certificate", "name": "c", "uid": "u-1", "controller": true},
    ]}});
    let held: Secret = serde_json::from_value(held).unwrap();
    secrets(&world)
        .create(&PostParams::default(), &held)
        .await
        .unwrap();
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let mut object = workspace("vpc", &["a", "b"]);
    object["spec"]["writeConnectionSecretToRef"] = json!({"name": NAME});
    create(&world, object).await;
    until(&world, "vpc", "Failing", "True ConnectionSecretFailed").await;
    world.settle().await;
    let plans = script.with(|stage| stage.plans);
    let mark = world.recorder().mark();
    for turn in 0..20 {
        edit(&world, json!({"stringData": {"tls": format!("{turn}")}})).await;
        world.advance(seconds(1)).await;
    }
    world.advance(seconds(120)).await;
    assert_eq!(script.with(|stage| stage.plans), plans, "no Terraform ran");
    let mut reads = world.recorder().requests_since(mark);
    reads.retain(|entry| entry.call.caller == RUNNER && entry.call.resource == "secrets");
    assert!(reads.len() <= 10, "{reads:#?}");

    // Another one has it: that is told, by a run.
    edit(
        &world,
        json!({"metadata": {"ownerReferences": [
            {"apiVersion": "example.org/v1", "kind": "Certificate", "name": "d", "uid": "u-2", "controller": true},
        ]}}),
    )
    .await;
    world
        .until("the other holder to be named", async || {
            message(&world, "vpc", "Failing").await.contains("Certificate d")
        })
        .await;
    assert_eq!(script.with(|stage| stage.plans), plans + 1);
    remove(&world).await;
    until_back(&world, "the other one to be gone").await;
    until(&world, "vpc", "Failing", "False NotFailing").await;
    world.finish().await;
}

#[tokio::test]
async fn where_only_a_backend_knows_the_outputs_it_is_asked_at_once() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let mut object = workspace("vpc", &["a", "b"]);
    object["spec"]["writeConnectionSecretToRef"] = json!({"name": NAME});
    let with_backend = format!(
        "terraform {{\n  backend \"s3\" {{\n    bucket = \"b\"\n  }}\n}}\n{}",
        module(&["a", "b"])
    );
    object["spec"]["forProvider"]["module"] = json!(with_backend);
    create(&world, object).await;
    until_settled(&world, "vpc").await;
    world.settle().await;
    let plans = script.with(|stage| stage.plans);
    remove(&world).await;
    until_back(&world, "the Secret to be back").await;
    world.settle().await;
    assert_eq!(script.with(|stage| stage.plans), plans + 1);
    world.finish().await;
}
