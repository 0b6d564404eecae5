//! What is kept of an object.

use std::collections::BTreeMap;

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply,
    foreign::{
        Cluster,
        cluster::ClusterSpec,
        marks as foreign_marks,
        providerconfig::TerraformConfig,
        workspace::{WorkspaceCondition, WorkspaceStatus},
    },
    marks,
    run::{REPORT_KEY, RunReport},
    workspacetemplate::{WorkspaceTemplateObjectStatus, WorkspaceTemplateSpec},
};
use capt_core::{
    render::{self, WorkspaceGroup},
    wta::{
        kept::{self, Kept},
        location,
        snapshot::{KeptSeen, ProviderConfigSeen, Usage, WorkspaceSeen},
    },
};
use capt_terraform::diagnostics;
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::core::{DynamicObject, PartialObjectMeta};
use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};

use crate::engine::served::Definition;

/// A template, with what would take long to find out again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TemplateView {
    /// The object.
    pub(crate) template: capt_api::WorkspaceTemplate,
    /// Its revision.
    pub(crate) revision: String,
}

/// The last rendering of a WorkspaceTemplateApply, packed as it is kept: most of them are at rest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RenderingView {
    uid: String,
    owner: Option<String>,
    packed: Option<Box<[u8]>>,
}

impl RenderingView {
    /// What it says.
    pub(crate) fn unpacked(&self) -> KeptSeen {
        KeptSeen {
            uid: self.uid.clone(),
            owner: self.owner.clone(),
            kept: self.packed.as_deref().and_then(Kept::from_bytes),
        }
    }
}

/// A Workspace. Most of them are at rest, and their specs are kept as text, which takes a fraction of the room.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkspaceView {
    /// Everything else.
    bare: WorkspaceSeen,
    spec: Box<str>,
}

impl WorkspaceView {
    /// All of it but its spec, which says nothing here.
    pub(crate) fn without_spec(&self) -> &WorkspaceSeen {
        &self.bare
    }

    /// One field of its spec.
    pub(crate) fn field(&self, name: &str) -> Option<Value> {
        let mut fields: BTreeMap<&str, &RawValue> = serde_json::from_str(&self.spec).ok()?;
        serde_json::from_str(fields.remove(name)?.get()).ok()
    }

    /// All of it.
    pub(crate) fn whole(&self) -> WorkspaceSeen {
        WorkspaceSeen {
            spec: serde_json::from_str(&self.spec).unwrap_or_default(),
            ..self.bare.clone()
        }
    }
}

/// Something that runs workloads of a Cluster, such as a Machine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkerView {
    /// The Cluster in its label.
    pub(crate) cluster: String,
    /// Its uid.
    pub(crate) uid: String,
    /// Its version.
    pub(crate) resource_version: String,
    /// It is going away.
    pub(crate) deleting: bool,
    /// The Cluster itself owns it, rather than another worker.
    pub(crate) owned_by_cluster: bool,
}

/// A Secret or ConfigMap, without what it holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeldView {
    /// Its uid.
    pub(crate) uid: String,
    /// Its version.
    pub(crate) resource_version: String,
    /// It is going away.
    pub(crate) deleting: bool,
    /// The Terraform workspace whose state it holds.
    pub(crate) state_of: Option<String>,
    /// The Workspace whose state our runner says it holds, as `group/namespace/name`.
    pub(crate) claim: Option<String>,
    /// clusterctl moves it.
    pub(crate) moves: bool,
    /// It carries our finalizer.
    pub(crate) is_held: bool,
}

/// What our runner tells about a Workspace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReportView {
    /// uid of the Workspace.
    pub(crate) workspace_uid: String,
    /// The report, without the logs beside it.
    pub(crate) report: RunReport,
}

/// A namespace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamespaceView {
    /// It is going away.
    pub(crate) terminating: bool,
}

pub(super) fn definition(object: PartialObjectMeta<CustomResourceDefinition>) -> Option<Definition> {
    let metadata = object.metadata;
    Some(Definition {
        version: metadata.resource_version.unwrap_or_default(),
        labels: metadata.labels.unwrap_or_default(),
        annotations: metadata.annotations.unwrap_or_default().into_keys().collect(),
    })
}

pub(super) fn apply(object: DynamicObject) -> Option<WorkspaceTemplateApply> {
    let (metadata, mut data) = lean(object);
    Some(WorkspaceTemplateApply {
        metadata,
        spec: part(&mut data, "spec")?,
        status: part(&mut data, "status"),
    })
}

