//! D1: the deletion of a CustomResourceDefinition deletes its objects, and destroys nothing that they made.

use anyhow::{Context, ensure};
use capt_api::marks;
use serde_json::{Value, json};

use super::super::kinds::{APPLY, CLUSTER, DEFINITION, NETWORK, WORKSPACE};
use super::super::stage::{Stage, VICTIM};
use super::super::tenant::{THING, Tenant};
use crate::objects::Kind;

/// A network that a module only talks of.
const VPC: &str = r#"
resource "terraform_data" "vpc" { input = "vpc-0a1b2c" }
output "vpc_id" { value = terraform_data.vpc.output }
output "private_subnets" { value = ["subnet-1", "subnet-2"] }
output "availability_zones" { value = ["eu-central-1a", "eu-central-1b"] }
"#;
/// The WorkspaceTemplateApply that makes it.
const VPC_APPLY: &str = "network-vpc";

pub(super) async fn play(stage: &Stage) -> anyhow::Result<()> {
    let victim = &stage.victim;
    victim.template("network", VPC, json!({})).await?;
    let metadata = json!({"name": "network"});
    let network = json!({"region": "eu-central-1", "vpcTemplateRef": {"name": "network"}});
    victim
        .create(NETWORK, json!({"metadata": metadata, "spec": network}))
        .await?;
    let reference = json!({"apiGroup": NETWORK.group(), "kind": NETWORK.name(), "name": "network"});
    let cluster = json!({"metadata": metadata, "spec": {"infrastructureRef": reference}});
    victim.create(CLUSTER, cluster).await?;
    victim.template("lone", THING, json!({})).await?;
    for apply in ["lone", "next"] {
        victim.apply(apply, "lone", json!({})).await?;
    }
    for apply in [VPC_APPLY, "lone", "next"] {
        victim.until_applied(apply).await?;
    }
    owners_are_deleted(stage, victim).await?;
    applies_are_deleted(stage, victim).await
}

/// The definition of CAPTClusters is deleted, and installed anew.
async fn owners_are_deleted(stage: &Stage, victim: &Tenant) -> anyhow::Result<()> {
    let before = [
        infrastructure(victim, VPC_APPLY).await?,
        infrastructure(victim, "lone").await?,
    ];
    delete(stage, NETWORK).await?;
    victim
        .until_condition(NETWORK, "network", "Deleting", "True/CRDTerminating")
        .await?;
    // What is deleted meanwhile is held too, whatever its kind.
    victim.delete(APPLY, "lone").await?;
    victim
        .until_condition(APPLY, "lone", "Deleting", "True/CRDTerminating")
        .await?;
    runner_destroys(stage, "destroyed-meanwhile").await?;
    let now = [
        infrastructure(victim, VPC_APPLY).await?,
        infrastructure(victim, "lone").await?,
    ];
    ensure!(now == before, "the infrastructure was {before:?}, and is {now:?}");
    // The way out keeps it.
    let retain = json!({"spec": {"retainVpcOnDelete": true}});
    victim.change(NETWORK, "network", retain).await?;
    stage
        .admin
        .until_gone(DEFINITION, "", &NETWORK.definition())
        .await?;
    let after = workspace_of(victim, VPC_APPLY).await?;
    let state = state(victim, &after).await?;
    ensure!(state == before[0]["state"], "the state of the network is {state}");
    stage.install_kinds().await?;
    // What was held goes now: a deletion destroys where no definition is terminating.
    victim.until_gone(APPLY, "lone").await
}

/// The definition of WorkspaceTemplateApplies is deleted.
async fn applies_are_deleted(stage: &Stage, victim: &Tenant) -> anyhow::Result<()> {
    let before = infrastructure(victim, "next").await?;
    delete(stage, APPLY).await?;
    victim
        .until_condition(APPLY, "next", "Deleting", "True/CRDTerminating")
        .await?;
    runner_destroys(stage, "destroyed-later").await?;
    let now = infrastructure(victim, "next").await?;
    ensure!(now == before, "the infrastructure was {before}, and is {now}");
    let retain = json!({"spec": {"retainWorkspaceOnDelete": true}});
    let workspace = workspace_of(victim, "next").await?;
    victim.change(APPLY, "next", retain).await?;
    victim.until_gone(APPLY, "next").await?;
    let name = crate::objects::name(&workspace);
    let after = victim.get(WORKSPACE, name).await?;
    let after = after.context("the Workspace went too")?;
    ensure!(
        after["metadata"]["annotations"][marks::RETAINED] == format!("{VICTIM}/next"),
        "the Workspace is not retained: {after}"
    );
    let state = state(victim, &after).await?;
    ensure!(state == before["state"], "its state is {state}");
    Ok(())
}

/// Deletes the definition of a kind.
async fn delete(stage: &Stage, kind: Kind) -> anyhow::Result<()> {
    let name = kind.definition();
    stage.admin.delete(DEFINITION, "", &name).await?;
    stage
        .admin
        .until(DEFINITION, "", &name, "it is terminating", |definition| {
            definition["metadata"]["deletionTimestamp"].is_string()
        })
        .await?;
    Ok(())
}

/// The runner destroys what nothing of capt's kinds is about: the clock by which nothing else happens.
async fn runner_destroys(stage: &Stage, name: &str) -> anyhow::Result<()> {
    let attacker = &stage.attacker;
    attacker.workspace(name, THING, json!({})).await?;
    attacker.until_run(name).await?;
    attacker.delete(WORKSPACE, name).await?;
    attacker.until_gone(WORKSPACE, name).await
}

/// The Workspace of a WorkspaceTemplateApply, by its label.
async fn workspace_of(tenant: &Tenant, apply: &str) -> anyhow::Result<Value> {
    let all = tenant.objects.list(WORKSPACE, &tenant.namespace).await?;
    let found = all.into_iter().find(|one| {
        let metadata = &one["metadata"];
        metadata["labels"][marks::WTA_NAME] == apply
            || metadata["annotations"][marks::RETAINED] == format!("{}/{apply}", tenant.namespace)
    });
    found.with_context(|| format!("{apply} has no Workspace"))
}

/// What exists of a WorkspaceTemplateApply, and whether its Workspace may destroy it.
async fn infrastructure(tenant: &Tenant, apply: &str) -> anyhow::Result<Value> {
    let workspace = workspace_of(tenant, apply).await?;
    let metadata = &workspace["metadata"];
    Ok(json!({
        "uid": metadata["uid"],
        "deleted": metadata["deletionTimestamp"],
        "spec": workspace["spec"],
        "state": state(tenant, &workspace).await?,
    }))
}

async fn state(tenant: &Tenant, workspace: &Value) -> anyhow::Result<Value> {
    let (group, name) = (WORKSPACE.group(), crate::objects::name(workspace));
    tenant
        .state(&format!("{group}/{}/{name}", tenant.namespace))
        .await
}
