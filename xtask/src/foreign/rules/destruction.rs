//! What destroys, and what does not.

use anyhow::{Context, ensure};
use capt_api::marks;
use serde_json::json;

use super::super::kinds::{APPLY, CONFIG, NAMESPACE, SECRET, TEMPLATE, WORKSPACE};
use super::super::stage::{Stage, says};
use super::super::story::{NAME, Story};

pub(super) async fn deletion_destroys(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "destroyed").await?;
    story.apply(&[], json!({})).await?;
    story.ready().await?;
    let state = story.state().await?.context("there is no state")?;
    let secret = state["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    stage
        .objects
        .until(SECRET, "destroyed", &secret, "state is held", |secret| {
            let finalizers = secret["metadata"]["finalizers"].as_array();
            finalizers.is_some_and(|all| all.iter().any(|name| name == marks::TERRAFORM_STATE_FINALIZER))
        })
        .await?;
    story.end().await?;
    ensure!(
        story.ledger.gone()? == story.ledger.made()?,
        "what was made is not what was destroyed"
    );
    ensure!(
        stage.objects.list(WORKSPACE, "destroyed").await?.is_empty(),
        "the Workspace is still there"
    );
    stage.objects.until_gone(SECRET, "destroyed", &secret).await
}

pub(super) async fn orphaning_template(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "orphaning").await?;
    let policies = json!(["Observe", "Create", "Update", "LateInitialize"]);
    let patch = json!({"spec": {"template": {"spec": {"managementPolicies": policies}}}});
    stage.objects.change(TEMPLATE, "orphaning", NAME, &patch).await?;
    story.apply(&[], json!({})).await?;
    story.ready().await?;
    story.end().await?;
    ensure!(
        !stage.objects.list(WORKSPACE, "orphaning").await?.is_empty(),
        "the Workspace is gone"
    );
    story.ledger.holds_one()
}

pub(super) async fn namespace_deletion(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "namespace").await?;
    story.apply(&[], json!({})).await?;
    story.ready().await?;
    let state = story.state().await?.context("there is no state")?;
    let secret = state["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    stage
        .objects
        .until(SECRET, "namespace", &secret, "state is held", |secret| {
            secret["metadata"]["finalizers"].is_array()
        })
        .await?;
    stage.objects.delete(NAMESPACE, "", "namespace").await?;
    story
        .until("it says why it stays", |wta| {
            says(wta, "Deleting", "True/NamespaceTerminating")
        })
        .await?;
    let name = story.workspace_name().await?;
    stage.objects.until_gone(WORKSPACE, "namespace", &name).await?;
    let held = stage.objects.get(SECRET, "namespace", &secret).await?;
    ensure!(held.is_some(), "the state went with the namespace");
    story.ledger.holds_one()?;

    // The way out that it tells.
    story
        .change(json!({"spec": {"retainWorkspaceOnDelete": true}}))
        .await?;
    let release = json!({"metadata": {"finalizers": null}});
    stage
        .objects
        .change(SECRET, "namespace", &secret, &release)
        .await?;
    stage.objects.until_gone(APPLY, "namespace", NAME).await?;
    // provider-terraform does not let go of its configuration once the namespace is going, and takes hold of it again
    // until it is deleted itself.
    for _ in 0..120 {
        if stage.objects.get(CONFIG, "namespace", "default").await?.is_none() {
            break;
        }
        // It may be gone by now.
        let _ = stage
            .objects
            .change(CONFIG, "namespace", "default", &release)
            .await;
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
    stage.objects.until_gone(NAMESPACE, "", "namespace").await?;
    story.ledger.holds_one()
}
