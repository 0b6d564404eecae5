//! From creation to deletion.

use capt_api::foreign::marks;
use capt_testkit::World;
use kube::ResourceExt as _;
use serde_json::json;

use crate::{script::Script, support::*};

#[tokio::test]
async fn a_workspace_is_made_changed_and_destroyed() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    let mut object = workspace("vpc", &["a", "b"]);
    object["spec"]["writeConnectionSecretToRef"] = json!({"name": "vpc-connection"});
    create(&world, object).await;
    until_settled(&world, "vpc").await;

    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
    assert_eq!(
        says(&world, "vpc", "Ready").await.as_deref(),
        Some("True Available")
    );
    assert_eq!(
        says(&world, "vpc", "Synced").await.as_deref(),
        Some("True ReconcileSuccess")
    );
    let object = get(&world, "vpc").await;
    assert!(is_held(&object));
    assert_eq!(object.annotations()[marks::EXTERNAL_NAME], "vpc");
    let pending = &object.annotations()[marks::EXTERNAL_CREATE_PENDING];
    let succeeded = &object.annotations()[marks::EXTERNAL_CREATE_SUCCEEDED];
    assert!(pending <= succeeded, "{pending} {succeeded}");
    let outputs = object.status.unwrap().at_provider.unwrap().outputs.unwrap();
    assert_eq!(json!(outputs), json!({"count": 2}));
    assert_eq!(state_secrets(&world).await, ["tfstate-vpc-capt"]);
    let told = report(&world, "vpc").await;
    assert_eq!(told.operation.unwrap().outcome.as_deref(), Some("succeeded"));

    patch(
        &world,
        "vpc",
        json!({"spec": {"forProvider": {"module": module(&["a", "b", "c"])}}}),
    )
    .await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b", "thing.c"]);

    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    assert_eq!(state_secrets(&world).await, Vec::<String>::new());
    assert_eq!(script.with(|stage| stage.forgotten.len()), 1);
    world.finish().await;
}

#[tokio::test]
async fn what_takes_long_to_prepare_says_so() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.opening = seconds(60));
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    world
        .until("progress to be told", async || {
            let progress = report(&world, "vpc").await.progress;
            progress.is_some_and(|progress| progress.operation.as_deref() == Some("init"))
        })
        .await;
    assert_eq!(script.with(|stage| stage.plans), 0);
    until_settled(&world, "vpc").await;
    assert!(report(&world, "vpc").await.progress.is_none());
    world.finish().await;
}

#[tokio::test]
async fn every_change_is_told_in_its_own_words() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    for resources in [&["a", "b"][..], &["a", "b", "c"]] {
        let spec = json!({"spec": {"forProvider": {"module": module(resources)}}});
        patch(&world, "vpc", spec).await;
        until_settled(&world, "vpc").await;
    }
    world.settle().await;
    let mut changes = events(&world, "vpc").await;
    changes.retain(|(reason, _)| reason == "UpdatedExternalResource");
    let mut notes: Vec<&str> = changes.iter().map(|(_, note)| note.as_str()).collect();
    notes.sort_unstable();
    assert_eq!(notes.len(), 2, "{notes:?}");
    for (note, generation) in notes.iter().zip(["2", "3"]) {
        assert!(note.ends_with(&format!("generation {generation}")), "{notes:?}");
    }
    world.finish().await;
}
