//! What costs nothing, and what costs little.

use capt_api::marks::RETRY_REQUESTED;
use capt_testkit::{Verb, World};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::{script::Script, support::*};

#[tokio::test]
async fn a_settled_world_costs_nothing_and_neither_does_a_restart() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    for name in ["a", "b", "c"] {
        create(&world, workspace(name, &["x"])).await;
    }
    for name in ["a", "b", "c"] {
        until_settled(&world, name).await;
    }
    world.settle().await;
    let plans = script.with(|stage| stage.plans);
    let mark = world.recorder().mark();
    world.advance(seconds(24 * 3600)).await;
    let asked = world.recorder().requests_since(mark);
    assert!(asked.is_empty(), "{asked:#?}");

    world.crash(RUNNER);
    world.advance(seconds(24 * 3600)).await;
    assert_eq!(
        script.with(|stage| stage.plans),
        plans,
        "nothing changed, so nothing is run"
    );
    let writes = world.recorder().writes_since(mark);
    assert!(writes.is_empty(), "{writes:#?}");
    world.finish().await;
}

#[tokio::test]
async fn a_poll_that_finds_nothing_is_one_plan_and_no_write() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    world.settle().await;
    let mark = world.recorder().mark();
    let before = script.with(|stage| stage.plans);
    world.advance(seconds(3600)).await;
    let polls = script.with(|stage| stage.plans) - before;
    assert!((5..=6).contains(&polls), "{polls} polls in an hour");
    let writes: Vec<String> = world
        .recorder()
        .writes_since(mark)
        .iter()
        .map(|one| one.call.to_string())
        .collect();
    assert!(writes.is_empty(), "{writes:#?}");
    assert_eq!(script.with(|stage| stage.applies), 1);
    world.finish().await;
}

#[tokio::test]
async fn polls_after_a_restart_are_spread() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    let names: Vec<String> = (0..10).map(|number| format!("ws-{number}")).collect();
    for name in &names {
        create(&world, workspace(name, &["x"])).await;
    }
    for name in &names {
        until_settled(&world, name).await;
    }
    let before = script.with(|stage| stage.plans);
    world.crash(RUNNER);
    world.advance(seconds(5)).await;
    assert!(script.with(|stage| stage.plans) - before <= 2, "not all at once");
    world.advance(seconds(650)).await;
    assert!(script.with(|stage| stage.plans) - before >= 10, "but all of them");
    world.finish().await;
}

#[tokio::test]
async fn a_long_apply_shows_progress_in_few_writes() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.delay = seconds(120));
    start_with(&world, &script, no_polls);
    let names: Vec<String> = (0..10).map(|number| format!("r{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    create(&world, workspace("big", &names)).await;
    world
        .until("half of it", async || script.exists("big").len() == 5)
        .await;
    let told = report(&world, "big").await;
    let progress = told.progress.unwrap();
    assert_eq!(progress.operation.as_deref(), Some("apply"));
    assert_eq!(progress.resources_total, Some(10));
    assert!(progress.resources_done.unwrap() >= 4, "{progress:?}");
    assert!(progress.percent_complete.unwrap() >= 40, "{progress:?}");
    assert_eq!(told.resources.len(), 1, "{:?}", told.resources);
    assert!(told.operation.unwrap().ended_at.is_none());
    until_settled(&world, "big").await;

    let writes = world.recorder().writes();
    let count = |resource: &str| {
        writes
            .iter()
            .filter(|one| one.call.qualified_resource() == resource)
            .count()
    };
    assert!(count("workspaces/status") <= 3, "{}", count("workspaces/status"));
    let progress = count("configmaps");
    assert!(
        (20..=90).contains(&progress),
        "{progress} writes of progress in 20 minutes"
    );
    let api: Api<ConfigMap> = Api::namespaced(world.client(), world.namespace());
    let learned = api.list(&Default::default()).await.unwrap();
    assert!(
        learned
            .iter()
            .any(|map| map.name_any() == "capt-runner-durations")
    );
    assert!(writes.iter().all(|one| one.call.verb != Verb::DeleteCollection));
    world.finish().await;
}

#[tokio::test]
async fn many_are_run_in_parallel_but_not_too_many() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.delay = seconds(10));
    start_with(&world, &script, no_polls);
    let names: Vec<String> = (0..100).map(|number| format!("ws-{number}")).collect();
    for name in &names {
        create(&world, workspace(name, &["x"])).await;
    }
    world
        .until("all to be made", async || {
            script.with(|stage| stage.ledger.len() == 100)
        })
        .await;
    for name in &names {
        until_settled(&world, name).await;
    }
    assert_eq!(script.with(|stage| stage.most_open), 8);
    assert_eq!(script.with(|stage| stage.made.len()), 100);
    world.finish().await;
}

