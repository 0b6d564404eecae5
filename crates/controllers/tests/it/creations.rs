//! How a creation that did not succeed at once is told in the history of a control plane, with our own runner.

use std::time::Duration;

use capt_api::{
    CAPTControlPlane, WorkspaceTemplate,
    captcontrolplane::{CAPTControlPlaneStatus, ControlPlaneState as State, OperationResult},
};
use capt_testkit::World;
use k8s_openapi::api::core::v1::Secret;
use serde_json::json;

use crate::{
    costs::{bring_templates, start_simulation, write_cluster},
    stage::{Setting, User as _, start_controllers},
};

async fn status(world: &World) -> CAPTControlPlaneStatus {
    let plane: CAPTControlPlane = world.api().get("blue").await.unwrap();
    plane.status.unwrap_or_default()
}

/// How each creation ended.
async fn creations(world: &World) -> Vec<OperationResult> {
    let history = status(world).await.progress.unwrap().history.unwrap();
    let creations = history.iter().filter(|record| record.operation == "Create");
    creations.filter_map(|record| record.result).collect()
}

#[tokio::test]
async fn a_creation_that_an_input_was_missing_for_succeeds_in_the_end() {
    let world = World::embedded_only().await;
    start_controllers(&world, &Setting::default());
    start_simulation(&world);
    bring_templates(&world).await;
    let env = json!([{"name": "TOKEN", "secretKeyRef": {"name": "cloud", "key": "token"}}]);
    let inputs = json!({"spec": {"template": {"spec": {"forProvider": {"env": env}}}}});
    let _: WorkspaceTemplate = world.patch("eks", inputs).await;
    write_cluster(&world, "blue").await;
    let has_failed = async || status(&world).await.state == Some(State::Failed);
    world.until("the input to be missed", has_failed).await;
    world.advance(Duration::from_secs(600)).await;
    let input = json!({"metadata": {"name": "cloud"}, "stringData": {"token": "hidden-value"}});
    let _: Secret = world.create(input).await;
    let is_ready = async || status(&world).await.state == Some(State::Ready);
    world.until("the cluster", is_ready).await;
    assert_eq!(
        creations(&world).await,
        [OperationResult::Failed, OperationResult::Succeeded]
    );
    world.finish().await;
}
