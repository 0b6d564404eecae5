//! Owners, whose mark alone lets infrastructure be destroyed.

use anyhow::{Context, ensure};
use capt_api::marks;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::super::kinds::{APPLY, CLUSTER, WORKSPACE};
use super::super::stage::{Stage, says};
use super::super::story::{NAME, Story};

/// Makes an owner that does nothing by itself, and gives the reference to it.
async fn owner(stage: &Stage, namespace: &str) -> anyhow::Result<Value> {
    let object = json!({
        "metadata": {"name": "owner"},
        "spec": {"region": "eu-central-1", "existingVpcId": "vpc-0123456789abcdef0"},
    });
    let made = stage.objects.create(CLUSTER, namespace, object).await?;
    Ok(json!({"metadata": {"ownerReferences": [{
        "apiVersion": CLUSTER.api_version(), "kind": CLUSTER.name(), "name": "owner",
        "uid": made["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    }]}}))
}

async fn is_untouched(story: &Story<'_>) -> anyhow::Result<()> {
    let workspace = story.workspace().await?;
    ensure!(
        workspace["metadata"]["deletionTimestamp"].is_null(),
        "the Workspace is going away"
    );
    let policies = workspace["spec"]["managementPolicies"].to_string();
    ensure!(
        !policies.contains('*') && !policies.contains("Delete"),
        "the Workspace holds the grant to destroy"
    );
    story.ledger.holds_one()
}

pub(super) async fn foreground_cascade(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "cascade").await?;
    story.apply(&[], owner(stage, "cascade").await?).await?;
    story.ready().await?;
    stage
        .objects
        .delete_with(CLUSTER, "cascade", "owner", &DeleteParams::foreground())
        .await?;
    story
        .until("it waits for its owner", |wta| {
            says(wta, "Deleting", "True/WaitingForOwner")
        })
        .await?;
    is_untouched(&story).await?;
    story.annotate(marks::LET_GO, "true").await?;
    stage.objects.until_gone(APPLY, "cascade", NAME).await?;
    ensure!(
        story.ledger.gone()?.len() == 1,
        "the owner's mark did not let it be destroyed"
    );
    stage.objects.until_gone(CLUSTER, "cascade", "owner").await
}

pub(super) async fn stripped_reference(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "stripped").await?;
    story.apply(&[], owner(stage, "stripped").await?).await?;
    story.ready().await?;
    story
        .until("the owner is recorded", |wta| {
            wta["metadata"]["labels"][marks::OWNER].is_string()
        })
        .await?;
    story
        .change(json!({"metadata": {"ownerReferences": null}}))
        .await?;
    stage.objects.delete(CLUSTER, "stripped", "owner").await?;
    stage.objects.until_gone(CLUSTER, "stripped", "owner").await?;
    stage.objects.delete(APPLY, "stripped", NAME).await?;
    let wta = story
        .until("it says that nobody consented", |wta| {
            says(wta, "Deleting", "True/OwnerGone")
        })
        .await?;
    is_untouched(&story).await?;
    let name = wta["status"]["workspaceName"]
        .as_str()
        .context("no name")?
        .to_owned();
    story
        .change(json!({"spec": {"retainWorkspaceOnDelete": true}}))
        .await?;
    stage.objects.until_gone(APPLY, "stripped", NAME).await?;
    ensure!(
        stage.objects.get(WORKSPACE, "stripped", &name).await?.is_some(),
        "the Workspace went with it"
    );
    story.ledger.holds_one()
}

pub(super) async fn deleted_by_hand(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "owned").await?;
    let reference = owner(stage, "owned").await?;
    story.apply(&[], reference.clone()).await?;
    let before = story.ready().await?;
    let workspace = story.workspace().await?;
    story.end().await?;
    story.ledger.holds_one()?;
    story.apply(&[], reference).await?;
    let after = story.ready().await?;
    ensure!(
        after["status"]["outputs"] == before["status"]["outputs"],
        "it did not find its state"
    );
    ensure!(
        story.workspace().await?["metadata"]["uid"] == workspace["metadata"]["uid"],
        "it did not take its Workspace back"
    );
    is_untouched(&story).await?;
    story.annotate(marks::LET_GO, "true").await?;
    story.end().await?;
    ensure!(
        story.ledger.gone()?.len() == 1,
        "the owner's mark did not let it be destroyed"
    );
    Ok(())
}
