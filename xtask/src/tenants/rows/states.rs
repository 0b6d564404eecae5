//! T5: state and locks stay in the namespace, whatever the module, its arguments, its environment and its configuration say.

use anyhow::ensure;
use capt_api::foreign::marks as foreign_marks;
use serde_json::{Value, json};

use super::super::kinds::{APPLY, CONFIG, LEASE, SECRET, WORKSPACE};
use super::super::stage::{ATTACKER, Stage, VICTIM};
use super::super::tenant::{THING, Tenant, has_condition};
use crate::objects::{name, summary};

/// Where an attacker would have its state.
const ELSEWHERE: [&str; 2] = ["kube-system", VICTIM];

pub(super) async fn play(stage: &Stage) -> anyhow::Result<()> {
    let prefix = if stage.is_cluster_scoped() {
        "kept-wide"
    } else {
        "kept"
    };
    let victim = &stage.victim;
    // The victim has state under a name that is known.
    let state = format!("{prefix}-prod");
    let external_name = json!({"metadata": {"annotations": {foreign_marks::EXTERNAL_NAME: state}}});
    let module = format!("{THING}{}", backend(VICTIM));
    victim.workspace(prefix, &module, external_name.clone()).await?;
    victim.until_run(prefix).await?;
    let before = kept(stage, &state).await?;
    ensure!(before.len() == 1, "the victim keeps no state: {before:?}");
    if stage.is_cluster_scoped() {
        by_templates(&stage.attacker, &external_name).await?;
    } else {
        by_workspaces(&stage.attacker, &external_name).await?;
    }
    stage.let_time_pass(&format!("after-t5-{prefix}")).await?;
    let after = kept(stage, &state).await?;
    ensure!(
        before == after,
        "state and locks were {before:?}, and are {after:?}"
    );
    Ok(())
}

/// Workspaces of the attacker's own.
async fn by_workspaces(attacker: &Tenant, external_name: &Value) -> anyhow::Result<()> {
    let module = format!("{THING}{}", backend(ATTACKER));
    attacker.workspace("keeps-at-home", &module, json!({})).await?;
    attacker.until_run("keeps-at-home").await?;
    let own = attacker.get(SECRET, "tfstate-keeps-at-home-x").await?;
    ensure!(own.is_some(), "a backend in its own namespace keeps no state");

    let bare =
        format!("{THING}terraform {{\n  backend \"kubernetes\" {{\n    secret_suffix = \"x\"\n  }}\n}}\n");
    for namespace in ELSEWHERE {
        let ways = [
            ("module", format!("{THING}{}", backend(namespace)), json!({})),
            (
                "arguments",
                bare.clone(),
                json!({"spec": {"forProvider": {"initArgs": [format!("-backend-config=namespace={namespace}")]}}}),
            ),
            (
                "environment",
                bare.clone(),
                json!({"spec": {"forProvider": {"env": [{"name": "KUBE_NAMESPACE", "value": namespace}]}}}),
            ),
            (
                "config",
                THING.to_owned(),
                using(attacker, namespace, "config").await?,
            ),
            ("file", bare.clone(), using(attacker, namespace, "file").await?),
        ];
        for (way, module, more) in ways {
            let name = format!("keeps-in-{namespace}-by-{way}");
            let mut more = more;
            crate::objects::merge(&mut more, external_name.clone());
            attacker.workspace(&name, &module, more).await?;
            let refused = attacker
                .until(WORKSPACE, &name, "it is refused or ready", |object| {
                    has_condition(object, "Ready", "True/Available")
                        || has_condition(object, "Failing", "True/InputInvalid")
                })
                .await?;
            ensure!(
                has_condition(&refused, "Failing", "True/InputInvalid"),
                "{name} is not refused: {}",
                summary(&refused)
            );
            attacker.delete(WORKSPACE, &name).await?;
            attacker.until_gone(WORKSPACE, &name).await?;
        }
    }
    Ok(())
}

/// Cluster-scoped Workspaces that the controllers make from a template of the attacker.
async fn by_templates(attacker: &Tenant, external_name: &Value) -> anyhow::Result<()> {
    let module = format!("{THING}{}", backend(ATTACKER));
    attacker.template("keeps-at-home", &module, json!({})).await?;
    attacker
        .apply("keeps-at-home-wide", "keeps-at-home", json!({}))
        .await?;
    attacker.until_applied("keeps-at-home-wide").await?;
    for namespace in ELSEWHERE {
        let name = format!("keeps-wide-in-{namespace}");
        let module = format!("{THING}{}", backend(namespace));
        attacker.template(&name, &module, json!({})).await?;
        attacker.apply(&name, &name, external_name.clone()).await?;
        attacker
            .until(APPLY, &name, "its Workspace is refused", |apply| {
                has_condition(apply, "Synced", "False/ReconcileError")
            })
            .await?;
    }
    Ok(())
}

/// A backend that keeps state in Secrets of a namespace.
fn backend(namespace: &str) -> String {
    format!(
        "terraform {{\n  backend \"kubernetes\" {{\n    secret_suffix = \"x\"\n    namespace     = \"{namespace}\"\n  }}\n}}\n"
    )
}

/// A ProviderConfig of the attacker that names a namespace for state, and the reference to it.
async fn using(attacker: &Tenant, namespace: &str, way: &str) -> anyhow::Result<Value> {
    let name = format!("state-in-{namespace}-by-{way}");
    let spec = match way {
        "file" => json!({"credentials": [], "backendFile": format!("namespace = \"{namespace}\"\n")}),
        _ => json!({"credentials": [], "configuration": backend(namespace)}),
    };
    let config = json!({"metadata": {"name": name}, "spec": spec});
    attacker.create(CONFIG, config).await?;
    Ok(json!({"spec": {"providerConfigRef": {"kind": "ProviderConfig", "name": name}}}))
}

/// State under a name outside the namespace of the attacker, and the locks that are held.
async fn kept(stage: &Stage, state: &str) -> anyhow::Result<Vec<String>> {
    let (state, lock) = (format!("tfstate-{state}-"), format!("lock-tfstate-{state}-"));
    let mut found = Vec::new();
    for namespace in ELSEWHERE {
        let objects = [SECRET, LEASE].map(|kind| stage.admin.list(kind, namespace));
        for object in futures::future::try_join_all(objects).await?.concat() {
            let name = name(&object);
            let is_held = object["spec"]["holderIdentity"].is_string();
            if name.starts_with(&state) || (name.starts_with(&lock) && (is_held || namespace != VICTIM)) {
                found.push(format!("{namespace}/{name} {}", object["data"]));
            }
        }
    }
    found.sort();
    Ok(found)
}
