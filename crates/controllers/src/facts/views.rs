//! What is kept of an object.

use std::collections::BTreeMap;

use capt_api::{
    WorkspaceTemplateApply,
    foreign::{
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
        location, owner,
        snapshot::{ClusterSeen, KeptSeen, ProviderConfigSeen, WorkspaceSeen},
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
use serde_json::Value;

/// A template, with what would take long to find out again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TemplateView {
    /// The object.
    pub(crate) template: capt_api::WorkspaceTemplate,
    /// Its revision.
    pub(crate) revision: String,
}

/// An owner of WorkspaceTemplateApplies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OwnerView {
    /// How it is recorded on what it owns.
    pub(crate) label: String,
    /// It is going away.
    pub(crate) deleting: bool,
    /// The child whose turn it is.
    pub(crate) turn: Option<String>,
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

pub(super) fn definition(object: PartialObjectMeta<CustomResourceDefinition>) -> Option<String> {
    object.metadata.resource_version
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

pub(super) fn namespaced_workspace(object: DynamicObject) -> Option<WorkspaceSeen> {
    Some(workspace(object, WorkspaceGroup::Namespaced))
}

pub(super) fn cluster_workspace(object: DynamicObject) -> Option<WorkspaceSeen> {
    Some(workspace(object, WorkspaceGroup::ClusterScoped))
}

fn workspace(object: DynamicObject, group: WorkspaceGroup) -> WorkspaceSeen {
    let (metadata, mut data) = lean(object);
    let mut status: WorkspaceStatus = part(&mut data, "status").unwrap_or_default();
    for condition in status.conditions.iter_mut().flatten() {
        make_readable(condition);
    }
    WorkspaceSeen {
        group: Some(group),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        deleting: metadata.deletion_timestamp.is_some(),
        labels: metadata.labels.unwrap_or_default(),
        annotations: metadata.annotations.unwrap_or_default(),
        finalizers: metadata.finalizers.unwrap_or_default(),
        spec: data.get_mut("spec").map(Value::take).unwrap_or_default(),
        status,
        used_by_provider: false,
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

pub(super) fn cluster(object: DynamicObject) -> Option<ClusterSeen> {
    let (_, data) = lean(object);
    let paused = data.pointer("/spec/paused").and_then(Value::as_bool);
    Some(ClusterSeen {
        paused: paused.unwrap_or(false),
    })
}

pub(super) fn captcluster(object: PartialObjectMeta<DynamicObject>) -> Option<OwnerView> {
    Some(owner_view("CAPTCluster", object.metadata))
}

pub(super) fn captcontrolplane(object: PartialObjectMeta<DynamicObject>) -> Option<OwnerView> {
    Some(owner_view("CAPTControlPlane", object.metadata))
}

fn owner_view(kind: &str, metadata: ObjectMeta) -> OwnerView {
    OwnerView {
        label: owner::label(kind, metadata.name.as_deref().unwrap_or_default()),
        deleting: metadata.deletion_timestamp.is_some(),
        turn: metadata
            .annotations
            .and_then(|mut annotations| annotations.remove(marks::TURN)),
    }
}

pub(super) fn provider_config(object: DynamicObject) -> Option<ProviderConfigSeen> {
    let mut data = object.data;
    let config: TerraformConfig = part(&mut data, "spec")?;
    Some(ProviderConfigSeen {
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
    HeldView {
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        deleting: metadata.deletion_timestamp.is_some(),
        state_of: labels.get("tfstateWorkspace").filter(|_| holds_state).cloned(),
        moves: labels.contains_key(foreign_marks::MOVE),
        is_held: finalizers
            .iter()
            .any(|finalizer| finalizer == marks::TERRAFORM_STATE_FINALIZER),
    }
}

pub(super) fn rendering(secret: Secret) -> Option<KeptSeen> {
    let data = secret.data.unwrap_or_default();
    Some(KeptSeen {
        uid: secret.metadata.uid.unwrap_or_default(),
        kept: data.get(kept::KEY).and_then(|bytes| Kept::from_bytes(&bytes.0)),
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
