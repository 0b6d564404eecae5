//! What people get wrong, or do to objects that are not theirs: it is said which field it is and what to do, nothing is
//! destroyed, and it is well again when the mistake is mended.

use capt_api::{CAPTCluster, WorkspaceTemplate, conditions::find_condition, foreign::Cluster, marks};
use capt_testkit::{Calls, Fault, Times};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

use crate::{
    network::{NetworkUser as _, cluster, existing_network, made_network},
    runner::Obstacle,
    stage::{CAPT, Setting, Stage, User as _, start_controllers, template},
};

async fn message(stage: &Stage, name: &str, type_: &str) -> String {
    let status = stage.network(name).await.unwrap().status.unwrap();
    let conditions = status.conditions.unwrap_or_default();
    find_condition(&conditions, type_).unwrap().message.clone()
}

/// Waits for an event, which is written after what it is about.
async fn until_warned(stage: &Stage, name: &str, reason: &str, words: &str) {
    let begin = format!("Warning {reason}: ");
    stage
        .until(&format!("{name} to be warned of {reason}"), async || {
            let events = stage.told_about("CAPTCluster", name).await;
            let is_told = |event: &String| event.starts_with(&begin) && event.contains(words);
            events.iter().any(is_told)
        })
        .await;
}

#[tokio::test]
async fn a_template_that_is_not_there_is_named_and_waited_for() {
    let stage = Stage::new().await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage
        .until_network_says("blue", "VPCReady", "False/WorkspaceTemplateNotFound")
        .await;
    let said = message(&stage, "blue", "VPCReady").await;
    assert!(said.contains("spec.vpcTemplateRef"), "{said}");
    until_warned(&stage, "blue", "WorkspaceTemplateNotFound", "spec.vpcTemplateRef").await;
    let _: WorkspaceTemplate = stage.create(template("net", "small")).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.world.finish().await;
}

#[tokio::test]
async fn an_output_of_the_wrong_type_is_named() {
    let stage = Stage::embedded().await;
    stage.ledger.obstruct(Some(Obstacle::WrongOutputs));
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage
        .until_network_says("blue", "VPCFailed", "True/OutputInvalid")
        .await;
    let said = message(&stage, "blue", "VPCFailed").await;
    assert!(said.contains("output vpc_id is a number"), "{said}");
    until_warned(&stage, "blue", "OutputInvalid", "output vpc_id is a number").await;
    stage.ledger.obstruct(None);
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.world.finish().await;
}

/// The next look finds the Secret that this one wrote.
#[tokio::test]
async fn that_a_secret_was_deleted_is_told_although_the_status_cannot_be_written() {
    let stage = Stage::new().await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(existing_network("blue")).await;
    stage
        .until_network_says("blue", "Ready", "True/ExistingVPCUsed")
        .await;
    stage.settle().await;
    stage.world.stop(CAPT);
    let secrets: Api<Secret> = stage.api();
    let gone = DeleteParams::default();
    secrets.delete("blue-vpc-connection", &gone).await.unwrap();
    let networks: Api<CAPTCluster> = stage.api();
    let by_hand = Patch::Merge(json!({"status": {"vpcId": "vpc-by-hand"}}));
    networks
        .patch_status("blue", &PatchParams::default(), &by_hand)
        .await
        .unwrap();
    let status = Calls::by(CAPT).writes().resource("captclusters/status");
    stage.faults().inject(status, Times::Once, Fault::fail(409));
    start_controllers(&stage.world, &Setting::default());
    stage.settle().await;
    let events = stage.told_about("CAPTCluster", "blue").await;
    let told = events.iter().filter(|event| event.contains("SecretRestored"));
    assert_eq!(told.count(), 1, "{events:#?}");
    let status = stage.network("blue").await.unwrap().status.unwrap();
    assert_eq!(status.vpc_id.as_deref(), Some("vpc-0a1b2c"));
    stage.world.finish().await;
}

