//! Pausing, and the proof that nothing runs.

use std::pin::pin;

use anyhow::ensure;
use capt_api::foreign::marks as foreign_marks;
use futures::StreamExt as _;
use kube::runtime::watcher;
use serde_json::{Value, json};

use super::super::kinds::WORKSPACE;
use super::super::stage::{Stage, says, until_true};
use super::super::story::Story;
use crate::objects::condition;

fn is_at_rest(workspace: &Value) -> bool {
    workspace["spec"]["managementPolicies"] == json!([])
        && says(workspace, "Synced", "False/ReconcilePaused")
        && condition(workspace, "Synced")
            .is_some_and(|synced| synced["observedGeneration"] == workspace["metadata"]["generation"])
}

pub(super) async fn proof_of_rest(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "pausing").await?;
    story.apply(&[], json!({})).await?;
    story.ready().await?;
    story.annotate(foreign_marks::PAUSED, "true").await?;
    story
        .until("it is paused", |wta| says(wta, "Paused", "True/Paused"))
        .await?;
    let resting = story.workspace().await?;
    ensure!(
        is_at_rest(&resting),
        "it says that it rests, but the runner does not"
    );

    story.set("colour", "blue").await?;
    let generation = resting["metadata"]["generation"].clone();
    story
        .change(json!({"metadata": {"annotations": {(foreign_marks::PAUSED): null}}}))
        .await?;
    story.ready_with("colour", "blue").await?;
    let after = story.workspace().await?;
    ensure!(
        after["metadata"]["generation"] != generation,
        "the change was not written"
    );
    story.ledger.holds_one()?;
    story.end().await
}

pub(super) async fn during_a_creation(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "mid-creation").await?;
    story.apply(&[("seconds", "5")], json!({})).await?;
    let name = story.workspace_name().await?;
    until_true("the creation runs", || Ok(!story.ledger.made()?.is_empty())).await?;
    story.annotate(foreign_marks::PAUSED, "true").await?;

    // Every version of the Workspace is looked at until it rests.
    let watching = async {
        let mut seen = pin!(watcher::watch_object(
            stage.objects.api(WORKSPACE, "mid-creation"),
            &name
        ));
        while let Some(object) = seen.next().await {
            let Ok(Some(object)) = object else { continue };
            let object = serde_json::to_value(object)?;
            let policies = object["spec"]["managementPolicies"].to_string();
            ensure!(
                !policies.contains('*') && !policies.contains("Delete"),
                "the Workspace holds the grant to destroy: {policies}"
            );
            if is_at_rest(&object) {
                return Ok(());
            }
        }
        Ok(())
    };
    let paused = story.until("it is paused", |wta| says(wta, "Paused", "True/Paused"));
    tokio::try_join!(watching, async { paused.await.map(drop) })?;
    story.ledger.holds_one()?;
    story
        .change(json!({"metadata": {"annotations": {(foreign_marks::PAUSED): null}}}))
        .await?;
    story.ready().await?;
    story.ledger.holds_one()?;
    story.end().await
}
