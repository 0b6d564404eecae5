//! What is kept of an object.

use std::{collections::BTreeMap, sync::Arc};

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply,
    foreign::{
        Cluster,
        cluster::ClusterSpec,
        marks as foreign_marks,
        providerconfig::TerraformConfig,
        workspace::{WorkspaceCondition, WorkspaceStatus},
    },
    lean::{Document, Head},
    marks,
    run::{REPORT_KEY, RunReport},
    workspacetemplate::WorkspaceTemplateObjectStatus,
};
use capt_core::{
    render::{Template, WorkspaceGroup},
    wta::{
        kept::{self, Kept},
        location,
        snapshot::{KeptSeen, ProviderConfigSeen, TemplateSeen, Usage, WorkspaceSeen},
    },
};
use capt_terraform::diagnostics;
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::core::DynamicObject;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::served::Definition;

/// An annotation that kubectl keeps a whole object in.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A template, with what would take long to find out again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TemplateView {
    /// Its metadata.
    pub(crate) metadata: ObjectMeta,
    /// What it holds.
    pub(crate) template: Arc<Template>,
    /// Its status.
    pub(crate) status: Option<WorkspaceTemplateObjectStatus>,
}

impl TemplateView {
    /// What a decision sees of it.
    pub(crate) fn seen(&self, namespace: &str) -> TemplateSeen {
        let labels = self.metadata.labels.as_ref();
        let spec = self.template.spec();
        TemplateSeen {
            namespace: namespace.to_owned(),
            hidden: false,
            shared_with: spec.shared_with.clone().unwrap_or_default(),
            revision: self.template.revision().to_owned(),
            spec: Some(self.template.clone()),
            sandbox: labels.and_then(|labels| labels.get(marks::SANDBOX).cloned()),
        }
    }
}

/// The last rendering of a WorkspaceTemplateApply, as text: read it takes more than all else that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RenderingView {
    uid: String,
    owner: Option<String>,
    text: Option<String>,
}

impl RenderingView {
    /// What it says.
    pub(crate) fn read(&self) -> KeptSeen {
        KeptSeen {
            uid: self.uid.clone(),
            owner: self.owner.clone(),
            kept: self.text.as_deref().and_then(Kept::from_text),
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// It carries the label and the owner of what was learned from a template.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_learned: bool,
}

/// What our runner tells about a Workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

pub(super) fn definition(object: Head<CustomResourceDefinition>) -> Option<Definition> {
    let metadata = object.metadata;
    Some(Definition {
        version: metadata.resource_version.unwrap_or_default(),
        labels: metadata.labels.unwrap_or_default(),
        annotations: metadata.annotations.unwrap_or_default().into_keys().collect(),
    })
}

pub(super) fn apply(object: Document) -> Option<WorkspaceTemplateApply> {
    Some(WorkspaceTemplateApply {
        metadata: lean(object.metadata),
        spec: object.spec.read()?,
        status: object.status.read(),
    })
}

pub(super) fn template(object: Document) -> Option<TemplateView> {
    Some(TemplateView {
        template: Arc::new(Template::read(object.spec.read()?)),
        metadata: lean(object.metadata),
        status: object.status.read(),
    })
}

pub(super) fn namespaced_workspace(object: Document) -> Option<WorkspaceSeen> {
    Some(workspace(object, WorkspaceGroup::Namespaced))
}

pub(super) fn cluster_workspace(object: Document) -> Option<WorkspaceSeen> {
    Some(workspace(object, WorkspaceGroup::ClusterScoped))
}

fn workspace(object: Document, group: WorkspaceGroup) -> WorkspaceSeen {
    let metadata = lean(object.metadata);
    let mut status: WorkspaceStatus = object.status.read().unwrap_or_default();
    for condition in status.conditions.iter_mut().flatten() {
        make_readable(condition);
    }
    WorkspaceSeen {
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
        spec: object.spec.read().unwrap_or_default(),
        status,
        used_by_provider: Usage::No,
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
pub(super) fn cluster(object: Document) -> Option<Cluster> {
    let spec = object.spec.read::<Value>().and_then(|mut spec| {
        for reference in ["infrastructureRef", "controlPlaneRef"] {
            if let Some(reference) = spec.get_mut(reference) {
                modernise(reference);
            }
        }
        serde_json::from_value(spec).ok()
    });
    Some(Cluster {
        metadata: lean(object.metadata),
        spec: spec.unwrap_or_else(|| ClusterSpec {
            paused: Some(true),
            ..ClusterSpec::default()
        }),
        status: object.status.read(),
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

pub(super) fn captcluster(object: Document) -> Option<CAPTCluster> {
    Some(CAPTCluster {
        metadata: lean(object.metadata),
        spec: object.spec.read()?,
        status: object.status.read(),
    })
}

pub(super) fn captcontrolplane(object: Document) -> Option<CAPTControlPlane> {
    Some(CAPTControlPlane {
        metadata: lean(object.metadata),
        spec: object.spec.read()?,
        status: object.status.read(),
    })
}

/// An object of a kind that only a reference of a Cluster tells of.
pub(super) fn other(object: DynamicObject) -> Option<Value> {
    let mut object = object;
    object.metadata.managed_fields = None;
    serde_json::to_value(object).ok()
}

/// Machines of a control plane go with it, and are no workers.
pub(super) fn worker(object: Head<Document>) -> Option<WorkerView> {
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

pub(super) fn provider_config(object: Document) -> Option<ProviderConfigSeen> {
    let Document { metadata, spec, .. } = object;
    let config: TerraformConfig = spec.read()?;
    let allowed = metadata
        .annotations
        .and_then(|mut annotations| annotations.remove(marks::ALLOWED_NAMESPACES));
    // Where tenants write the configuration themselves, its annotation is no more than a note.
    let is_cluster_scoped = metadata.namespace.is_none();
    Some(ProviderConfigSeen {
        hidden: false,
        backend: location::backend_of_config(&config),
        allowed_namespaces: allowed.filter(|_| is_cluster_scoped),
    })
}

pub(super) fn usage(_: Head<Document>) -> Option<()> {
    Some(())
}

pub(super) fn secret(object: Head<Secret>) -> Option<HeldView> {
    Some(held(object.metadata))
}

pub(super) fn config_map(object: Head<ConfigMap>) -> Option<HeldView> {
    Some(held(object.metadata))
}

/// Whether an object carries the label and the owner of what was learned from a template.
pub(crate) fn is_learned(metadata: &ObjectMeta) -> bool {
    let labels = metadata.labels.as_ref();
    let mut owners = metadata.owner_references.iter().flatten();
    labels.is_some_and(|labels| labels.contains_key(marks::STATISTICS_OF))
        && owners.any(|owner| owner.kind == "WorkspaceTemplate")
}

fn held(metadata: ObjectMeta) -> HeldView {
    let is_learned = is_learned(&metadata);
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
        is_learned,
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
        text: data.remove(kept::KEY).and_then(|bytes| Kept::text(&bytes.0)),
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

pub(super) fn namespace(object: Head<Namespace>) -> Option<NamespaceView> {
    let metadata = object.metadata;
    Some(NamespaceView {
        terminating: metadata.deletion_timestamp.is_some(),
    })
}

/// Who wrote which field is of use only to those who write, and so is what kubectl remembers of a spec.
fn lean(mut metadata: ObjectMeta) -> ObjectMeta {
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
    metadata
}

#[cfg(test)]
mod tests;
