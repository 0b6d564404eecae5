//! What is left on a machine of Workspaces that are gone goes, unless it is the only record of something.

use capt_api::marks;
use capt_testkit::World;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{script::Script, support::*};

/// A Workspace that was applied, and whose object somebody tore away while the runner was not there. Its uid.
async fn torn_away(world: &World, script: &Script) -> String {
    start_with(world, script, no_polls);
    let uid = create(world, workspace("vpc", &["a"]))
        .await
        .metadata
        .uid
        .unwrap();
    until_settled(world, "vpc").await;
    world.stop(RUNNER);
    patch(world, "vpc", json!({"metadata": {"finalizers": null}})).await;
    delete(world, "vpc").await;
    until_gone(world, "vpc").await;
    uid
}

fn is_on_disk(script: &Script, uid: &str) -> bool {
    script.with(|stage| stage.disk.contains_key(uid))
}

#[tokio::test]
async fn what_is_left_of_a_workspace_that_went_goes_at_the_start_when_its_state_is_kept() {
    let world = World::embedded_only().await;
    let script = Script::default();
    let uid = torn_away(&world, &script).await;
    let other = create(&world, workspace("other", &["a"]))
        .await
        .metadata
        .uid
        .unwrap();
    assert!(is_on_disk(&script, &uid));
    start_with(&world, &script, no_polls);
    until_settled(&world, "other").await;
    world
        .until("the folder to be gone", async || !is_on_disk(&script, &uid))
        .await;
    world.advance(seconds(3600)).await;
    assert!(is_on_disk(&script, &other));
    assert_eq!(script.exists("vpc"), ["thing.a"], "nothing is destroyed");
    assert_eq!(state_secrets(&world).await.len(), 2);
    world.finish().await;
}

#[tokio::test]
async fn what_may_be_the_only_record_of_something_stays() {
    type Change = fn(&mut Value);
    let newer: Change = |state| state["serial"] = json!(100);
    let of_another_history: Change = |state| state["lineage"] = json!("another");
    let nothing: Change = |_| {};
    let cases = [
        ("newer than what is kept", newer, false),
        ("of another history", of_another_history, false),
        ("with an apply that was cut short", nothing, true),
    ];
    for (case, change, is_unsettled) in cases {
        let world = World::embedded_only().await;
        let script = Script::default();
        let uid = torn_away(&world, &script).await;
        script.with(|stage| {
            let file = stage.disk.get_mut(&uid).unwrap();
            let mut state = serde_json::from_slice(file).unwrap();
            change(&mut state);
            *file = serde_json::to_vec(&state).unwrap();
            stage.is_unsettled = is_unsettled;
        });
        start_with(&world, &script, no_polls);
        create(&world, workspace("other", &["a"])).await;
        until_settled(&world, "other").await;
        delete(&world, "other").await;
        until_gone(&world, "other").await;
        world.advance(seconds(3600)).await;
        assert!(is_on_disk(&script, &uid), "{case}");
        world.finish().await;
    }
}

#[tokio::test]
async fn a_state_that_is_kept_nowhere_stays_until_it_lists_nothing() {
    let world = World::embedded_only().await;
    let script = Script::default();
    let uid = torn_away(&world, &script).await;
    let secrets: Api<Secret> = Api::namespaced(world.client(), world.namespace());
    let unheld = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let name = "tfstate-vpc-capt";
    secrets
        .patch(name, &PatchParams::default(), &unheld)
        .await
        .unwrap();
    secrets.delete(name, &DeleteParams::default()).await.unwrap();
    start_with(&world, &script, no_polls);
    world.settle().await;
    assert!(is_on_disk(&script, &uid));

    script.with(|stage| {
        let file = stage.disk.get_mut(&uid).unwrap();
        let mut state: Value = serde_json::from_slice(file).unwrap();
        state["resources"] = json!([]);
        *file = serde_json::to_vec(&state).unwrap();
    });
    world.crash(RUNNER);
    world
        .until("the folder to be gone", async || !is_on_disk(&script, &uid))
        .await;
    world.finish().await;
}

#[tokio::test]
async fn what_was_handed_over_leaves_nothing_behind_and_a_steady_runner_asks_nothing() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, |options| {
        labelled(options);
        no_polls(options);
    });
    let mut object = workspace("vpc", &["a"]);
    object["metadata"]["labels"] = json!({(marks::RUNNER): "blue"});
    let uid = create(&world, object).await.metadata.uid.unwrap();
    until_settled(&world, "vpc").await;
    let theirs = json!({"metadata": {"labels": {(marks::RUNNER): "green"}}});
    patch(&world, "vpc", theirs).await;
    world
        .until("the folder to be gone", async || !is_on_disk(&script, &uid))
        .await;
    world.settle().await;
    let mark = world.recorder().mark();
    world.advance(seconds(24 * 3600)).await;
    assert!(world.recorder().requests_since(mark).is_empty());
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    world.finish().await;
}
