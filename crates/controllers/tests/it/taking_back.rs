//! Changes that somebody takes back while Terraform is at work on them, with our own runner.

use std::time::Duration;

use capt_api::{
    CAPTControlPlane, WorkspaceTemplateApply,
    captcontrolplane::{CAPTControlPlaneStatus, ControlPlaneState as State, OperationResult},
    conditions::find_condition,
    foreign::{Workspace, marks::CROSSPLANE_PAUSED},
};
use capt_testkit::World;
use serde_json::{Value, json};

use crate::{
    costs::{bring_templates, start_simulation, write_cluster},
    stage::{Setting, User as _, start_controllers},
};

const APPLY: &str = "blue-eks-controlplane-apply";

async fn status(world: &World) -> CAPTControlPlaneStatus {
    let plane: CAPTControlPlane = world.api().get("blue").await.unwrap();
    plane.status.unwrap_or_default()
}

async fn says(world: &World, type_: &str) -> String {
    let conditions = status(world).await.conditions.unwrap_or_default();
    let said = find_condition(&conditions, type_);
    said.map_or_else(String::new, |said| format!("{}/{}", said.status, said.reason))
}

async fn edit(world: &World, spec: Value) {
    let _: CAPTControlPlane = world.patch("blue", json!({"spec": spec})).await;
}

/// A cluster that serves, of which Terraform takes twenty seconds for each change.
async fn serving() -> World {
    let world = World::embedded_only().await;
    start_controllers(&world, &Setting::default());
    start_simulation(&world);
    bring_templates(&world).await;
    write_cluster(&world, "blue").await;
    let is_ready = async || status(&world).await.state == Some(State::Ready);
    world.until("the cluster", is_ready).await;
    let slow =
        json!({"metadata": {"annotations": {"infrastructure.cluster.x-k8s.io/simulate-seconds": "20"}}});
    let _: WorkspaceTemplateApply = world.patch(APPLY, slow).await;
    world.settle().await;
    world
}

/// How often the Workspace was changed.
async fn generation(world: &World) -> Option<i64> {
    let apply: WorkspaceTemplateApply = world.api().get(APPLY).await.unwrap();
    let name = apply.status.unwrap().workspace_name.unwrap();
    let workspace: Workspace = world.api().get(&name).await.unwrap();
    workspace.metadata.generation
}

/// How each update ended, and what it was.
async fn updates(world: &World) -> Vec<String> {
    let history = status(world).await.progress.unwrap().history.unwrap();
    let updates = history.iter().filter(|record| record.operation == "Update");
    updates
        .map(|record| {
            let message = record.message.as_deref().unwrap_or_default();
            format!("{:?} {message}", record.result)
        })
        .collect()
}

async fn last_operation(world: &World) -> (String, Option<OperationResult>) {
    let history = status(world).await.progress.unwrap().history.unwrap();
    let last = history.last().unwrap().clone();
    (last.operation, last.result)
}

#[tokio::test]
async fn a_version_that_is_being_gone_to_is_reached_and_then_refused_once() {
    let world = serving().await;
    edit(&world, json!({"version": "1.32"})).await;
    world.advance(Duration::from_secs(5)).await;
    assert_eq!(status(&world).await.state, Some(State::Provisioning));
    edit(&world, json!({"version": "1.31"})).await;
    world.advance(Duration::from_secs(2)).await;
    assert_eq!(says(&world, "RollingOut").await, "True/RollingOut");
    world.advance(Duration::from_secs(300)).await;
    assert_eq!(says(&world, "Ready").await, "True/VersionTooLow");
    assert_eq!(status(&world).await.version.as_deref(), Some("1.32"));
    let update = ("Update".to_owned(), Some(OperationResult::Succeeded));
    assert_eq!(last_operation(&world).await, update);
    let before = generation(&world).await;
    world.advance(Duration::from_secs(600)).await;
    assert_eq!(generation(&world).await, before, "nothing goes to and fro");
    edit(&world, json!({"version": "1.32"})).await;
    let is_ready = async || status(&world).await.state == Some(State::Ready);
    world.until("the version to be right again", is_ready).await;
    world.finish().await;
}

