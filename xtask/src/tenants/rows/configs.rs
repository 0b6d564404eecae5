//! T8 and T9: provider configurations lend credentials to those that their administrator allows, and those of a tenant reach
//! nothing of the runner.

use anyhow::ensure;
use serde_json::{Value, json};

use super::super::kinds::{CLUSTER_CONFIG, CONFIG};
use super::super::stage::{ATTACKER, RUNNER_SECRET, SYSTEM, Stage, VICTIM};
use super::super::tenant::Tenant;
use capt_api::marks;

/// A module that gives the file with credentials.
const READER: &str = r#"
output "credentials" { value = file("credentials") }
"#;
const PLATFORMS: &str = "credentials-of-the-platform-team";
const LENT: &str = "credentials-for-everyone";
const FILE: &str = "secret-in-a-file-of-the-runner";

/// T8: credentials of a ClusterProviderConfig are for the namespaces that it allows.
pub(super) async fn not_allowed(stage: &Stage) -> anyhow::Result<()> {
    let system = Tenant::new(&stage.admin, SYSTEM);
    system
        .secret("platform", json!({"k": PLATFORMS, "lent": LENT}))
        .await?;
    for (name, key, allowed) in [
        ("prod", "k", json!({marks::ALLOWED_NAMESPACES: VICTIM})),
        ("unused", "k", json!({marks::ALLOWED_NAMESPACES: ""})),
        (
            "lent",
            "lent",
            json!({marks::ALLOWED_NAMESPACES: format!("{VICTIM}, {ATTACKER}")}),
        ),
    ] {
        let key = json!({"namespace": SYSTEM, "name": "platform", "key": key});
        let config = json!({
            "metadata": {"name": name, "annotations": allowed},
            "spec": {"credentials": [{"filename": "credentials", "source": "Secret", "secretRef": key}]},
        });
        stage.admin.create(CLUSTER_CONFIG, "", config).await?;
    }
    let (attacker, victim) = (&stage.attacker, &stage.victim);
    run(victim, "uses-prod", "ClusterProviderConfig", "prod").await?;
    run(attacker, "uses-lent", "ClusterProviderConfig", "lent").await?;
    for name in ["prod", "unused"] {
        let workspace = format!("uses-{name}");
        start(attacker, &workspace, "ClusterProviderConfig", name).await?;
        let words = attacker.until_refused(&workspace, "InputInvalid").await?;
        ensure!(words.contains(marks::ALLOWED_NAMESPACES), "{words}");
    }
    // The same through a template.
    let config = json!({"providerConfigRef": {"kind": "ClusterProviderConfig", "name": "prod"}});
    attacker.template("uses-prod", READER, config).await?;
    attacker.apply("uses-prod-too", "uses-prod", json!({})).await?;
    attacker
        .until_condition(
            super::super::kinds::APPLY,
            "uses-prod-too",
            "Applied",
            "False/ProviderConfigNotAllowed",
        )
        .await?;
    stage.let_time_pass("after-t8").await?;
    victim.check_present(PLATFORMS).await?;
    attacker.check_present(LENT).await?;
    attacker.check_absent(PLATFORMS).await
}

/// T9: a ProviderConfig in a namespace reads Secrets, and nothing of the runner.
pub(super) async fn of_the_runner(stage: &Stage) -> anyhow::Result<()> {
    let (attacker, victim) = (&stage.attacker, &stage.victim);
    let path = stage.folder().join("file-of-the-runner");
    std::fs::write(&path, FILE)?;
    let environment = json!({"source": "Environment", "env": {"name": RUNNER_SECRET.0}});
    let file = json!({"source": "Filesystem", "fs": {"path": path}});
    let kubeconfig = json!({"source": "Filesystem", "fs": {"path": stage.runner_kubeconfig()}});
    let injected = json!({"source": "InjectedIdentity"});
    attacker
        .secret("credentials", json!({"k": "credentials-of-its-own"}))
        .await?;
    let own =
        json!({"source": "Secret", "secretRef": {"namespace": ATTACKER, "name": "credentials", "key": "k"}});
    let victims =
        json!({"source": "Secret", "secretRef": {"namespace": VICTIM, "name": "private", "key": "k"}});
    for (name, credential) in [
        ("environment", &environment),
        ("file", &file),
        ("kubeconfig", &kubeconfig),
        ("injected", &injected),
        ("victims", &victims),
        ("own", &own),
    ] {
        attacker.create(CONFIG, config(name, credential)).await?;
    }
    // Administrators may, and give it to those whom they allow.
    for (name, credential, value) in [
        ("runners-environment", &environment, RUNNER_SECRET.1),
        ("runners-file", &file, FILE),
    ] {
        let mut config = config(name, credential);
        config["metadata"]["annotations"] = json!({marks::ALLOWED_NAMESPACES: VICTIM});
        stage.admin.create(CLUSTER_CONFIG, "", config).await?;
        run(victim, name, "ClusterProviderConfig", name).await?;
        victim.check_present(value).await?;
    }
    run(attacker, "own", "ProviderConfig", "own").await?;
    for name in ["environment", "file", "kubeconfig", "injected", "victims"] {
        start(attacker, name, "ProviderConfig", name).await?;
        attacker.until_refused(name, "InputInvalid").await?;
    }
    stage.let_time_pass("after-t9").await?;
    attacker.check_present("credentials-of-its-own").await?;
    for value in [RUNNER_SECRET.1, FILE, super::super::stage::VICTIM_SECRET] {
        attacker.check_absent(value).await?;
    }
    Ok(())
}

fn config(name: &str, credential: &Value) -> Value {
    let mut credential = credential.clone();
    credential["filename"] = json!("credentials");
    json!({"metadata": {"name": name}, "spec": {"credentials": [credential]}})
}

/// Makes a Workspace that reads the credentials of a configuration.
async fn start(tenant: &Tenant, name: &str, kind: &str, config: &str) -> anyhow::Result<()> {
    let reference = json!({"spec": {"providerConfigRef": {"kind": kind, "name": config}}});
    tenant.workspace(name, READER, reference).await
}

/// The same, and waits until it has.
async fn run(tenant: &Tenant, name: &str, kind: &str, config: &str) -> anyhow::Result<()> {
    start(tenant, name, kind, config).await?;
    tenant.until_run(name).await?;
    Ok(())
}
