//! provider-terraform is killed, or started in a way that protects nothing.

use anyhow::{Context, ensure};
use capt_api::marks;
use serde_json::{Value, json};

use super::super::kinds::{APPLY, LEASE};
use super::super::stage::{Stage, says, until_true};
use super::super::story::{MODULE, NAME, Story};
use crate::objects::condition;
use crate::provider_terraform::ProviderTerraform;

/// Makes two more things after the first, the last of them slowly.
///
/// Terraform saves state in Secrets only 20 seconds after it saved it last, so that only a slow module has any when it
/// is killed.
const SLOW: &str = r#"
resource "terraform_data" "second" {
  input = terraform_data.thing.id
  provisioner "local-exec" { command = "sleep 21" }
}

resource "terraform_data" "third" {
  input = terraform_data.second.id
  provisioner "local-exec" {
    command = "echo made third >> '${var.ledger}'; test -e '${var.ledger}.hurry' || sleep 300"
  }
}
"#;

/// Frees a lock whose holder was killed, as the message about it says.
async fn unlock(stage: &Stage, namespace: &str) -> anyhow::Result<()> {
    for lease in stage.objects.list(LEASE, namespace).await? {
        if lease["spec"]["holderIdentity"]
            .as_str()
            .is_some_and(|holder| !holder.is_empty())
        {
            let name = lease["metadata"]["name"].as_str().unwrap_or_default();
            stage.objects.delete(LEASE, namespace, name).await?;
        }
    }
    Ok(())
}

fn is_locked(wta: &Value) -> bool {
    condition(wta, "Synced")
        .and_then(|synced| synced["message"].as_str())
        .is_some_and(|message| message.contains("Lock Info:"))
}

pub(super) async fn wedge(stage: &Stage, provider: &mut ProviderTerraform) -> anyhow::Result<()> {
    let story = Story::begin_with(stage, "wedge", &format!("{MODULE}{SLOW}")).await?;
    story.apply(&[], json!({})).await?;
    until_true("the third thing is being made", || {
        Ok(story.ledger.made()?.iter().any(|line| line == "third"))
    })
    .await?;
    let before = story.workspace().await?;
    provider.crash()?;
    std::fs::write(format!("{}.hurry", story.ledger.path()), "")?;
    provider.start_again()?;
    story
        .until("the wedge is seen", |wta| {
            says(wta, "Applied", "False/CreationInterrupted")
        })
        .await?;
    let after = story
        .until_workspace("another one is in its place", |workspace| {
            workspace["metadata"]["uid"] != before["metadata"]["uid"]
        })
        .await?;
    ensure!(
        after["metadata"]["annotations"]["crossplane.io/external-name"]
            == before["metadata"]["annotations"]["crossplane.io/external-name"],
        "it looks for its state elsewhere"
    );
    story.until("it tells who holds the lock", is_locked).await?;
    unlock(stage, "wedge").await?;
    story.annotate(marks::RETRY_REQUESTED, "after-the-crash").await?;
    let wta = story.ready().await?;
    let made = story.ledger.made()?;
    ensure!(
        wta["status"]["outputs"]["id"] == made[0],
        "the first thing was made again: {made:?}"
    );
    story.end().await
}

pub(super) async fn wedge_and_deletion(
    stage: &Stage,
    provider: &mut ProviderTerraform,
) -> anyhow::Result<()> {
    let story = Story::begin(stage, "wedge-deleted").await?;
    story.apply(&[("seconds", "300")], json!({})).await?;
    until_true("the creation runs", || Ok(!story.ledger.made()?.is_empty())).await?;
    provider.crash()?;
    stage.objects.delete(APPLY, "wedge-deleted", NAME).await?;
    provider.start_again()?;
    story
        .until("the wedge is seen", |wta| {
            says(wta, "Deleting", "True/CreationInterrupted")
        })
        .await?;
    story.until("it tells who holds the lock", is_locked).await?;
    unlock(stage, "wedge-deleted").await?;
    stage.objects.until_gone(APPLY, "wedge-deleted", NAME).await
}

pub(super) async fn policies_off(stage: &Stage, provider: &mut ProviderTerraform) -> anyhow::Result<()> {
    provider.stop().await?;
    provider.options().management_policies = false;
    provider.start_again()?;
    let story = Story::begin(stage, "policies-off").await?;
    story.apply(&[], json!({})).await?;
    let wta = story
        .until("it is refused", |wta| {
            says(wta, "Applied", "False/ManagementPoliciesDisabled")
        })
        .await?;
    let applied = condition(&wta, "Applied").context("no condition")?;
    ensure!(
        applied["message"]
            .to_string()
            .contains("--enable-management-policies"),
        "it does not say what to do"
    );
    ensure!(story.ledger.made()?.is_empty(), "something was made");
    provider.stop().await?;
    provider.options().management_policies = true;
    provider.start_again()?;
    story.ready().await?;
    story.end().await
}
