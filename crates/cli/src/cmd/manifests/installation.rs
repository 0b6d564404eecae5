//! What every part of capt needs on a cluster: a namespace, a service account and its rights.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    foreign::{Cluster, ClusterWorkspace, Workspace},
};
use capt_core::tenancy::NamespaceSet;
use kube::CustomResourceExt as _;
use serde_json::{Value, json};

pub(super) const READ: &[&str] = &["get", "list", "watch"];
pub(super) const WRITE: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];
pub(super) const CHANGE: &[&str] = &["get", "list", "watch", "update", "patch"];
pub(super) const PART: &[&str] = &["get", "update", "patch"];
/// What is asked for by API servers that let only those block a deletion who may finish the owner.
pub(super) const FINISH: &[&str] = &["update"];
pub(super) const TELL: &[&str] = &["create", "get", "patch"];
/// The group and the resource of leases.
pub(super) const LEASES: (&[&str], &[&str]) = (&["coordination.k8s.io"], &["leases"]);

/// The definitions that are read where not all of them may be.
fn definitions() -> [&'static str; 7] {
    [
        CAPTCluster::crd_name(),
        CAPTControlPlane::crd_name(),
        WorkspaceTemplate::crd_name(),
        WorkspaceTemplateApply::crd_name(),
        Cluster::crd_name(),
        Workspace::crd_name(),
        ClusterWorkspace::crd_name(),
    ]
}

/// What may be done to objects of these resources, or to those of these names alone.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    groups: &'static [&'static str],
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    names: Vec<String>,
}

impl Rule {
    /// A rule for all objects of these resources.
    pub(super) const fn new(
        groups: &'static [&'static str],
        resources: &'static [&'static str],
        verbs: &'static [&'static str],
    ) -> Self {
        Self {
            groups,
            resources,
            verbs,
            names: Vec::new(),
        }
    }

    /// The same for objects of these names alone. RBAC applies no names to `create`.
    pub(super) fn named<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self {
            names: names.into_iter().map(Into::into).collect(),
            ..self
        }
    }

    fn json(&self) -> Value {
        let mut rule = json!({"apiGroups": self.groups, "resources": self.resources, "verbs": self.verbs});
        if !self.names.is_empty() {
            rule["resourceNames"] = json!(self.names);
        }
        rule
    }
}

/// The rights of a part of capt.
pub(super) struct Rights {
    /// In every namespace that it works in.
    pub(super) in_namespaces: &'static [Rule],
    /// Beyond these, where it works in all namespaces.
    pub(super) of_cluster: &'static [Rule],
    /// In single namespaces.
    pub(super) at_home: Vec<(String, Vec<Rule>)>,
}

/// Part of capt, and where it is installed.
pub(super) struct Installation<'a> {
    /// What it is.
    pub(super) part: &'static str,
    /// The name of its service account and its Roles.
    pub(super) name: String,
    /// The namespace that it is installed in.
    pub(super) target: &'a str,
    /// The namespaces that it works in.
    pub(super) namespaces: &'a NamespaceSet,
}

impl Installation<'_> {
    /// Everything but what runs.
    pub(super) fn account(&self, rights: &Rights) -> Vec<Value> {
        let Self { name, target, .. } = self;
        let mut documents = vec![
            json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                // The namespace is shared, so it is not labelled for a part of those who share it.
                "metadata": {"name": target, "labels": {PROVIDER_LABEL: PROVIDER}},
            }),
            json!({
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": self.metadata(name, Some(target)),
            }),
        ];
        match self.namespaces {
            NamespaceSet::All => {
                let rules: Vec<Rule> = rights
                    .in_namespaces
                    .iter()
                    .chain(rights.of_cluster)
                    .cloned()
                    .collect();
                documents.extend(self.role("ClusterRole", name, None, &rules));
            }
            NamespaceSet::Only(names) => {
                let rules = [
                    Rule::new(
                        &["apiextensions.k8s.io"],
                        &["customresourcedefinitions"],
                        &["get"],
                    )
                    .named(definitions()),
                    Rule::new(&[""], &["namespaces"], READ).named(names),
                    // Whom one of them serves is written on it, and which one a Workspace uses if it names none.
                    Rule::new(&["tf.m.upbound.io"], &["clusterproviderconfigs"], READ),
                ];
                // Another installation has the same name, and grants other namespaces.
                let cluster_role = format!("{name}-{target}");
                documents.extend(self.role("ClusterRole", &cluster_role, None, &rules));
                for namespace in names {
                    documents.extend(self.role("Role", name, Some(namespace), rights.in_namespaces));
                }
            }
        }
        for (namespace, rules) in &rights.at_home {
            // A Role in a namespace that it works in has this name already.
            let role = match self.namespaces {
                NamespaceSet::Only(names) if names.contains(namespace) => format!("{name}-home"),
                _ => name.clone(),
            };
            documents.extend(self.role("Role", &role, Some(namespace), rules));
        }
        documents
    }

    /// A role and its binding.
    fn role(&self, kind: &str, name: &str, namespace: Option<&str>, rules: &[Rule]) -> [Value; 2] {
        let group = "rbac.authorization.k8s.io";
        let version = format!("{group}/v1");
        let metadata = self.metadata(name, namespace);
        let rules: Vec<Value> = rules.iter().map(Rule::json).collect();
        [
            json!({"apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules}),
            json!({
                "apiVersion": version,
                "kind": format!("{kind}Binding"),
                "metadata": metadata,
                "roleRef": {"apiGroup": group, "kind": kind, "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": self.name, "namespace": self.target}],
            }),
        ]
    }

    /// Name, place and labels of one of its objects.
    pub(super) fn metadata(&self, name: &str, namespace: Option<&str>) -> Value {
        let mut metadata = json!({"name": name, "labels": self.labels()});
        if let Some(namespace) = namespace {
            metadata["namespace"] = json!(namespace);
        }
        metadata
    }

    /// How its objects are found.
    pub(super) fn labels(&self) -> Value {
        json!({"app.kubernetes.io/name": self.part, PROVIDER_LABEL: PROVIDER})
    }
}

/// How clusterctl finds what belongs to a provider.
const PROVIDER_LABEL: &str = "cluster.x-k8s.io/provider";
const PROVIDER: &str = "infrastructure-capt";

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
