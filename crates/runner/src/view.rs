//! One view of the Workspaces of both groups, so that nothing else has to know that there are two.

use std::collections::BTreeMap;

use capt_api::{
    foreign::{
        ClusterWorkspace, Workspace,
        forprovider::ForProvider,
        marks as foreign_marks,
        workspace::{DeletionPolicy, ManagementPolicy, ProviderConfigReference, WorkspaceStatus},
    },
    lean::Lean,
    marks,
};
use capt_core::render::WorkspaceGroup;
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
    jiff::Timestamp,
};

/// The version of the API that both groups are read in.
pub const VERSION: &str = "v1beta1";
/// The kind in both groups.
pub const KIND: &str = "Workspace";

/// A Workspace of either group.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkspaceView {
    /// Its API group.
    pub group: WorkspaceGroup,
    /// Its namespace; none for a cluster-scoped one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Counts the changes of its spec.
    pub generation: i64,
    /// What it was read at.
    pub resource_version: Option<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its finalizers.
    pub finalizers: Vec<String>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When its deletion was asked for.
    pub deletion: Option<Timestamp>,
    /// What Terraform is told.
    pub for_provider: ForProvider,
    /// What may be done; none means everything.
    pub policies: Option<Vec<ManagementPolicy>>,
    /// What becomes of the infrastructure on deletion; only cluster-scoped ones have it.
    pub deletion_policy: Option<DeletionPolicy>,
    /// The provider configuration that it names.
    pub provider_config_ref: Option<ProviderConfigReference>,
    /// The Secret that outputs are written to.
    pub connection_secret_ref: Option<ConnectionSecretRef>,
    /// What is known about it.
    pub status: WorkspaceStatus,
}

/// What tells a Workspace from others that had its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its uid.
    pub uid: String,
    /// When it was created.
    pub created: Option<Timestamp>,
}

impl Identity {
    /// Whether a report that is named after this Workspace is about it, and not about a namesake that is gone: by its label or
    /// its owner. Anybody can strip both; then it is, if it was not there before the Workspace.
    #[must_use]
    pub fn is_told_by(&self, report: &ObjectMeta) -> bool {
        let label = report
            .labels
            .as_ref()
            .and_then(|labels| labels.get(marks::RUN_OF));
        let owners = report.owner_references.as_deref().unwrap_or_default();
        let mut owners = owners.iter().filter(|owner| owner.kind == KIND).peekable();
        let is_bare = label.is_none() && owners.peek().is_none();
        let made = report.creation_timestamp.as_ref().map(|time| time.0);
        label == Some(&self.uid)
            || owners.any(|owner| owner.uid == self.uid)
            || (is_bare && self.created.is_some() && made >= self.created)
    }
}

/// The Secret that outputs are written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionSecretRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl WorkspaceView {
    /// Its version, as a number.
    pub(crate) fn version(&self) -> Option<u64> {
        self.resource_version.as_deref()?.parse().ok()
    }

    /// What somebody types to do something about it, from whatever namespace they are in.
    #[must_use]
    pub fn command(&self, verb: &str) -> String {
        let namespace = self.namespace.as_ref();
        let namespace = namespace.map_or_else(String::new, |namespace| format!(" -n {namespace}"));
        format!("capt {verb} workspace/{}{namespace}", self.name)
    }

    /// Its module makes nothing real, so that a simulation may stand in for Terraform.
    #[must_use]
    pub fn is_sandbox(&self) -> bool {
        self.labels
            .get(capt_api::marks::SANDBOX)
            .is_some_and(|value| value == "true")
    }

    /// Its state is moved together with a Cluster, as what it was made for said. One that is kept on purpose is nobody's.
    #[must_use]
    pub fn state_moves(&self) -> bool {
        let is_told = self.annotations.get(marks::STATE_MOVES);
        is_told.is_some_and(|value| value == "true") && self.labels.contains_key(marks::WTA_NAME)
    }

    /// The Terraform workspace that its state is kept under.
    #[must_use]
    pub fn external_name(&self) -> &str {
        self.annotations
            .get(foreign_marks::EXTERNAL_NAME)
            .filter(|name| !name.is_empty())
            .unwrap_or(&self.name)
    }

    /// The namespace that it belongs to: its own; for a cluster-scoped one that of the WorkspaceTemplateApply that it was
    /// made for.
    #[must_use]
    pub fn tenant_namespace(&self) -> Option<&str> {
        self.namespace
            .as_deref()
            .or_else(|| self.labels.get(marks::WTA_NAMESPACE).map(String::as_str))
            .filter(|namespace| !namespace.is_empty())
    }

    /// The namespace that everything we keep for it is in: the one that it belongs to, else the runner's.
    #[must_use]
    pub fn home_namespace<'a>(&'a self, runner_namespace: &'a str) -> &'a str {
        self.tenant_namespace().unwrap_or(runner_namespace)
    }

    /// What tells it from others that had its name.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            uid: self.uid.clone(),
            created: self.created,
        }
    }

    /// A reference to it from what it owns.
    #[must_use]
    pub fn owner_reference(&self, is_controller: bool) -> OwnerReference {
        OwnerReference {
            api_version: format!("{}/{VERSION}", self.group.name()),
            kind: KIND.to_owned(),
            name: self.name.clone(),
            uid: self.uid.clone(),
            controller: is_controller.then_some(true),
            block_owner_deletion: is_controller.then_some(true),
        }
    }
}

