//! T4: whatever is written into renderings, templates, annotations and Workspaces, no Secret of another namespace is read, and
//! none is written there.

use anyhow::{Context, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::marks;
use capt_core::names;
use capt_core::wta::kept::{KEY, Kept};
use serde_json::{Value, json};

use super::super::kinds::{APPLY, CLUSTER_WORKSPACE, SECRET, TEMPLATE, WORKSPACE};
use super::super::stage::{ATTACKER, Stage, VICTIM, VICTIM_SECRET};
use super::super::tenant::is_run;

/// A module that gives what it reads from its environment.
const READER: &str = r#"
variable "value" { type = string }
resource "terraform_data" "value" { input = var.value }
output "value" { value = terraform_data.value.output }
"#;
const OWN: &str = "value-of-the-attackers-own";

pub(super) async fn play(stage: &Stage) -> anyhow::Result<()> {
    let attacker = &stage.attacker;
    // Both scenes play this in the same namespaces.
    let is_cluster_scoped = stage.is_cluster_scoped();
    let prefix = if is_cluster_scoped { "wide" } else { "near" };
    let named = |name: &str| format!("{prefix}-{name}");
    administrators_read(stage, &named("reader")).await?;
    attacker.secret(&named("value"), json!({"k": OWN})).await?;
    let own = reading(&json!({"name": named("value"), "key": "k"}));
    attacker.template(&named("own"), READER, own).await?;

    // The group of the Workspace is not chosen by an annotation.
    let other = if is_cluster_scoped {
        WORKSPACE
    } else {
        CLUSTER_WORKSPACE
    };
    let chosen = format!("{}/{}", other.group(), named("chosen"));
    let marked = json!({"metadata": {"annotations": {marks::WORKSPACE: chosen}}});
    attacker.apply(&named("chosen"), &named("own"), marked).await?;

    // A template that names another namespace.
    let victims = json!({"namespace": VICTIM, "name": "private", "key": "k"});
    attacker
        .template(&named("direct"), READER, reading(&victims))
        .await?;
    attacker
        .apply(&named("direct"), &named("direct"), json!({}))
        .await?;
    attacker
        .until_condition(APPLY, &named("direct"), "Applied", "False/TemplateInvalid")
        .await?;

    // A Workspace that names one, with the labels of one that the controllers made.
    let mut by_hand = json!({"spec": reading(&victims)});
    by_hand["metadata"] = json!({
        "labels": {marks::WTA_NAMESPACE: VICTIM, marks::WTA_NAME: "prod"},
        "annotations": {marks::LEGACY_OF: format!("{VICTIM}/prod")},
    });
    attacker.workspace(&named("by-hand"), READER, by_hand).await?;
    let words = attacker.until_refused(&named("by-hand"), "InputInvalid").await?;
    ensure!(words.contains("another namespace"), "{words}");

    forge(stage, &named("blue"), &named("own")).await?;

    stage.let_time_pass(&named("after-t4")).await?;
    let namespace = if is_cluster_scoped { ATTACKER } else { "" };
    let chosen = stage.admin.get(other, namespace, &named("chosen")).await?;
    ensure!(chosen.is_none(), "the annotation chose the group of {chosen:?}");
    attacker.check_present(OWN).await?;
    attacker.check_absent(VICTIM_SECRET).await?;
    // Whatever the attacker writes has this value, or its name.
    stage.victim.check_absent(OWN).await?;
    stage.victim.check_absent("-stolen").await?;
    let private = stage.victim.read("private").await?;
    ensure!(
        private["k"] == VICTIM_SECRET,
        "the Secret of the victim is {private:?}"
    );
    Ok(())
}

/// The Secret is there, and the runner reads it for an administrator.
async fn administrators_read(stage: &Stage, name: &str) -> anyhow::Result<()> {
    let mut spec = reading(&json!({"namespace": VICTIM, "name": "private", "key": "k"}));
    spec["forProvider"]["source"] = json!("Inline");
    spec["forProvider"]["module"] = json!(READER);
    spec["writeConnectionSecretToRef"] = json!({"name": format!("{name}-outputs"), "namespace": VICTIM});
    let labels = json!({marks::RUNNER: super::super::stage::RUNNER});
    let workspace = json!({"metadata": {"name": name, "labels": labels}, "spec": spec});
    stage.admin.create(CLUSTER_WORKSPACE, "", workspace).await?;
    stage
        .admin
        .until(CLUSTER_WORKSPACE, "", name, "it is ready", is_run)
        .await?;
    let outputs = stage.victim.read(&format!("{name}-outputs")).await?;
    ensure!(
        outputs.get("value").is_some_and(|value| value == VICTIM_SECRET),
        "an administrator reads {outputs:?}"
    );
    Ok(())
}

/// The attacker writes other namespaces into the Secret with the last rendering of its own WorkspaceTemplateApply, deletes
/// the template, so that this rendering counts.
async fn forge(stage: &Stage, apply: &str, template: &str) -> anyhow::Result<()> {
    let attacker = &stage.attacker;
    attacker.apply(apply, template, json!({})).await?;
    let made = attacker.until_applied(apply).await?;
    let outputs = attacker.read(&format!("{apply}-outputs")).await?;
    ensure!(
        outputs.get("value").is_some_and(|value| value == OWN),
        "the attacker's own Secret is not read: {outputs:?}"
    );
    let secret = names::last_rendering(apply).parted().to_owned();
    let kept = attacker.get(SECRET, &secret).await?;
    let kept = kept.context("there is no Secret with the last rendering")?;
    let packed = STANDARD.decode(kept["data"][KEY].as_str().unwrap_or_default())?;
    let mut forged: Value =
        serde_json::from_str(&Kept::text(&packed).context("the last rendering cannot be read")?)?;
    let victims = json!({"namespace": VICTIM, "name": "private", "key": "k"});
    let spec = &mut forged["rendering"]["spec"];
    crate::objects::merge(spec, reading(&victims));
    spec["writeConnectionSecretToRef"] = json!({"namespace": VICTIM, "name": format!("{apply}-stolen")});
    forged["isLegacy"] = json!(true);
    forged["takenOver"] = json!(true);
    let forged: Kept = serde_json::from_value(forged)?;
    attacker.delete(TEMPLATE, template).await?;
    attacker
        .change(TEMPLATE, template, json!({"metadata": {"finalizers": null}}))
        .await?;
    attacker.until_gone(TEMPLATE, template).await?;
    let data = json!({"data": {KEY: STANDARD.encode(forged.to_bytes())}});
    attacker.change(SECRET, &secret, data).await?;
    attacker
        .until_condition(APPLY, apply, "Applied", "False/OtherNamespace")
        .await?;
    let name = made["status"]["workspaceName"].as_str().unwrap_or_default();
    let (kind, namespace) = if stage.is_cluster_scoped() {
        (CLUSTER_WORKSPACE, "")
    } else {
        (WORKSPACE, ATTACKER)
    };
    let now = stage.admin.get(kind, namespace, name).await?;
    let now = now.context("the Workspace is gone")?;
    ensure!(!now["spec"].to_string().contains(VICTIM), "{now}");
    Ok(())
}

/// A spec of a Workspace that has the value of a Secret as its variable.
fn reading(key: &Value) -> Value {
    json!({"forProvider": {"env": [{"name": "TF_VAR_value", "secretKeyRef": key}]}})
}
