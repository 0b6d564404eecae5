//! T1: a module, which is a program, reads nothing of the runner and of other Workspaces, and writes nothing of theirs.
//!
//! The same module is run by a runner without the sandbox for a tenant that its operator trusts. There it gets everything,
//! so that what the attacker does not get was there to be had.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use capt_api::marks;
use serde_json::{Value, json};

use super::super::kinds::{SECRET, WORKSPACE};
use super::super::stage::{OPEN_RUNNER, RUNNER_SECRET, Stage};
use super::super::tenant::{THING, Tenant, has_condition};
use crate::objects::{condition, merge, name, summary};

/// The module of the victim; both marks end in its files on the runner's machine.
const NEIGHBOUR: &str = r#"
# source-of-neighbour
resource "terraform_data" "thing" { input = format("%s-of-neighbour", "state") }
"#;
/// What the attack looks for, as it appears where it is found.
const SOURCE: &str = "source-of-neighbour";
const STATE: &str = "state-of-neighbour";
const RAN: &str = "the-probe-ran";
const LENT: &str = "has-an-identity";

pub(super) async fn play(stage: &Stage) -> anyhow::Result<()> {
    let (attacker, victim, trusted) = (&stage.attacker, &stage.victim, &stage.listed);
    victim.workspace("neighbour", NEIGHBOUR, json!({})).await?;
    victim.until_run("neighbour").await?;
    let token = stage.runner_token()?;

    let open = json!({"metadata": {"labels": {marks::RUNNER: OPEN_RUNNER}}});
    trusted
        .workspace("probe", &probe(stage, "trusted"), open.clone())
        .await?;
    attacker
        .workspace("probe", &probe(stage, "attacker"), json!({}))
        .await?;
    trusted.until_run("probe").await?;
    let probed = attacker.until_run("probe").await?;
    ensure!(
        has_condition(&probed, "Sandboxed", "True/Landlock"),
        "this kernel does not confine runs, so that nothing can be shown: {}",
        summary(&probed)
    );
    let found = [SOURCE, STATE, RUNNER_SECRET.1, &token, LENT];
    trusted.check_present(RAN).await?;
    attacker.check_present(RAN).await?;
    for value in found {
        trusted.check_present(value).await?;
        attacker.check_absent(value).await?;
    }
    let planted = planted(&stage.work_dir())?;
    let of_the_attacker = planted.iter().any(|path| path.ends_with("planted-by-attacker"));
    ensure!(
        planted.len() == 2 && !of_the_attacker,
        "only the trusted tenant plants its two files: {planted:?}"
    );
    let module = stage.folder().join("module-of-the-runner");
    std::fs::create_dir(&module)?;
    std::fs::write(module.join("main.tf"), THING)?;
    fetch_module(trusted, &module, &open).await?;
    fetch_module(attacker, &module, &json!({})).await?;
    state_with_the_rights_of_the_runner(stage, trusted, &open).await?;
    state_with_the_rights_of_the_runner(stage, attacker, &json!({})).await
}

/// Terraform fetches a module from the runner's machine.
async fn fetch_module(tenant: &Tenant, module: &Path, more: &Value) -> anyhow::Result<()> {
    let mut remote = json!({"spec": {"forProvider": {"source": "Remote"}}});
    merge(&mut remote, more.clone());
    tenant
        .workspace("fetches", &module.display().to_string(), remote)
        .await?;
    let ended = tenant
        .until(WORKSPACE, "fetches", "it has ended", has_ended)
        .await?;
    let is_refused = has_condition(&ended, "Failing", "True/InputInvalid");
    let is_trusted = more["metadata"].is_object();
    ensure!(is_refused != is_trusted, "{}", summary(&ended));
    Ok(())
}

/// Whether a run has ended well or not.
fn has_ended(workspace: &Value) -> bool {
    has_condition(workspace, "Ready", "True/Available")
        || condition(workspace, "Failing").is_some_and(|failing| failing["status"] == "True")
}

/// Terraform keeps state in `kube-system` with the rights of the runner, if it can read how the runner reaches the API. By
/// another name the API server looks like another one.
async fn state_with_the_rights_of_the_runner(
    stage: &Stage,
    tenant: &Tenant,
    more: &Value,
) -> anyhow::Result<()> {
    let server = stage.server()?.replace("127.0.0.1", "[::ffff:127.0.0.1]");
    let kubeconfig = stage.runner_kubeconfig().display().to_string();
    let suffix = &tenant.namespace;
    let module = format!(
        r#"
terraform {{
  backend "kubernetes" {{
    secret_suffix = "{suffix}"
    namespace     = "kube-system"
    config_path   = "{kubeconfig}"
    host          = "{server}"
  }}
}}
resource "terraform_data" "thing" {{}}
"#
    );
    tenant.workspace("rights", &module, more.clone()).await?;
    let ended = tenant
        .until(WORKSPACE, "rights", "it has ended", has_ended)
        .await?;
    let states = stage.admin.list(SECRET, "kube-system").await?;
    let is_kept = states
        .iter()
        .any(|secret| name(secret).ends_with(&format!("-{suffix}")));
    let is_trusted = tenant.namespace == stage.listed.namespace;
    ensure!(
        is_kept == is_trusted,
        "the state of {} is {}in kube-system: {}",
        tenant.namespace,
        if is_kept { "" } else { "not " },
        summary(&ended)
    );
    Ok(())
}

/// A module that looks for everything, prints what it finds, and writes where it can.
fn probe(stage: &Stage, who: &str) -> String {
    let work = stage.work_dir().display().to_string();
    let kubeconfig = stage.runner_kubeconfig().display().to_string();
    let (variable, _) = RUNNER_SECRET;
    // A pattern that does not find itself.
    let variable = format!("[{}]{}", &variable[..1], &variable[1..]);
    format!(
        r#"
output "kubeconfig" {{ value = try(file("{kubeconfig}"), "none") }}

resource "terraform_data" "probe" {{
  provisioner "local-exec" {{
    command = <<-SHELL
      exec 2>/dev/null
      grep -rhoE '(source|state)-of-[n]eighbour' {work} | sort -u
      grep -o 'token.*' {kubeconfig}
      for environment in /proc/[0-9]*/environ; do tr '\0' '\n' < $environment | grep '{variable}'; done
      folder=$(dirname $(grep -rlE 'source-of-[n]eighbour' {work} | head -n 1))
      echo planted > $folder/planted-by-{who}
      echo planted > {work}/planted-by-{who}
      test -n "$AWS_SECRET_ACCESS_KEY" && echo has-an-'identity'
      echo the-probe-'ran'
    SHELL
  }}
}}
"#
    )
}

/// The files that the probes planted below a folder.
fn planted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let is_planted = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("planted-by-"));
        if is_planted {
            found.push(path.clone());
        }
        if path.is_dir() && !path.is_symlink() {
            found.extend(planted(&path)?);
        }
    }
    Ok(found)
}
