//! T11: controllers and a runner that are started for one namespace act in no other, and have no rights there.

use anyhow::ensure;
use capt_api::marks;
use serde_json::json;

use super::super::accounts::is_forbidden;
use super::super::kinds::{APPLY, CLUSTER_WORKSPACE, SECRET, WORKSPACE};
use super::super::stage::{ATTACKER, RUNNER, SYSTEM, Stage, VICTIM};
use super::super::tenant::THING;
use crate::e2e::account::{self, Part};
use crate::objects::Objects;
use crate::realkube;

pub(super) async fn play(stage: &Stage) -> anyhow::Result<()> {
    let (attacker, victim) = (&stage.attacker, &stage.victim);
    for part in [Part::Controller, Part::Runner] {
        check_rights(stage, part).await?;
    }
    // The label names the runner of the victim, and others claim that the Workspace is the victim's.
    let labels = json!({"metadata": {"labels": {marks::WTA_NAMESPACE: VICTIM, marks::WTA_NAME: "scoped"}}});
    attacker.workspace("picks", THING, json!({})).await?;
    attacker.workspace("claims", THING, labels).await?;
    attacker.template("scoped", THING, json!({})).await?;
    attacker.apply("scoped", "scoped", json!({})).await?;
    let outside = json!({
        "metadata": {"name": "outside", "labels": {marks::RUNNER: RUNNER}},
        "spec": {"forProvider": {"source": "Inline", "module": THING}},
    });
    stage.admin.create(CLUSTER_WORKSPACE, "", outside).await?;

    // The same begins later in the namespace that they were started for, and ends.
    victim.template("scoped", THING, json!({})).await?;
    victim.apply("scoped", "scoped", json!({})).await?;
    victim.workspace("picks", THING, json!({})).await?;
    victim.until_applied("scoped").await?;
    victim.until_run("picks").await?;
    victim.delete(APPLY, "scoped").await?;
    victim.until_gone(APPLY, "scoped").await?;

    for (kind, namespace, name) in [
        (WORKSPACE, ATTACKER, "picks"),
        (WORKSPACE, ATTACKER, "claims"),
        (APPLY, ATTACKER, "scoped"),
        (CLUSTER_WORKSPACE, "", "outside"),
    ] {
        let object = stage.admin.get(kind, namespace, name).await?.unwrap_or_default();
        let is_untouched = object["metadata"]["uid"].is_string()
            && object["status"].is_null()
            && object["metadata"]["finalizers"].is_null();
        ensure!(is_untouched, "{namespace}/{name} was acted on: {object}");
    }
    Ok(())
}

/// What the account may read.
async fn check_rights(stage: &Stage, part: Part) -> anyhow::Result<()> {
    let place = stage.installation.place();
    let account = part.account();
    let kubeconfig =
        account::kubeconfig_of(&stage.admin, &stage.kubeconfig(), place.namespace, &account).await?;
    let objects = Objects {
        client: realkube::client(&kubeconfig).await?,
    };
    objects.list(SECRET, VICTIM).await?;
    for namespace in [ATTACKER, SYSTEM, "kube-system", ""] {
        let listed = objects.list(SECRET, namespace).await;
        ensure!(is_forbidden(&listed), "{account} lists Secrets in {namespace:?}");
        let workspaces = objects.list(WORKSPACE, namespace).await;
        ensure!(
            is_forbidden(&workspaces),
            "{account} lists Workspaces in {namespace:?}"
        );
    }
    let workspaces = objects.list(CLUSTER_WORKSPACE, "").await;
    ensure!(
        is_forbidden(&workspaces),
        "{account} lists cluster-scoped Workspaces"
    );
    Ok(())
}
