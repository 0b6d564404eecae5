//! What comes back, with its state.

use anyhow::ensure;
use capt_api::marks;
use serde_json::json;

use super::super::kinds::{APPLY, WORKSPACE};
use super::super::stage::{Stage, says};
use super::super::story::{NAME, Story};

pub(super) async fn deleted_by_hand(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "by-hand").await?;
    story.apply(&[], json!({})).await?;
    story.ready().await?;
    let before = story.workspace().await?;
    let name = story.workspace_name().await?;
    stage.objects.delete(WORKSPACE, "by-hand", &name).await?;
    let after = story
        .until_workspace("another one is ready in its place", |workspace| {
            workspace["metadata"]["uid"] != before["metadata"]["uid"]
                && says(workspace, "Ready", "True/Available")
                && says(workspace, "Synced", "True/ReconcileSuccess")
        })
        .await?;
    ensure!(
        after["status"]["atProvider"]["outputs"] == before["status"]["atProvider"]["outputs"],
        "it came back without its state"
    );
    story.ledger.holds_one()?;
    story.ready().await?;
    story.end().await?;
    ensure!(
        story.ledger.gone()?.len() == 1,
        "what came back was not destroyed in the end"
    );
    Ok(())
}

pub(super) async fn retained(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "retained").await?;
    story
        .apply(&[], json!({"spec": {"retainWorkspaceOnDelete": true}}))
        .await?;
    story.ready().await?;
    let before = story.workspace().await?;
    let name = story.workspace_name().await?;
    story.end().await?;
    let kept = stage
        .objects
        .until(
            WORKSPACE,
            "retained",
            &name,
            "it is marked as kept",
            |workspace| workspace["metadata"]["annotations"][marks::RETAINED].is_string(),
        )
        .await?;
    ensure!(
        kept["metadata"]["uid"] == before["metadata"]["uid"],
        "it was made again"
    );
    ensure!(
        kept["metadata"]["labels"][marks::WTA_NAME].is_null(),
        "it still says whose it is"
    );
    ensure!(story.state().await?.is_some(), "the state is gone");
    story.ledger.holds_one()?;

    story.apply(&[], json!({})).await?;
    story
        .until("it is not taken back without consent", |wta| {
            says(wta, "Applied", "False/WorkspaceRetained")
        })
        .await?;
    story.annotate(marks::ADOPT_RETAINED, &name).await?;
    story.ready().await?;
    story.ledger.holds_one()?;
    stage.objects.delete(APPLY, "retained", NAME).await?;
    stage.objects.until_gone(APPLY, "retained", NAME).await?;
    ensure!(
        story.ledger.gone()?.len() == 1,
        "what was taken back was not destroyed"
    );
    Ok(())
}