#[tokio::test]
async fn a_change_that_is_taken_back_is_under_way_until_it_is_undone() {
    let world = serving().await;
    edit(&world, json!({"additionalTags": {"team": "blue"}})).await;
    world.advance(Duration::from_secs(5)).await;
    assert_eq!(says(&world, "RollingOut").await, "True/RollingOut");
    edit(&world, json!({"additionalTags": null})).await;
    // One apply comes to its end, and the next one begins.
    for _ in 0..4 {
        world.advance(Duration::from_secs(5)).await;
        assert_eq!(says(&world, "RollingOut").await, "True/RollingOut");
        assert_eq!(status(&world).await.state, Some(State::Provisioning));
    }
    let is_ready = async || status(&world).await.state == Some(State::Ready);
    world.until("everything to be as it was", is_ready).await;
    let update = ("Update".to_owned(), Some(OperationResult::Cancelled));
    assert_eq!(last_operation(&world).await, update);
    world.finish().await;
}

#[tokio::test]
async fn an_upgrade_that_is_paused_between_two_steps_is_one_update() {
    let world = serving().await;
    edit(&world, json!({"version": "1.33"})).await;
    world.advance(Duration::from_secs(5)).await;
    let apply: WorkspaceTemplateApply = world.api().get(APPLY).await.unwrap();
    let workspace = apply.status.unwrap().workspace_name.unwrap();
    let pause = |paused: Value| json!({"metadata": {"annotations": {CROSSPLANE_PAUSED: paused}}});
    let _: Workspace = world.patch(&workspace, pause(json!("true"))).await;
    world.advance(Duration::from_secs(60)).await;
    assert_eq!(status(&world).await.version.as_deref(), Some("1.32"));
    assert_eq!(updates(&world).await, ["None from 1.31 to 1.33"]);
    let _: Workspace = world.patch(&workspace, pause(Value::Null)).await;
    world.advance(Duration::from_secs(120)).await;
    assert_eq!(status(&world).await.version.as_deref(), Some("1.33"));
    assert_eq!(updates(&world).await, ["Some(Succeeded) from 1.31 to 1.33"]);
    world.finish().await;
}

#[tokio::test]
async fn an_upgrade_that_is_taken_back_on_its_way_tells_how_far_it_came() {
    let world = serving().await;
    edit(&world, json!({"version": "1.33"})).await;
    world.advance(Duration::from_secs(5)).await;
    edit(&world, json!({"version": "1.31"})).await;
    world.advance(Duration::from_secs(300)).await;
    assert_eq!(says(&world, "Ready").await, "True/VersionTooLow");
    assert_eq!(updates(&world).await, ["Some(Succeeded) from 1.31 to 1.32"]);
    edit(&world, json!({"version": "1.32"})).await;
    let is_ready = async || status(&world).await.state == Some(State::Ready);
    world.until("the version to be right again", is_ready).await;
    // And one that is lowered below what it came to while it is paused.
    edit(&world, json!({"version": "1.35"})).await;
    let has_come = async || status(&world).await.version.as_deref() == Some("1.33");
    world.until("a step to be done", has_come).await;
    world.advance(Duration::from_secs(5)).await;
    let pause = |value: Value| json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": value}}});
    let _: CAPTControlPlane = world.patch("blue", pause(json!("true"))).await;
    world.advance(Duration::from_secs(60)).await;
    edit(&world, json!({"version": "1.33"})).await;
    let _: CAPTControlPlane = world.patch("blue", pause(Value::Null)).await;
    world.advance(Duration::from_secs(300)).await;
    assert_eq!(status(&world).await.version.as_deref(), Some("1.34"));
    assert_eq!(
        updates(&world).await,
        [
            "Some(Succeeded) from 1.31 to 1.32",
            "Some(Succeeded) from 1.32 to 1.34"
        ]
    );
    world.finish().await;
}

#[tokio::test]
async fn a_change_that_is_taken_back_before_a_pause_ends_waits_for_nothing() {
    let world = serving().await;
    let pause = |value: Value| json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": value}}});
    let _: WorkspaceTemplateApply = world.patch(APPLY, pause(json!("true"))).await;
    world.settle().await;
    assert_eq!(status(&world).await.state, Some(State::Ready));
    edit(&world, json!({"additionalTags": {"team": "blue"}})).await;
    world.advance(Duration::from_secs(5)).await;
    assert_eq!(says(&world, "Ready").await, "True/Paused");
    edit(&world, json!({"additionalTags": null})).await;
    world.advance(Duration::from_secs(5)).await;
    assert_eq!(status(&world).await.state, Some(State::Ready));
    assert_eq!(says(&world, "Ready").await, "True/Ready");
    let _: WorkspaceTemplateApply = world.patch(APPLY, pause(Value::Null)).await;
    world.advance(Duration::from_secs(120)).await;
    assert_eq!(status(&world).await.state, Some(State::Ready));
    assert!(updates(&world).await.is_empty(), "nothing came of it");
    world.finish().await;
}
