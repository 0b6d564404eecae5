//! Nothing is done to what is paused, and it says so when that is true.

use capt_api::foreign::marks;
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
