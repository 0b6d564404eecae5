//! What is made, what is told about it, and what is refused.

use anyhow::{Context, ensure};
use capt_core::{render::WorkspaceGroup, wta::snapshot::Runner};
use serde_json::json;

use super::super::kinds::{APPLY, CLUSTER_WORKSPACE, CONFIG, SECRET, TEMPLATE, WORKSPACE};
use super::super::stage::{Stage, says};
use super::super::story::{self, NAME, PASSWORD, Story};
use crate::objects::condition;
use crate::provider_terraform::{STATE_SUFFIX, backend};

pub(super) async fn ready_for_this_rendering(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "ready").await?;
    story.apply(&[], json!({})).await?;
    let first = story.ready_with("colour", "red").await?;
    story.ledger.holds_one()?;
    ensure!(
        first["status"]["outputs"]["id"] == story.ledger.made()?[0],
        "the output is not the thing that was made"
    );
    ensure!(
        !first.to_string().contains(PASSWORD),
        "a sensitive output is in the status"
    );
    let secret = stage
        .objects
        .get(SECRET, "ready", "connection")
        .await?
        .context("no connection Secret")?;
    ensure!(
        secret["data"]["password"].is_string(),
        "the connection Secret lacks an output"
    );

    story.set("colour", "blue").await?;
    let second = story.ready_with("colour", "blue").await?;
    ensure!(
        second["status"]["readyRevision"] != first["status"]["readyRevision"],
        "another rendering is ready under the same name"
    );
    story.ledger.holds_one()?;
    story.end().await
}

pub(super) async fn both_groups(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "groups").await?;
    let template = json!({"spec": {"template": {"spec": {"providerConfigRef": {"kind": null}}}}});
    stage.objects.change(TEMPLATE, "groups", NAME, &template).await?;
    stage
        .run_controllers_for(Runner::Foreign, Some(WorkspaceGroup::ClusterScoped))
        .await?;
    story.apply(&[], json!({})).await?;
    let wta = story.ready().await?;
    // What exists keeps its group.
    stage.run_controllers(Runner::Foreign).await?;
    let name = wta["status"]["workspaceName"].as_str().unwrap_or_default();
    let workspace = stage.objects.get(CLUSTER_WORKSPACE, "", name).await?;
    ensure!(
        workspace.is_some(),
        "there is no Workspace in the cluster's group"
    );
    ensure!(
        stage.objects.list(WORKSPACE, "groups").await?.is_empty(),
        "there is one in the other group"
    );
    story.set("colour", "blue").await?;
    story.ready_with("colour", "blue").await?;
    story.ledger.holds_one()?;
    story.end().await?;
    ensure!(story.ledger.gone()?.len() == 1, "it was not destroyed");
    Ok(())
}

pub(super) async fn no_durable_state(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "fleeting").await?;
    let without = json!({"spec": {"configuration": "terraform {}"}});
    stage
        .objects
        .change(CONFIG, "fleeting", "default", &without)
        .await?;
    story.apply(&[], json!({})).await?;
    story
        .until("it is refused", |wta| {
            says(wta, "Applied", "False/NoDurableState")
        })
        .await?;
    ensure!(
        stage.objects.list(WORKSPACE, "fleeting").await?.is_empty(),
        "a Workspace was made"
    );
    let durable = backend(&stage.kubeconfig, "fleeting", STATE_SUFFIX);
    let with = json!({"spec": {"configuration": durable}});
    stage.objects.change(CONFIG, "fleeting", "default", &with).await?;
    story.ready().await?;
    story.end().await
}

pub(super) async fn decoded_messages(stage: &Stage) -> anyhow::Result<()> {
    let module = story::MODULE.replace(
        "{ value = terraform_data.thing.id }",
        "{ value = var.unheard_of }",
    );
    let story = Story::begin_with(stage, "messages", &module).await?;
    story.apply(&[], json!({})).await?;
    // Its Secret may be written to while it begins, which passes and is told too.
    let wrong = "An input variable with the name \"unheard_of\" has not been declared";
    let is_told = |synced: &serde_json::Value| {
        synced["message"]
            .as_str()
            .is_some_and(|message| message.contains(wrong))
    };
    let wta = story
        .until("it says what is wrong", |wta| {
            says(wta, "Synced", "False/ReconcileError") && condition(wta, "Synced").is_some_and(is_told)
        })
        .await?;
    let synced = condition(&wta, "Synced").context("no condition")?;
    let message = synced["message"].as_str().unwrap_or_default();
    ensure!(
        !message.contains("base64"),
        "the message is not decoded: {message}"
    );
    // It is no use to wait for the runner: the template is what has to be mended.
    stage
        .objects
        .change(TEMPLATE, "messages", NAME, &story::template(story::MODULE))
        .await?;
    story.ready().await?;
    story.end().await
}

pub(super) async fn state_location_is_fixed(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "location").await?;
    story.apply(&[], json!({})).await?;
    story.ready().await?;
    let elsewhere = backend(&stage.kubeconfig, "location", "elsewhere");
    let patch = |text: &str| json!({"spec": {"configuration": text}});
    stage
        .objects
        .change(CONFIG, "location", "default", &patch(&elsewhere))
        .await?;
    story
        .until("the change is refused", |wta| {
            says(wta, "Applied", "False/StateLocationChanged")
        })
        .await?;
    story
        .until_workspace("it rests", |workspace| {
            says(workspace, "Synced", "False/ReconcilePaused")
        })
        .await?;
    let back = backend(&stage.kubeconfig, "location", STATE_SUFFIX);
    stage
        .objects
        .change(CONFIG, "location", "default", &patch(&back))
        .await?;
    story.ready().await?;
    story.ledger.holds_one()?;
    stage.objects.delete(APPLY, "location", NAME).await?;
    stage.objects.until_gone(APPLY, "location", NAME).await
}
