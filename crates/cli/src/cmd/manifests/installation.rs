//! What every part of capt needs on a cluster: a namespace, a service account and its rights.

use serde_json::{Value, json};

pub(super) const READ: &[&str] = &["get", "list", "watch"];
pub(super) const WRITE: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];
pub(super) const CHANGE: &[&str] = &["get", "list", "watch", "update", "patch"];
pub(super) const PART: &[&str] = &["get", "update", "patch"];
/// What is asked for by API servers that let only those block a deletion who may finish the owner.
pub(super) const FINISH: &[&str] = &["update"];
pub(super) const TELL: &[&str] = &["create", "get", "patch"];
pub(super) const LEASE: &[&str] = &["get", "list", "watch", "create", "update"];

/// What may be done: groups, resources, verbs.
pub(super) type Rule = (
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

/// Part of capt, and where it is installed.
pub(super) struct Installation<'a> {
    pub(super) name: &'static str,
    pub(super) namespace: &'a str,
    /// Its rights everywhere.
    pub(super) rules: &'a [Rule],
    /// Its rights in its own namespace.
    pub(super) home_rules: &'a [Rule],
}

impl Installation<'_> {
    /// Everything but what runs.
    pub(super) fn account(&self) -> Vec<Value> {
        let Self { name, namespace, .. } = *self;
        let labels = self.labels();
        let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": namespace}]);
        let group = "rbac.authorization.k8s.io";
        let version = format!("{group}/v1");
        let mut documents = vec![
            json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                // The namespace is shared, so it is not labelled for a part of those who share it.
                "metadata": {"name": namespace, "labels": {PROVIDER_LABEL: PROVIDER}},
            }),
            json!({
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": name, "namespace": namespace, "labels": labels},
            }),
            json!({
                "apiVersion": version,
                "kind": "ClusterRole",
                "metadata": {"name": name, "labels": labels},
                "rules": self.rules.iter().map(rule).collect::<Vec<_>>(),
            }),
            json!({
                "apiVersion": version,
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name, "labels": labels},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
                "subjects": subjects,
            }),
        ];
        if !self.home_rules.is_empty() {
            documents.push(json!({
                "apiVersion": version,
                "kind": "Role",
                "metadata": {"name": name, "namespace": namespace, "labels": labels},
                "rules": self.home_rules.iter().map(rule).collect::<Vec<_>>(),
            }));
            documents.push(json!({
                "apiVersion": version,
                "kind": "RoleBinding",
                "metadata": {"name": name, "namespace": namespace, "labels": labels},
                "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
                "subjects": subjects,
            }));
        }
        documents
    }

    /// How its objects are found.
    pub(super) fn labels(&self) -> Value {
        json!({"app.kubernetes.io/name": self.name, PROVIDER_LABEL: PROVIDER})
    }
}

/// How clusterctl finds what belongs to a provider.
const PROVIDER_LABEL: &str = "cluster.x-k8s.io/provider";
const PROVIDER: &str = "infrastructure-capt";

fn rule((groups, resources, verbs): &Rule) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

/// What no pod of capt needs.
pub(super) fn container_security() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    })
}

/// As whom pods of capt run.
pub(super) fn pod_security() -> Value {
    json!({
        "runAsNonRoot": true,
        "runAsUser": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

/// Documents, one after the other.
pub(super) fn yaml(documents: &[Value]) -> anyhow::Result<String> {
    let documents: Result<Vec<String>, _> = documents.iter().map(serde_saphyr::to_string).collect();
    Ok(documents?.join("---\n"))
}
