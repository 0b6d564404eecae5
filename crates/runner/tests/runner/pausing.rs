//! Nothing is done to what is paused, and it says so when that is true.

use capt_api::{
    foreign::marks,
    marks::{CANDIDATE, PLAN_REQUESTED},
};
use capt_core::wta::candidate::pack;
use capt_testkit::World;
use serde_json::json;

use crate::{script::Script, support::*};

#[tokio::test]
async fn a_pause_is_said_only_when_what_runs_has_ended() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.delay = seconds(60));
    start(&world, &script);
    create(&world, workspace("vpc", &["a", "b"])).await;
    world
        .until("it to be applied", async || {
            script.with(|stage| stage.applies == 1)
        })
        .await;

    patch(&world, "vpc", json!({"spec": {"managementPolicies": []}})).await;
    world.advance(seconds(30)).await;
    assert_ne!(
        says(&world, "vpc", "Synced").await.as_deref(),
        Some("False ReconcilePaused")
    );
    assert_eq!(script.with(|stage| stage.open), 1, "what runs is not stopped");

    until(&world, "vpc", "Synced", "False ReconcilePaused").await;
    assert_eq!(script.with(|stage| (stage.open, stage.stopped)), (0, 0));
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
    let said = condition(&world, "vpc", "Synced").await.unwrap();
    assert_eq!(
        said.observed_generation,
        get(&world, "vpc").await.metadata.generation
    );
    world.finish().await;
}

#[tokio::test]
async fn nothing_says_that_nothing_is_done_while_something_is() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    // One that never was, and one that was before it was paused.
    for (name, is_new, expected) in [("new", true, None), ("old", false, Some("True ReconcileSuccess"))] {
        script.with(|stage| stage.delay = seconds(0));
        let mut object = workspace(name, &["a"]);
        if is_new {
            object["metadata"]["annotations"] = json!({(marks::CROSSPLANE_PAUSED): "true"});
            create(&world, object).await;
        } else {
            create(&world, object).await;
            until_settled(&world, name).await;
            annotate(&world, name, marks::CROSSPLANE_PAUSED, "true").await;
        }
        until(&world, name, "Synced", "False ReconcilePaused").await;
        let settled = get(&world, name).await.metadata.generation;
        let change = json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}});
        patch(&world, name, change).await;
        world.settle().await;
        let before = script.with(|stage| {
            stage.delay = seconds(60);
            stage.applies
        });
        let resume = json!({"metadata": {"annotations": {(marks::CROSSPLANE_PAUSED): null}}});
        patch(&world, name, resume).await;
        world
            .until("it to be applied", async || {
                script.with(|stage| stage.applies > before)
            })
            .await;
        assert_eq!(says(&world, name, "Synced").await.as_deref(), expected, "{name}");
        if !is_new {
            let synced = condition(&world, name, "Synced").await.unwrap();
            assert_eq!(synced.observed_generation, settled, "it is said of what was");
        }
        until_settled(&world, name).await;
        assert_eq!(script.exists(name), ["thing.a", "thing.b"]);
    }
    world.finish().await;
}

#[tokio::test]
async fn what_is_paused_is_left_alone_until_it_is_not_any_more() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    let mut object = workspace("vpc", &["a"]);
    object["metadata"]["annotations"] = json!({(marks::CROSSPLANE_PAUSED): "true"});
    create(&world, object).await;
    until(&world, "vpc", "Synced", "False ReconcilePaused").await;
    patch(
        &world,
        "vpc",
        json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}}),
    )
    .await;
    world.advance(seconds(3600)).await;
    assert_eq!(script.with(|stage| stage.plans), 0);
    let generation = get(&world, "vpc").await.metadata.generation;
    let said = condition(&world, "vpc", "Synced").await.unwrap();
    assert_eq!(
        said.observed_generation, generation,
        "it is said of the spec as it is"
    );

    delete(&world, "vpc").await;
    world.advance(seconds(60)).await;
    assert_eq!(script.with(|stage| stage.plans), 0);

    // Held by nobody, it is gone at once; one that was applied stays until it may be destroyed.
    create(&world, workspace("kept", &["a"])).await;
    until_settled(&world, "kept").await;
    annotate(&world, "kept", marks::CROSSPLANE_PAUSED, "true").await;
    until(&world, "kept", "Synced", "False ReconcilePaused").await;
    delete(&world, "kept").await;
    world.advance(seconds(600)).await;
    assert_eq!(script.exists("kept"), ["thing.a"]);
    patch(
        &world,
        "kept",
        json!({"metadata": {"annotations": {(marks::CROSSPLANE_PAUSED): null}}}),
    )
    .await;
    until_gone(&world, "kept").await;
    assert_eq!(script.exists("kept"), Vec::<String>::new());
    world.finish().await;
}

