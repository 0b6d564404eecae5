//! What an operator types.

use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::story::Story;
use crate::ours::{self, Profile};

/// Looks at what waits for an approval, and approves exactly that.
pub(super) async fn approve(story: &Story<'_>, apply: &str) -> anyhow::Result<()> {
    let target = format!("wtapply/{apply}");
    let shown = capt(story, &["approve", &target, "--output", "json"]).await?;
    let shown: Value = serde_json::from_str(&shown).context("reading what waits for an approval")?;
    let id = shown["id"].as_str();
    let id = id.with_context(|| format!("nothing of {target} waits for an approval: {shown}"))?;
    capt(story, &["approve", &target, "--plan", id]).await?;
    Ok(())
}

/// Runs `capt` in the namespace of a story, and gives what it prints.
async fn capt(story: &Story<'_>, arguments: &[&str]) -> anyhow::Result<String> {
    let output = tokio::process::Command::new(ours::binary(Profile::Debug))
        .args(arguments)
        .args(["--namespace", &story.namespace])
        .env("KUBECONFIG", story.side.kubeconfig())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("running capt")?;
    ensure!(
        output.status.success(),
        "`capt {}` failed: {}{}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