#[tokio::test]
async fn looking_again_at_what_waits_or_drifts_without_harm_is_told_once() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("held", &["a", "b"])).await;
    until_settled(&world, "held").await;
    patch(
        &world,
        "held",
        json!({"spec": {"forProvider": {"module": module(&["a"])}}}),
    )
    .await;
    until(&world, "held", "ApprovalNeeded", "True DestructiveChange").await;
    world.settle().await;
    let before = script.with(|stage| stage.plans);
    let mark = world.recorder().mark();
    // What is told is told again after an hour, and looks come up to a tenth later than their interval.
    world.advance(seconds(3000)).await;
    assert!(
        script.with(|stage| stage.plans) >= before + 4,
        "it is looked again"
    );
    let writes = world.recorder().writes_since(mark);
    assert!(writes.is_empty(), "{writes:#?}");

    // Somebody approves nothing but puts the module back.
    patch(
        &world,
        "held",
        json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}}),
    )
    .await;
    until_settled(&world, "held").await;
    assert!(
        report(&world, "held").await.plan.is_none(),
        "nothing waits any more"
    );
    assert_eq!(script.exists("held"), ["thing.a", "thing.b"]);

    let drift = || script.with(|stage| stage.drift = vec!["thing.a".to_owned()]);
    drift();
    until(&world, "held", "Drifted", "True DriftFound").await;
    world.settle().await;
    assert_eq!(report(&world, "held").await.plan.unwrap().drift.len(), 1);
    drift();
    let (before, mark) = (script.with(|stage| stage.plans), world.recorder().mark());
    world
        .until("another look", async || script.with(|stage| stage.plans > before))
        .await;
    world.advance(seconds(5)).await;
    let writes = world.recorder().writes_since(mark);
    assert!(writes.is_empty(), "{writes:#?}");
    until(&world, "held", "Drifted", "False NoDrift").await;
    assert!(report(&world, "held").await.plan.is_none());
    world.finish().await;
}

#[tokio::test]
async fn what_somebody_else_wrote_into_the_status_while_nobody_ran_it_is_put_right_by_the_next_look() {
    for is_asked in [true, false] {
        let world = World::embedded_only().await;
        let script = Script::default();
        start(&world, &script);
        create(&world, workspace("vpc", &["a"])).await;
        until_settled(&world, "vpc").await;
        world.settle().await;
        let before = get(&world, "vpc").await.status;
        world.stop(RUNNER);
        let lie = json!({"status": {"atProvider": {"outputs": {"cluster_version": "1.99"}}}});
        let api = workspaces(&world);
        api.patch_status("vpc", &PatchParams::default(), &Patch::Merge(lie))
            .await
            .unwrap();
        assert_ne!(get(&world, "vpc").await.status, before);
        if is_asked {
            annotate(&world, "vpc", RETRY_REQUESTED, "now").await;
        }
        start(&world, &script);
        world
            .until("it to be as before", async || {
                get(&world, "vpc").await.status == before
            })
            .await;
        world.finish().await;
    }
}