async fn ask(world: &World, token: &str, candidate: Option<String>) {
    let marks = json!({(PLAN_REQUESTED): token, (CANDIDATE): candidate});
    patch(world, "vpc", json!({"metadata": {"annotations": marks}})).await;
    world
        .until("an answer", async || {
            let answered = report(world, "vpc").await.answered;
            answered.get(PLAN_REQUESTED).map(String::as_str) == Some(token)
        })
        .await;
}

#[tokio::test]
async fn who_asks_for_a_plan_during_a_pause_gets_one_and_nothing_else_happens() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    patch(&world, "vpc", json!({"spec": {"managementPolicies": []}})).await;
    until(&world, "vpc", "Synced", "False ReconcilePaused").await;

    ask(&world, "as it is", None).await;
    assert_eq!(report(&world, "vpc").await.plan.unwrap().summary, "no changes");

    let wanted = json!({"forProvider": {"source": "Inline", "module": module(&["a", "b"])}});
    ask(&world, "as it would be", Some(pack(&wanted))).await;
    let plan = report(&world, "vpc").await.plan.unwrap();
    assert_eq!(plan.changes.len(), 1, "{plan:?}");
    assert_eq!(plan.changes[0].address, "thing.b");
    let plans = script.with(|stage| stage.plans);

    let reads = json!({"name": "x", "secretKeyRef": {"name": "gone", "key": "x"}});
    let unready = json!({"forProvider": {"source": "Inline", "module": module(&["a"]), "env": [reads]}});
    for (candidate, words) in [
        (pack(&unready), "gone is not there"),
        ("nonsense".to_owned(), "no rendering that this runner can read"),
    ] {
        ask(&world, words, Some(candidate)).await;
        let operation = report(&world, "vpc").await.operation.unwrap();
        assert_eq!(operation.outcome.as_deref(), Some("failed"));
        let message = operation.message.unwrap();
        assert!(message.contains(words), "{message}");
    }
    world.crash(RUNNER);
    world.advance(seconds(3600)).await;
    assert_eq!(script.with(|stage| stage.plans), plans, "each is answered once");
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    assert_eq!(script.with(|stage| stage.applies), 1);
    assert_eq!(
        says(&world, "vpc", "Synced").await.as_deref(),
        Some("False ReconcilePaused"),
        "it rests as before"
    );

    // When the pause ends, what the Workspace has counts, and not what was planned.
    patch(&world, "vpc", json!({"spec": {"managementPolicies": ["*"]}})).await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    world.finish().await;
}

#[tokio::test]
async fn a_pause_that_is_over_is_not_said_any_more_while_a_plan_waits() {
    // Whether the runner goes away during the pause, and what it knows of the time before then.
    for (crashes, expected) in [(false, "True ReconcileSuccess"), (true, "False ReconcileError")] {
        let world = World::embedded_only().await;
        let script = Script::default();
        start_with(&world, &script, no_polls);
        create(&world, workspace("vpc", &["a", "b"])).await;
        until_settled(&world, "vpc").await;
        patch(&world, "vpc", json!({"spec": {"managementPolicies": []}})).await;
        until(&world, "vpc", "Synced", "False ReconcilePaused").await;
        if crashes {
            world.crash(RUNNER);
        }
        let change = json!({"managementPolicies": ["*"], "forProvider": {"module": module(&["a"])}});
        patch(&world, "vpc", json!({"spec": change})).await;
        until(&world, "vpc", "ApprovalNeeded", "True DestructiveChange").await;
        assert_eq!(says(&world, "vpc", "Synced").await.as_deref(), Some(expected));
        let synced = condition(&world, "vpc", "Synced").await.unwrap();
        let is_of_now = synced.observed_generation == get(&world, "vpc").await.metadata.generation;
        assert_eq!(is_of_now, synced.status == "False", "{synced:?}");
        world.finish().await;
    }
}