impl From<&Workspace> for WorkspaceView {
    fn from(workspace: &Workspace) -> Self {
        let spec = &workspace.spec;
        let namespace = workspace.metadata.namespace.clone();
        let connection = spec.write_connection_secret_to_ref.as_ref();
        Self {
            policies: spec.management_policies.clone(),
            deletion_policy: None,
            provider_config_ref: spec.provider_config_ref.clone(),
            connection_secret_ref: connection.map(|secret| ConnectionSecretRef {
                namespace: namespace.clone().unwrap_or_default(),
                name: secret.name.clone(),
            }),
            namespace,
            ..view(
                WorkspaceGroup::Namespaced,
                &workspace.metadata,
                &spec.for_provider,
                workspace.status.as_ref(),
            )
        }
    }
}

impl From<&ClusterWorkspace> for WorkspaceView {
    fn from(workspace: &ClusterWorkspace) -> Self {
        let spec = &workspace.spec;
        let connection = spec.write_connection_secret_to_ref.as_ref();
        Self {
            policies: spec.management_policies.clone(),
            deletion_policy: spec.deletion_policy,
            provider_config_ref: spec.provider_config_ref.clone(),
            connection_secret_ref: connection.map(|secret| ConnectionSecretRef {
                namespace: secret.namespace.clone().unwrap_or_default(),
                name: secret.name.clone(),
            }),
            ..view(
                WorkspaceGroup::ClusterScoped,
                &workspace.metadata,
                &spec.for_provider,
                workspace.status.as_ref(),
            )
        }
    }
}

/// A kind of Workspaces.
pub(crate) trait Seen: Sized {
    /// The view of one as it comes from the API, if it is what its kind promises.
    fn view(object: Lean<Self>) -> Result<WorkspaceView, serde_json::Error>;
}

impl Seen for Workspace {
    fn view(object: Lean<Self>) -> Result<WorkspaceView, serde_json::Error> {
        Ok(WorkspaceView::from(&Self {
            spec: object.spec.try_read()?,
            status: object.status.try_read()?,
            metadata: object.metadata,
        }))
    }
}

impl Seen for ClusterWorkspace {
    fn view(object: Lean<Self>) -> Result<WorkspaceView, serde_json::Error> {
        Ok(WorkspaceView::from(&Self {
            spec: object.spec.try_read()?,
            status: object.status.try_read()?,
            metadata: object.metadata,
        }))
    }
}

fn view(
    group: WorkspaceGroup,
    metadata: &ObjectMeta,
    for_provider: &ForProvider,
    status: Option<&WorkspaceStatus>,
) -> WorkspaceView {
    WorkspaceView {
        group,
        namespace: None,
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        resource_version: metadata.resource_version.clone(),
        labels: metadata.labels.clone().unwrap_or_default(),
        annotations: metadata.annotations.clone().unwrap_or_default(),
        finalizers: metadata.finalizers.clone().unwrap_or_default(),
        created: metadata.creation_timestamp.as_ref().map(|time| time.0),
        deletion: metadata.deletion_timestamp.as_ref().map(|time| time.0),
        for_provider: for_provider.clone(),
        policies: None,
        deletion_policy: None,
        provider_config_ref: None,
        connection_secret_ref: None,
        status: status.cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What is seen of an object, if it can be read.
    fn seen(object: &Value) -> Option<WorkspaceView> {
        let lean: Lean<Workspace> = serde_json::from_str(&object.to_string()).unwrap();
        Workspace::view(lean).ok()
    }

    #[test]
    fn a_workspace_is_seen_as_it_is_read_and_what_is_none_is_not_seen() {
        let object = json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
            "metadata": {
                "name": "w", "namespace": "n", "uid": "u", "generation": 3, "resourceVersion": "7",
                "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
            },
            "spec": {"forProvider": {"source": "Inline", "module": "locals {}"}},
            "status": {"conditions": [{
                "type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-01-02T03:04:05Z",
            }]},
        });
        let read: Workspace = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(seen(&object), Some(WorkspaceView::from(&read)));
        for (field, value) in [
            ("spec", json!(null)),
            ("spec", json!({})),
            ("status", json!("ready")),
        ] {
            let mut wrong = object.clone();
            wrong[field] = value;
            assert_eq!(seen(&wrong), None, "{wrong}");
        }
        let mut silent = object;
        silent["status"] = json!(null);
        assert!(seen(&silent).is_some());
    }

    #[test]
    fn a_report_is_about_a_workspace_by_its_label_or_its_owner_and_else_if_it_came_later() {
        let at = |second: i64| Timestamp::from_second(second).expect("a valid time");
        let identity = Identity {
            uid: "ours".to_owned(),
            created: Some(at(5)),
        };
        let labelled = |uid: &str| json!({(marks::RUN_OF): uid});
        let owned = |kind: &str, uid: &str| json!([{"apiVersion": "tf.m.upbound.io/v1beta1", "kind": kind, "name": "vpc", "uid": uid}]);
        let none = Value::Null;
        for (labels, owners, made, expected) in [
            (labelled("ours"), none.clone(), 1, true),
            (none.clone(), owned(KIND, "ours"), 1, true),
            (labelled("theirs"), none.clone(), 9, false),
            (none.clone(), owned(KIND, "theirs"), 9, false),
            (none.clone(), none.clone(), 9, true),
            (json!({"other": "label"}), owned("Cluster", "other"), 9, true),
            (none.clone(), none, 4, false),
        ] {
            let metadata =
                json!({"labels": labels, "ownerReferences": owners, "creationTimestamp": at(made)});
            let metadata: ObjectMeta = serde_json::from_value(metadata).expect("metadata");
            assert_eq!(identity.is_told_by(&metadata), expected, "{metadata:?}");
        }
    }
}
