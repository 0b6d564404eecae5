//! Something that was made and whose state is not to be found is neither made again nor forgotten.

use capt_api::{
    foreign::marks::{CROSSPLANE_FINALIZER, EXTERNAL_CREATE_SUCCEEDED, EXTERNAL_NAME},
    marks,
};
use capt_testkit::World;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{script::Script, support::*};

const STATE: &str = "tfstate-vpc-capt";

fn secrets(world: &World) -> Api<Secret> {
    Api::namespaced(world.client(), world.namespace())
}

/// Deletes the Secret with the state by hand. Gives what it was.
async fn lose_state(world: &World) -> Secret {
    let api = secrets(world);
    let unheld = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let mut lost = api.patch(STATE, &PatchParams::default(), &unheld).await.unwrap();
    api.delete(STATE, &DeleteParams::default()).await.unwrap();
    lost.metadata.resource_version = None;
    lost.metadata.uid = None;
    lost
}

/// A Workspace that another runner held, and that goes already.
async fn handed_over(world: &World, was_made: bool) {
    let mut object = workspace("vpc", &["a"]);
    object["metadata"]["finalizers"] = json!([CROSSPLANE_FINALIZER]);
    object["metadata"]["annotations"] = json!({(EXTERNAL_NAME): "vpc"});
    if was_made {
        object["metadata"]["annotations"][EXTERNAL_CREATE_SUCCEEDED] = json!("2026-01-01T00:00:00Z");
    }
    object["spec"]["forProvider"] = json!({"source": "Remote", "module": "git::https://example.com/vpc.git"});
    create(world, object).await;
    delete(world, "vpc").await;
}

#[tokio::test]
async fn what_goes_when_it_is_first_seen_may_have_its_state_where_only_its_module_knows() {
    for was_made in [true, false] {
        let world = World::embedded_only().await;
        let script = Script::default();
        script.with(|stage| stage.has_hidden_backend = true);
        handed_over(&world, was_made).await;
        start(&world, &script);
        until(&world, "vpc", "Failing", "True BackendInModule").await;
        world.advance(seconds(3600)).await;
        assert!(find(&world, "vpc").await.is_some(), "it was forgotten");
        world.finish().await;
    }
}

#[tokio::test]
async fn what_was_made_and_has_no_state_anywhere_stays_until_somebody_says_that_it_is_gone() {
    let world = World::embedded_only().await;
    let script = Script::default();
    handed_over(&world, true).await;
    start_with(&world, &script, no_polls);
    until(&world, "vpc", "Failing", "True StateUnavailable").await;
    until(&world, "vpc", "StateComplete", "False StateMissing").await;
    let words = message(&world, "vpc", "Synced").await;
    assert!(
        words.starts_with("delete failed: ") && words.contains("destroyed=true"),
        "{words}"
    );
    world.settle().await;
    let mark = world.recorder().mark();
    world.advance(seconds(3600)).await;
    assert!(world.recorder().requests_since(mark).is_empty());
    assert!(find(&world, "vpc").await.is_some(), "it was forgotten");

    annotate(&world, "vpc", marks::DESTROYED, "true").await;
    until_gone(&world, "vpc").await;
    world.finish().await;
}

#[tokio::test]
async fn what_was_held_and_never_made_goes() {
    let world = World::embedded_only().await;
    let script = Script::default();
    handed_over(&world, false).await;
    start(&world, &script);
    until_gone(&world, "vpc").await;
    world.finish().await;
}

#[tokio::test]
async fn a_state_that_somebody_deleted_is_written_again_from_this_machine() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    lose_state(&world).await;
    world
        .until("the state to be back", async || {
            state_secrets(&world).await == [STATE]
        })
        .await;
    world.settle().await;
    let heard = events(&world, "vpc").await;
    assert!(
        heard.iter().any(|(reason, _)| reason == "StateRestored"),
        "{heard:?}"
    );
    assert_eq!(
        says(&world, "vpc", "Synced").await.as_deref(),
        Some("True ReconcileSuccess")
    );
    assert_eq!(script.with(|stage| (stage.plans, stage.made.len())), (1, 1));

    // Nor is it taken for nothing when everything is to go.
    world.stop(RUNNER);
    lose_state(&world).await;
    delete(&world, "vpc").await;
    start_with(&world, &script, no_polls);
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    world.finish().await;
}

