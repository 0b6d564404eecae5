//! Service accounts with rights in one namespace.

use std::path::Path;

use anyhow::ensure;
use serde_json::{Value, json};

use super::kinds::{ACCOUNT, CLUSTER_WORKSPACE, ROLE, ROLE_BINDING, SECRET};
use super::stage::{ATTACKER, VICTIM};
use super::tenant::THING;
use crate::e2e::account;
use crate::objects::{Objects, merge};
use crate::realkube;

const RBAC: &str = "rbac.authorization.k8s.io";

/// A tenant who may do everything in its namespace, and nothing elsewhere.
pub(super) async fn attacker(admin: &Objects, kubeconfig: &Path) -> anyhow::Result<Objects> {
    let name = "mallory";
    let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let role = json!({"metadata": {"name": name}, "rules": rules});
    admin.create(ROLE, ATTACKER, role).await?;
    let role = json!({"apiGroup": RBAC, "kind": "Role", "name": name});
    let resource = format!("/api/v1/namespaces/{ATTACKER}/secrets?limit=1");
    bound(admin, kubeconfig, (ATTACKER, name), &role, &resource).await
}

/// A user who may view the namespace of the victim, with the built-in role. The controller that fills the role `view`
/// from the one that is used here does not run.
pub(super) async fn viewer(admin: &Objects, kubeconfig: &Path) -> anyhow::Result<Objects> {
    let role = json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": "system:aggregate-to-view"});
    let resource = format!("/api/v1/namespaces/{VICTIM}/configmaps?limit=1");
    bound(admin, kubeconfig, (VICTIM, "viewer"), &role, &resource).await
}

/// The objects of a new service account with a role, which lets it read a resource.
async fn bound(
    admin: &Objects,
    kubeconfig: &Path,
    (namespace, name): (&str, &str),
    role: &Value,
    resource: &str,
) -> anyhow::Result<Objects> {
    let mut object = json!({"metadata": {"name": name}});
    admin.create(ACCOUNT, namespace, object.clone()).await?;
    let binding = json!({
        "roleRef": role,
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    });
    merge(&mut object, binding);
    admin.create(ROLE_BINDING, namespace, object).await?;
    let kubeconfig = account::kubeconfig_of(admin, kubeconfig, namespace, name).await?;
    account::wait_for_rights(&kubeconfig, &[resource.to_owned()]).await?;
    Ok(Objects {
        client: realkube::client(&kubeconfig).await?,
    })
}

/// Fails unless the rights of the attacker are what every row rests on: everything in its namespace, nothing elsewhere.
pub(super) async fn check_attacker(attacker: &Objects) -> anyhow::Result<()> {
    let secret = json!({"metadata": {"name": "own"}, "stringData": {"k": "own"}});
    attacker.create(SECRET, ATTACKER, secret.clone()).await?;
    attacker.list(SECRET, ATTACKER).await?;
    let workspace = json!({
        "metadata": {"name": "own"},
        "spec": {"forProvider": {"source": "Inline", "module": THING}},
    });
    let read = attacker.get(SECRET, VICTIM, "private").await.map(drop);
    let listed = attacker.list(SECRET, "").await.map(drop);
    let written = attacker.create(SECRET, VICTIM, secret).await.map(drop);
    let made = attacker.create(CLUSTER_WORKSPACE, "", workspace).await.map(drop);
    for (what, tried) in [
        ("reads a Secret of the victim", read),
        ("lists the Secrets of all namespaces", listed),
        ("writes a Secret of the victim", written),
        ("makes a cluster-scoped Workspace", made),
    ] {
        ensure!(is_forbidden(&tried), "the attacker {what}: {tried:?}");
    }
    Ok(())
}

/// Whether the API server refused something for want of rights.
pub(super) fn is_forbidden<T>(tried: &anyhow::Result<T>) -> bool {
    let error = tried.as_ref().err().and_then(|error| error.downcast_ref());
    matches!(error, Some(kube::Error::Api(status)) if status.code == 403)
}