pub(super) fn template(object: DynamicObject) -> Option<TemplateView> {
    let (metadata, mut data) = lean(object);
    let spec: WorkspaceTemplateSpec = part(&mut data, "spec")?;
    let status: Option<WorkspaceTemplateObjectStatus> = part(&mut data, "status");
    Some(TemplateView {
        revision: render::revision(&spec),
        template: capt_api::WorkspaceTemplate {
            metadata,
            spec,
            status,
        },
    })
}

pub(super) fn namespaced_workspace(object: DynamicObject) -> Option<WorkspaceView> {
    Some(workspace(object, WorkspaceGroup::Namespaced))
}

pub(super) fn cluster_workspace(object: DynamicObject) -> Option<WorkspaceView> {
    Some(workspace(object, WorkspaceGroup::ClusterScoped))
}

fn workspace(object: DynamicObject, group: WorkspaceGroup) -> WorkspaceView {
    let (metadata, mut data) = lean(object);
    let mut status: WorkspaceStatus = part(&mut data, "status").unwrap_or_default();
    for condition in status.conditions.iter_mut().flatten() {
        make_readable(condition);
    }
    let bare = WorkspaceSeen {
        group: Some(group),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        created_at: metadata.creation_timestamp.map(|time| time.0),
        deleting: metadata.deletion_timestamp.is_some(),
        labels: metadata.labels.unwrap_or_default(),
        annotations: metadata.annotations.unwrap_or_default(),
        finalizers: metadata.finalizers.unwrap_or_default(),
        spec: Value::Null,
        status,
        used_by_provider: Usage::No,
    };
    let spec = data.get("spec").unwrap_or(&Value::Null).to_string();
    WorkspaceView {
        bare,
        spec: spec.into_boxed_str(),
    }
}

/// provider-terraform packs its errors.
fn make_readable(condition: &mut WorkspaceCondition) {
    if let Some(message) = &mut condition.message
        && let std::borrow::Cow::Owned(readable) = diagnostics::readable(message)
    {
        *message = readable;
    }
}

/// A Cluster that cannot be read counts as paused, so that nothing is done to what belongs to it.
pub(super) fn cluster(object: DynamicObject) -> Option<Cluster> {
    let (metadata, mut data) = lean(object);
    for reference in ["/spec/infrastructureRef", "/spec/controlPlaneRef"] {
        if let Some(reference) = data.pointer_mut(reference) {
            modernise(reference);
        }
    }
    Some(Cluster {
        metadata,
        spec: part(&mut data, "spec").unwrap_or_else(|| ClusterSpec {
            paused: Some(true),
            ..ClusterSpec::default()
        }),
        status: part(&mut data, "status"),
    })
}

/// Until v1beta1 a reference told group and version together.
fn modernise(reference: &mut Value) {
    if let Some(fields) = reference.as_object_mut()
        && !fields.contains_key("apiGroup")
        && let Some(api_version) = fields.get("apiVersion").and_then(Value::as_str)
    {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let group = Value::from(group);
        fields.insert("apiGroup".to_owned(), group);
    }
}

pub(super) fn captcluster(object: DynamicObject) -> Option<CAPTCluster> {
    let (metadata, mut data) = lean(object);
    Some(CAPTCluster {
        metadata,
        spec: part(&mut data, "spec")?,
        status: part(&mut data, "status"),
    })
}

pub(super) fn captcontrolplane(object: DynamicObject) -> Option<CAPTControlPlane> {
    let (metadata, mut data) = lean(object);
    Some(CAPTControlPlane {
        metadata,
        spec: part(&mut data, "spec")?,
        status: part(&mut data, "status"),
    })
}

/// An object of a kind that only a reference of a Cluster tells of.
pub(super) fn other(object: DynamicObject) -> Option<Value> {
    let mut object = object;
    object.metadata.managed_fields = None;
    serde_json::to_value(object).ok()
}

/// Machines of a control plane go with it, and are no workers.
pub(super) fn worker(object: PartialObjectMeta<DynamicObject>) -> Option<WorkerView> {
    let metadata = object.metadata;
    let labels = metadata.labels.unwrap_or_default();
    let is_worker = !labels.contains_key("cluster.x-k8s.io/control-plane");
    let owners = metadata.owner_references.unwrap_or_default();
    Some(WorkerView {
        cluster: labels
            .get(foreign_marks::CLUSTER_NAME)
            .filter(|_| is_worker)
            .cloned()
            .unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        deleting: metadata.deletion_timestamp.is_some(),
        owned_by_cluster: owners.iter().any(|owner| owner.kind == "Cluster"),
    })
}

