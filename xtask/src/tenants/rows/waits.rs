//! T10: waiting for a Workspace of another namespace holds nothing up without consent, and says nothing of it.

use anyhow::ensure;
use capt_api::marks;
use serde_json::json;

use super::super::kinds::APPLY;
use super::super::stage::{ATTACKER, Stage, VICTIM};
use super::super::tenant::THING;
use crate::objects::condition;

pub(super) async fn play(stage: &Stage) -> anyhow::Result<()> {
    let (attacker, victim) = (&stage.attacker, &stage.victim);
    for tenant in [attacker, victim] {
        tenant.template("awaited", THING, json!({})).await?;
    }
    for name in ["awaited", "shared"] {
        victim.apply(name, "awaited", json!({})).await?;
    }
    victim.until_applied("awaited").await?;
    victim.until_applied("shared").await?;
    victim
        .annotate(APPLY, "shared", marks::SHARED_WITH, ATTACKER)
        .await?;
    for name in ["awaited", "absent", "shared"] {
        let wait = json!({"spec": {"waitForWorkspaces": [{"name": name, "namespace": VICTIM}]}});
        attacker
            .apply(&format!("waits-for-{name}"), "awaited", wait)
            .await?;
    }
    // What is there and what is not look the same.
    let mut words = Vec::new();
    for name in ["awaited", "absent"] {
        let apply = format!("waits-for-{name}");
        let waiting = attacker
            .until_condition(APPLY, &apply, "Waiting", "True/WaitNotShared")
            .await?;
        let waiting = condition(&waiting, "Waiting").cloned().unwrap_or_default();
        words.push(waiting["message"].to_string().replace(name, "NAME"));
    }
    ensure!(words[0] == words[1], "the words tell what is there: {words:?}");
    attacker.until_applied("waits-for-shared").await?;

    for name in ["shared", "awaited"] {
        victim.delete(APPLY, name).await?;
    }
    victim.until_gone(APPLY, "awaited").await?;
    // With consent it is held up.
    victim
        .until_condition(APPLY, "shared", "Deleting", "True/WaitingForDependents")
        .await?;
    attacker.delete(APPLY, "waits-for-shared").await?;
    attacker.until_gone(APPLY, "waits-for-shared").await?;
    victim.until_gone(APPLY, "shared").await
}