#[tokio::test]
async fn a_state_that_is_lost_is_told_and_nothing_is_made_twice() {
    for is_away in [true, false] {
        let world = World::embedded_only().await;
        let script = Script::default();
        start_with(&world, &script, no_polls);
        create(&world, workspace("vpc", &["a"])).await;
        until_settled(&world, "vpc").await;
        if is_away {
            world.stop(RUNNER);
        }
        script.with(|stage| stage.disk.clear());
        let lost = lose_state(&world).await;
        if is_away {
            start_with(&world, &script, no_polls);
        }
        until(&world, "vpc", "StateComplete", "False StateMissing").await;
        assert_eq!(
            says(&world, "vpc", "Failing").await.as_deref(),
            Some("True StateUnavailable")
        );
        // Neither a change nor a person who asks makes it begin anew.
        let more = json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}});
        patch(&world, "vpc", more).await;
        annotate(&world, "vpc", marks::PLAN_REQUESTED, "now").await;
        annotate(&world, "vpc", marks::RETRY_REQUESTED, "now").await;
        world.advance(seconds(3600)).await;
        assert_eq!(script.with(|stage| stage.made.len()), 1);
        let words = message(&world, "vpc", "StateComplete").await;
        assert!(
            words.contains(&format!("/{STATE} ")) && words.contains("kubectl annotate workspaces."),
            "{words}"
        );

        secrets(&world)
            .create(&PostParams::default(), &lost)
            .await
            .unwrap();
        until_settled(&world, "vpc").await;
        until(&world, "vpc", "StateComplete", "True Complete").await;
        assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
        assert_eq!(script.with(|stage| stage.made.len()), 2);
        world.finish().await;
    }
}

#[tokio::test]
async fn a_crash_between_the_end_of_a_state_and_that_of_its_workspace_holds_nothing_up() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let mut object: Value = workspace("vpc", &["a"]);
    object["metadata"]["finalizers"] = json!(["example.com/other"]);
    create(&world, object).await;
    until_settled(&world, "vpc").await;
    world.stop(RUNNER);
    lose_state(&world).await;
    script.with(|stage| {
        stage.disk.clear();
        stage.ledger.clear();
    });
    annotate(&world, "vpc", marks::DESTROYED, "true").await;
    patch(
        &world,
        "vpc",
        json!({"metadata": {"finalizers": [CROSSPLANE_FINALIZER]}}),
    )
    .await;
    delete(&world, "vpc").await;
    start_with(&world, &script, no_polls);
    until_gone(&world, "vpc").await;
    world.finish().await;
}

#[tokio::test]
async fn that_everything_is_destroyed_counts_once_and_not_for_a_state_that_is_there() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    // There is a state, so that it is taken back with the next run.
    annotate(&world, "vpc", marks::DESTROYED, "true").await;
    annotate(&world, "vpc", marks::RETRY_REQUESTED, "1").await;
    until_unmarked(&world).await;
    script.with(|stage| {
        stage.disk.clear();
        stage.ledger.clear();
    });
    lose_state(&world).await;
    until(&world, "vpc", "StateComplete", "False StateMissing").await;
    annotate(&world, "vpc", marks::DESTROYED, "true").await;
    until(&world, "vpc", "StateComplete", "True Complete").await;
    until_settled(&world, "vpc").await;
    until_unmarked(&world).await;
    assert_eq!(script.with(|stage| stage.made.len()), 2);
    world.finish().await;
}

async fn until_unmarked(world: &World) {
    world
        .until("the mark to be taken back", async || {
            let found = find(world, "vpc").await.expect("a Workspace");
            let annotations = found.metadata.annotations.unwrap_or_default();
            !annotations.contains_key(marks::DESTROYED)
        })
        .await;
}

#[tokio::test]
async fn a_plan_that_cannot_run_any_more_asks_for_no_approval() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a", "b"])).await;
    until_settled(&world, "vpc").await;
    let less = json!({"spec": {"forProvider": {"module": module(&["a"])}}});
    patch(&world, "vpc", less).await;
    until(&world, "vpc", "ApprovalNeeded", "True DestructiveChange").await;
    script.with(|stage| stage.disk.clear());
    lose_state(&world).await;
    until(&world, "vpc", "StateComplete", "False StateMissing").await;
    until(&world, "vpc", "ApprovalNeeded", "False NotNeeded").await;
    world.finish().await;
}

#[tokio::test]
async fn what_was_moved_away_is_not_brought_back_from_the_working_folder_and_can_be_deleted() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    patch(&world, "vpc", json!({"spec": {"managementPolicies": []}})).await;
    until(&world, "vpc", "Synced", "False ReconcilePaused").await;
    lose_state(&world).await;
    annotate(&world, "vpc", marks::MOVED_AWAY, "true").await;
    // Even somebody who ends the pause by hand does not make it live twice.
    patch(&world, "vpc", json!({"spec": {"managementPolicies": ["*"]}})).await;
    world.settle().await;
    assert!(state_secrets(&world).await.is_empty());
    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"], "it lives elsewhere");
    assert_eq!(script.with(|stage| stage.applies), 1);
    assert!(state_secrets(&world).await.is_empty());
    world.finish().await;
}