pub(super) fn provider_config(object: DynamicObject) -> Option<ProviderConfigSeen> {
    let mut data = object.data;
    let config: TerraformConfig = part(&mut data, "spec")?;
    Some(ProviderConfigSeen {
        hidden: false,
        backend: location::backend_of_config(&config),
    })
}

pub(super) fn usage(_: PartialObjectMeta<DynamicObject>) -> Option<()> {
    Some(())
}

pub(super) fn secret(object: PartialObjectMeta<Secret>) -> Option<HeldView> {
    Some(held(object.metadata))
}

pub(super) fn config_map(object: PartialObjectMeta<ConfigMap>) -> Option<HeldView> {
    Some(held(object.metadata))
}

fn held(metadata: ObjectMeta) -> HeldView {
    let labels: BTreeMap<String, String> = metadata.labels.unwrap_or_default();
    let holds_state = labels.get("tfstate").is_some_and(|value| value == "true");
    let finalizers = metadata.finalizers.unwrap_or_default();
    let claim = metadata
        .annotations
        .and_then(|mut annotations| annotations.remove(marks::STATE_OF));
    HeldView {
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        deleting: metadata.deletion_timestamp.is_some(),
        state_of: labels.get("tfstateWorkspace").filter(|_| holds_state).cloned(),
        claim,
        moves: labels.contains_key(foreign_marks::MOVE),
        is_held: finalizers
            .iter()
            .any(|finalizer| finalizer == marks::TERRAFORM_STATE_FINALIZER),
    }
}

pub(super) fn rendering(secret: Secret) -> Option<RenderingView> {
    let mut data = secret.data.unwrap_or_default();
    let owners = secret.metadata.owner_references.unwrap_or_default();
    let owner = owners
        .into_iter()
        .find(|owner| owner.kind == "WorkspaceTemplateApply");
    Some(RenderingView {
        uid: secret.metadata.uid.unwrap_or_default(),
        owner: owner.map(|owner| owner.uid),
        packed: data.remove(kept::KEY).map(|bytes| bytes.0.into_boxed_slice()),
    })
}

pub(super) fn report(map: ConfigMap) -> Option<ReportView> {
    let labels = map.metadata.labels?;
    let text = map.data?.remove(REPORT_KEY)?;
    Some(ReportView {
        workspace_uid: labels.get(marks::RUN_OF)?.clone(),
        report: serde_json::from_str(&text).ok()?,
    })
}

pub(super) fn namespace(object: PartialObjectMeta<Namespace>) -> Option<NamespaceView> {
    let metadata = object.metadata;
    Some(NamespaceView {
        terminating: metadata.deletion_timestamp.is_some(),
    })
}

fn lean(object: DynamicObject) -> (ObjectMeta, Value) {
    let mut metadata = object.metadata;
    metadata.managed_fields = None;
    (metadata, object.data)
}

fn part<T: DeserializeOwned>(data: &mut Value, name: &str) -> Option<T> {
    serde_json::from_value(data.get_mut(name)?.take()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_spec_of_a_workspace_is_what_it_was() {
        let spec = json!({
            "forProvider": {"source": "Inline", "module": "a = \"\u{fc}\\n\"", "vars": [{"key": "k", "value": "v"}]},
            "managementPolicies": [],
            "writeConnectionSecretToRef": {"name": "outputs"},
        });
        let object = json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
            "metadata": {"name": "w", "namespace": "n", "uid": "u"}, "spec": spec,
        });
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let view = namespaced_workspace(object.clone()).unwrap();
        assert_eq!(view.whole().spec, spec);
        assert_eq!(view.without_spec().uid, "u");
        assert_eq!(
            view.field("writeConnectionSecretToRef"),
            Some(json!({"name": "outputs"}))
        );
        assert_eq!(view.field("deletionPolicy"), None);
        assert_eq!(Some(&view), namespaced_workspace(object.clone()).as_ref());
        let mut other = object;
        other.data["spec"]["forProvider"]["module"] = json!("");
        assert_ne!(Some(view), namespaced_workspace(other));
    }
}
