//! WorkspaceTemplateApply: one filling of a template, and the Workspace it makes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    captcontrolplane::reported_duration,
    duration::Duration,
    foreign::forprovider::any_object,
    references::{SecretReference, WorkspaceReference, WorkspaceTemplateReference},
};

/// Which template to fill, with what.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "WorkspaceTemplateApply",
    plural = "workspacetemplateapplies",
    singular = "workspacetemplateapply",
    shortname = "wtapply",
    category = "capt",
    category = "cluster-api",
    namespaced,
    status = "WorkspaceTemplateApplyStatus",
    derive = "PartialEq",
    doc = "WorkspaceTemplateApply fills the holes of a WorkspaceTemplate and makes a Workspace of it, which Terraform \
           then applies.",
    validation = Rule::new(
        "!has(oldSelf.status) || !has(oldSelf.status.workspaceName) || \
         self.spec.templateRef == oldSelf.spec.templateRef"
    ).message(
        "templateRef cannot be changed while the Workspace exists: make another WorkspaceTemplateApply, or delete \
         this one first"
    ).field_path(".spec.templateRef"),
    printcolumn(
        name = "WORKSPACE",
        type_ = "string",
        json_path = ".status.workspaceName",
        description = "The Workspace it makes"
    ),
    printcolumn(
        name = "APPLIED",
        type_ = "boolean",
        json_path = ".status.applied",
        description = "Whether the Workspace is what the template and the variables say"
    ),
    printcolumn(
        name = "SYNCED",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Synced')].status",
        description = "Whether Terraform could be run"
    ),
    printcolumn(
        name = "READY",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status",
        description = "Whether the infrastructure is there"
    ),
    printcolumn(
        name = "PROGRESS",
        type_ = "integer",
        json_path = ".status.progress.percentComplete",
        description = "How far the running operation is, in per cent"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "MESSAGE",
        type_ = "string",
        json_path = ".status.message",
        description = "What it does or waits for"
    ),
    printcolumn(
        name = "TEMPLATE",
        type_ = "string",
        json_path = ".spec.templateRef.name",
        description = "The WorkspaceTemplate it fills",
        priority = 1
    ),
    printcolumn(
        name = "REVISION",
        type_ = "string",
        json_path = ".status.lastAppliedRevision",
        description = "Hash of what was last applied",
        priority = 1
    ),
    printcolumn(
        name = "CLUSTER",
        type_ = "string",
        json_path = r".metadata.labels['cluster\.x-k8s\.io/cluster-name']",
        description = "The Cluster that this belongs to",
        priority = 1
    )
)]
pub struct WorkspaceTemplateApplySpec {
    /// The template to fill. Cannot be changed while the Workspace exists.
    pub template_ref: WorkspaceTemplateReference,

    /// Values of the template's variables by name. Lists, maps and objects are written as JSON. A value is put in as
    /// it is, and never read as a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("!('WORKSPACE_NAME' in self)").message(
        "remove WORKSPACE_NAME: it always is the name of the Workspace"))]
    pub variables: Option<BTreeMap<String, String>>,

    /// The revision of the template to render, as its status.revision says. Set by the owner of this object, which
    /// decides when an edit of the template reaches it. Left out, every edit does at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub template_revision: Option<String>,

    /// The Secret that the outputs are written to, in this object's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_connection_secret_to_ref: Option<SecretReference>,

    /// Secrets that must exist before the Workspace is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub wait_for_secrets: Option<Vec<SecretReference>>,

    /// Workspaces that must be ready before the Workspace is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub wait_for_workspaces: Option<Vec<WorkspaceReference>>,

    /// Keep the Workspace, its state and its infrastructure when this object is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retain_workspace_on_delete: Option<bool>,
}

/// What became of a filling.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTemplateApplyStatus {
    /// Name of the Workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_name: Option<String>,

    /// Uid of the Workspace, by which it is known again when somebody took its labels away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_uid: Option<String>,

    /// The Workspace is what the template and the variables say.
    #[serde(default)]
    pub applied: bool,

    /// When the Workspace was last made or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_time: Option<Time>,

    /// The revision of the template that was last rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_revision: Option<String>,

    /// Hash of the rendering that the Workspace has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,

    /// Hash of the rendering that Terraform last made real: the Workspace had it, and was synced and ready with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_revision: Option<String>,

    /// Hash of a rendering that Terraform got after the real one and did not bring to its end. Part of it may be real, also
    /// where it was taken back, until Terraform is done with what the Workspace has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried_revision: Option<String>,

    /// Hash of a rendering that the Workspace does not have yet, because it is being written, failed or waits for an
    /// approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_revision: Option<String>,

    /// Outputs of the Terraform module that are not sensitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub outputs: Option<BTreeMap<String, Value>>,

    /// How far the running operation of Terraform is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<WorkspaceProgress>,

    /// What it does or waits for, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// Synced and Ready as the Workspace has them, and Applied, Waiting, Approval and Paused of our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,

    /// The generation of the spec that this status speaks about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl WorkspaceTemplateApplyStatus {
    /// Whether this rendering is real, and nothing else was tried since.
    #[must_use]
    pub fn is_real(&self, revision: Option<&String>) -> bool {
        self.ready_revision.as_ref() == revision && self.tried_revision.is_none()
    }
}

/// How far an operation of Terraform is.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceProgress {
    /// What Terraform does: plan, apply or destroy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,

    /// Which try of the same it is, from 1 on. A plan that somebody only asks for is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub attempt: Option<i32>,

    /// How much of it is done, in per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub percent_complete: Option<i32>,

    /// How many resources are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources_done: Option<i64>,

    /// How many resources there are to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources_total: Option<i64>,

    /// Address of a resource that is being made, changed or destroyed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_resource: Option<String>,

    /// How long the rest will probably take, judging by earlier runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "reported_duration")]
    pub estimated_time_remaining: Option<Duration>,
}
