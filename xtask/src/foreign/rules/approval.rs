//! Changes that wait for a person.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use capt_api::marks;
use serde_json::{Value, json};

use super::super::kinds::TEMPLATE;
use super::super::stage::{Stage, says};
use super::super::story::{self, MODULE, NAME, Story};

/// Waits until a change is held back, and gives the hash that an approval has to name.
async fn held_back(story: &Story<'_>, generation: &Value) -> anyhow::Result<String> {
    let wta = story
        .until("a change is held back", |wta| {
            says(wta, "ApprovalNeeded", "True/DestructiveChange")
                && wta["status"]["pendingRevision"].is_string()
                && wta["status"]["observedGeneration"] == wta["metadata"]["generation"]
        })
        .await?;
    let workspace = story.workspace().await?;
    ensure!(
        workspace["metadata"]["generation"] == *generation,
        "the Workspace was changed without an approval"
    );
    let hash = wta["status"]["pendingRevision"].as_str().unwrap_or_default();
    Ok(hash.to_owned())
}

pub(super) async fn by_rendering(stage: &Stage) -> anyhow::Result<()> {
    let story = Story::begin(stage, "approval").await?;
    story.apply(&[], json!({})).await?;
    story.ready().await?;
    story.set("colour", "blue").await?;
    story.ready_with("colour", "blue").await?;
    story.ledger.holds_one()?;

    // A variable that replaces.
    let generation = story.workspace().await?["metadata"]["generation"].clone();
    story.set("size", "large").await?;
    let hash = held_back(&story, &generation).await?;
    story.annotate(marks::APPROVED, "another-hash").await?;
    held_back(&story, &generation).await?;
    story.ledger.holds_one()?;
    story.annotate(marks::APPROVED, &hash).await?;
    story.ready().await?;
    ensure!(
        story.ledger.made()?.len() == 2 && story.ledger.gone()?.len() == 1,
        "the approved change did not happen"
    );

    // Another module.
    let generation = story.workspace().await?["metadata"]["generation"].clone();
    let module = MODULE.replace("output \"id\"", "output \"identity\"");
    stage
        .objects
        .change(TEMPLATE, "approval", NAME, &story::template(&module))
        .await?;
    let hash = held_back(&story, &generation).await?;
    story.annotate(marks::APPROVED, &hash).await?;
    story
        .until("the new module is applied", |wta| {
            story::is_ready(wta) && wta["status"]["outputs"]["identity"].is_string()
        })
        .await?;
    story.end().await
}

pub(super) async fn pinned_modules(stage: &Stage) -> anyhow::Result<()> {
    let repository = stage.folder.join("module");
    make_repository(&repository)?;
    let address = |reference: &str| format!("git::file://{}{reference}", repository.display());
    let remote = |reference: &str| json!({"spec": {"template": {"spec": {"forProvider": {"source": "Remote", "module": address(reference)}}}}});
    let story = Story::begin(stage, "pinned").await?;
    stage
        .objects
        .change(TEMPLATE, "pinned", NAME, &remote("?ref=main"))
        .await?;
    story.apply(&[], json!({})).await?;
    story.ready().await?;

    story.set("colour", "blue").await?;
    story
        .until("the update is refused", |wta| {
            says(wta, "Applied", "False/ModuleNotPinned")
        })
        .await?;
    let generation = story.workspace().await?["metadata"]["generation"].clone();
    ensure!(generation == 1, "the Workspace was changed");

    stage
        .objects
        .change(TEMPLATE, "pinned", NAME, &remote("?ref=v1"))
        .await?;
    let hash = held_back(&story, &generation).await?;
    story.annotate(marks::APPROVED, &hash).await?;
    story.ready_with("colour", "blue").await?;
    story.ledger.holds_one()?;
    story.end().await
}

/// A repository with the module, and a tag on it.
fn make_repository(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("main.tf"), MODULE)?;
    for arguments in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "main.tf"],
        &["commit", "--quiet", "--message=A module"],
        &["tag", "v1"],
    ] {
        let status = Command::new("git")
            .current_dir(folder)
            .args(["-c", "user.name=xtask", "-c", "user.email=xtask@example.invalid"])
            .args(arguments)
            .status()
            .context("running git")?;
        ensure!(status.success(), "`git {}` failed", arguments.join(" "));
    }
    Ok(())
}
