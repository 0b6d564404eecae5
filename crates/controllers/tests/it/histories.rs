//! How what did not succeed at once is told in the history of a control plane, with our own runner.

use std::time::Duration;

use capt_api::{
    CAPTControlPlane, WorkspaceTemplate,
    captcontrolplane::{CAPTControlPlaneStatus, ControlPlaneState as State, OperationResult},
    conditions::find_condition,
};
use capt_testkit::World;
use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::Condition};
use kube::{Api, api::DeleteParams};
use serde_json::json;

use crate::{
    costs::{bring_templates, start_simulation, write_cluster, write_control_plane, write_network},
    network::NetworkUser as _,
    stage::{Setting, User as _, start_controllers},
};

async fn status(world: &World) -> CAPTControlPlaneStatus {
    let plane: CAPTControlPlane = world.api().get("blue").await.unwrap();
    plane.status.unwrap_or_default()
}

/// How each operation of a sort ended.
async fn results(world: &World, operation: &str) -> Vec<OperationResult> {
    let history = status(world).await.progress.unwrap().history.unwrap();
    let records = history.iter().filter(|record| record.operation == operation);
    records.filter_map(|record| record.result).collect()
}

async fn says(world: &World, type_: &str) -> Condition {
    let conditions = status(world).await.conditions.unwrap_or_default();
    find_condition(&conditions, type_).cloned().unwrap()
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
    let _: Secret = world.create(input.clone()).await;
    let is_ready = async || status(&world).await.state == Some(State::Ready);
    world.until("the cluster", is_ready).await;
    let both = [OperationResult::Failed, OperationResult::Succeeded];
    assert_eq!(results(&world, "Create").await, both);
    // A change of what serves is told likewise.
    let secrets: Api<Secret> = world.api();
    secrets.delete("cloud", &DeleteParams::default()).await.unwrap();
    let tags = json!({"spec": {"additionalTags": {"team": "blue"}}});
    let _: CAPTControlPlane = world.patch("blue", tags).await;
    world
        .until("the input to be missed again", async || {
            let ready = says(&world, "Ready").await;
            ready.reason == "UpdateFailed"
                && ready.message.contains("It goes on by itself when that is there")
        })
        .await;
    world.settle().await;
    let _: Secret = world.create(input).await;
    world.until("the change", is_ready).await;
    assert_eq!(results(&world, "Update").await, both);
    world.finish().await;
}

#[tokio::test]
async fn a_creation_that_fails_at_once_is_told_all_the_same() {
    let world = World::embedded_only().await;
    start_controllers(&world, &Setting::default());
    start_simulation(&world);
    bring_templates(&world).await;
    let module =
        "variable \"simulate_fail\" {\n  default = \"plan\"\n}\nresource \"terraform_data\" \"it\" {\n}\n";
    let fields = json!({"source": "Inline", "module": module, "vars": null});
    let failing = json!({"spec": {"template": {"spec": {"forProvider": fields}}}});
    let _: WorkspaceTemplate = world.patch("eks", failing).await;
    write_network(&world, "blue").await;
    world.until_network_says("blue", "Ready", "True/VPCCreated").await;
    world.settle().await;
    write_control_plane(&world, "blue").await;
    let has_failed = async || status(&world).await.state == Some(State::Failed);
    world.until("the creation to fail", has_failed).await;
    world.settle().await;
    assert_eq!(results(&world, "Create").await, [OperationResult::Failed]);
    world.finish().await;
}