/// The name of the Cluster is what modules hear, whatever our objects are called.
#[tokio::test]
async fn a_cluster_of_another_name_gives_its_own() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    let mut prod = cluster("prod");
    prod["spec"]["infrastructureRef"]["name"] = json!("net-x7k2p");
    let _: Cluster = stage.create(prod).await;
    let _: CAPTCluster = stage.create(made_network("net-x7k2p")).await;
    stage
        .until_network_says("net-x7k2p", "Ready", "True/VPCCreated")
        .await;
    let apply = stage.apply("net-x7k2p-vpc").await.unwrap();
    assert_eq!(apply.spec.variables.unwrap()["cluster_name"], "prod");
    stage.delete_cluster("prod").await;
    stage.until_cluster_is_gone("prod").await;
    assert!(stage.ledger.exists().is_empty());
    stage.world.finish().await;
}

#[tokio::test]
async fn what_belongs_to_another_network_is_not_taken() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    let _: Cluster = stage.create(cluster("red")).await;
    let mut greedy = made_network("red");
    greedy["spec"]["workspaceTemplateApplyName"] = json!("blue-vpc");
    let _: CAPTCluster = stage.create(greedy).await;
    stage
        .until_network_says("red", "VPCFailed", "True/WorkspaceNotOurs")
        .await;
    let said = message(&stage, "red", "VPCFailed").await;
    assert!(said.contains("spec.workspaceTemplateApplyName"), "{said}");
    until_warned(
        &stage,
        "red",
        "WorkspaceNotOurs",
        "spec.workspaceTemplateApplyName",
    )
    .await;
    stage.delete_cluster("red").await;
    stage.until_cluster_is_gone("red").await;
    assert_eq!(stage.network_says("blue", "Ready").await, "True/VPCCreated");
    assert_eq!(stage.ledger.exists().len(), 1);
    stage.world.finish().await;
}

#[tokio::test]
async fn two_clusters_do_not_share_a_network() {
    let stage = Stage::new().await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(existing_network("blue")).await;
    stage
        .until_network_says("blue", "Ready", "True/ExistingVPCUsed")
        .await;
    let mut second = cluster("red");
    second["spec"]["infrastructureRef"]["name"] = json!("blue");
    let _: Cluster = stage.create(second).await;
    stage
        .until_cluster_says("red", "InfrastructureReady", "False/OwnedByAnotherCluster")
        .await;
    stage.delete_cluster("red").await;
    stage.until_cluster_is_gone("red").await;
    let network = stage.network("blue").await.unwrap();
    assert!(network.metadata.deletion_timestamp.is_none());
    assert_eq!(network.owner_references()[0].name, "blue");
    stage.world.finish().await;
}

#[tokio::test]
async fn a_status_that_somebody_edits_is_put_right() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    let before = stage.network("blue").await.unwrap().status.unwrap();
    let api: Api<CAPTCluster> = stage.api();
    for edit in [
        json!({"status": {"ready": false, "vpcId": "vpc-by-hand"}}),
        json!({"status": {"initialization": null, "failureReason": "Fate", "failureDomains": null}}),
        json!({"status": {"conditions": [], "workspaceTemplateStatus": null}}),
    ] {
        api.patch_status("blue", &PatchParams::default(), &Patch::Merge(&edit))
            .await
            .unwrap();
        stage.settle().await;
        let mut after = stage.network("blue").await.unwrap().status.unwrap();
        // What was said anew was said at another time.
        let times = before.conditions.iter().flatten();
        for (condition, old) in after.conditions.iter_mut().flatten().zip(times) {
            condition.last_transition_time = old.last_transition_time.clone();
        }
        assert_eq!(after, before, "{edit}");
    }
    assert_eq!(stage.ledger.made().len(), 1);
    stage.world.finish().await;
}

#[tokio::test]
async fn a_person_asks_for_another_try() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    let trouble = "Error: AccessDenied: not authorized to perform ec2:CreateVpc";
    stage.ledger.obstruct(Some(Obstacle::Trouble(trouble)));
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage
        .until_network_says("blue", "VPCFailed", "True/VPCCreationFailed")
        .await;
    let request = json!({"metadata": {"annotations": {marks::RETRY_REQUESTED: "now"}}});
    let _: CAPTCluster = stage.patch("blue", request).await;
    stage.settle().await;
    let apply = stage.apply("blue-vpc").await.unwrap();
    assert_eq!(apply.annotations()[marks::RETRY_REQUESTED], "now");
    let network = stage.network("blue").await.unwrap();
    assert!(!network.annotations().contains_key(marks::RETRY_REQUESTED));
    stage.world.finish().await;
}
