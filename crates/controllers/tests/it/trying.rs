//! What is told while something is tried again: what goes on now, and not what failed before.

use std::time::Duration;

use capt_api::{CAPTCluster, WorkspaceTemplate, WorkspaceTemplateApply, foreign::Cluster, marks};
use capt_testkit::World;
use serde_json::json;

use crate::{
    costs::start_simulation,
    network::{NetworkUser as _, cluster, made_network},
    stage::{Setting, User as _, start_controllers},
};

/// A module that takes so many seconds, and fails then.
fn module(seconds: u32) -> String {
    format!(
        "variable \"simulate_fail\" {{\n  default = \"terraform_data.it\"\n}}\n\
         variable \"simulate_seconds\" {{\n  default = {seconds}\n}}\n\
         resource \"terraform_data\" \"it\" {{\n}}\noutput \"vpc_id\" {{\n  value = \"vpc-1\"\n}}\n"
    )
}

async fn told(world: &World) -> (Option<String>, Option<i32>, Option<String>) {
    let apply: WorkspaceTemplateApply = world.api().get("blue-vpc").await.unwrap();
    let status = apply.status.unwrap();
    let network = world.network("blue").await.unwrap().status.unwrap();
    let report = network.workspace_template_status.unwrap();
    let attempt = status.progress.and_then(|progress| progress.attempt);
    (status.message, attempt, report.last_failure_message)
}

#[tokio::test]
async fn what_failed_before_is_not_told_of_what_is_tried_now() {
    let world = World::embedded_only().await;
    start_controllers(&world, &Setting::default());
    start_simulation(&world);
    let source = |seconds| json!({"forProvider": {"source": "Inline", "module": module(seconds)}});
    let template = json!({
        "metadata": {"name": "vpc"},
        "spec": {"template": {"spec": source(20)}},
    });
    let _: WorkspaceTemplate = world.create(template).await;
    let _: Cluster = world.create(cluster("blue")).await;
    let mut network = made_network("blue");
    network["spec"]["vpcTemplateRef"] = json!({"name": "vpc"});
    let _: CAPTCluster = world.create(network).await;
    let failed = "False/VPCCreationFailed";
    world.until_network_says("blue", "Ready", failed).await;
    world.settle().await;
    for number in [2, 3] {
        let again = json!({"metadata": {"annotations": {marks::RETRY_REQUESTED: number.to_string()}}});
        let _: CAPTCluster = world.patch("blue", again).await;
        world.advance(Duration::from_secs(5)).await;
        assert_eq!(world.network_says("blue", "Ready").await, "False/VPCCreating");
        let (message, attempt, failure) = told(&world).await;
        let message = message.unwrap();
        assert!(
            message.starts_with(&format!("apply, attempt {number}: 0 of 1 resources")),
            "{message}"
        );
        assert_eq!((attempt, failure), (Some(number), None));
        world.until_network_says("blue", "Ready", failed).await;
        world.settle().await;
        let (message, attempt, failure) = told(&world).await;
        assert!(message.unwrap().contains("told to fail"));
        assert!(attempt.is_none() && failure.is_some());
    }
    // Something else is tried for the first time.
    let edit = json!({"spec": {"template": {"spec": source(30)}}});
    let _: WorkspaceTemplate = world.patch("vpc", edit).await;
    world.advance(Duration::from_secs(5)).await;
    let (message, attempt, failure) = told(&world).await;
    assert!(message.unwrap().starts_with("apply: 0 of 1 resources"));
    assert_eq!((attempt, failure), (Some(1), None));
    world.finish().await;
}

#[tokio::test]
async fn a_module_without_any_output_is_not_tried_for_nothing() {
    let world = World::embedded_only().await;
    start_controllers(&world, &Setting::default());
    start_simulation(&world);
    let module = "resource \"terraform_data\" \"it\" {\n}\n";
    let source = json!({"forProvider": {"source": "Inline", "module": module}});
    let template = json!({"metadata": {"name": "vpc"}, "spec": {"template": {"spec": source}}});
    let _: WorkspaceTemplate = world.create(template).await;
    let _: Cluster = world.create(cluster("blue")).await;
    let mut network = made_network("blue");
    network["spec"]["vpcTemplateRef"] = json!({"name": "vpc"});
    let _: CAPTCluster = world.create(network).await;
    world
        .until_network_says("blue", "Ready", "False/OutputInvalid")
        .await;
    world.settle().await;
    let status = world.network("blue").await.unwrap().status.unwrap();
    let told = status.failure_message.unwrap();
    assert!(told.contains("Add output \"vpc_id\" to it"), "{told}");
    world.finish().await;
}
