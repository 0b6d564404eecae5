//! Workspace of provider-terraform, in both of its groups: `tf.m.upbound.io/v1beta1` is namespaced,
//! `tf.upbound.io/v1beta1` is not.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Rest, forprovider::ForProvider};
use crate::references::SecretReference;

/// What a namespaced Workspace is to be like.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "tf.m.upbound.io",
    version = "v1beta1",
    kind = "Workspace",
    plural = "workspaces",
    singular = "workspace",
    category = "crossplane",
    category = "managed",
    category = "terraform",
    namespaced,
    status = "WorkspaceStatus",
    derive = "PartialEq",
    doc = "Workspace is a Terraform configuration that is kept applied.",
    printcolumn(
        name = "SYNCED",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Synced')].status"
    ),
    printcolumn(
        name = "READY",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct WorkspaceSpec {
    /// The Terraform module to run, and how.
    pub for_provider: ForProvider,

    /// What may be done: any of Observe, Create, Update, Delete and LateInitialize, or * for all. An empty list
    /// pauses the Workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub management_policies: Option<Vec<ManagementPolicy>>,

    /// Where credentials and provider configuration come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config_ref: Option<ProviderConfigReference>,

    /// The Secret that the outputs are written to, in the namespace of the Workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_connection_secret_to_ref: Option<LocalSecretReference>,
}

/// What a cluster-scoped Workspace is to be like.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "tf.upbound.io",
    version = "v1beta1",
    kind = "Workspace",
    root = "ClusterWorkspace",
    plural = "workspaces",
    singular = "workspace",
    category = "crossplane",
    category = "managed",
    category = "terraform",
    status = "WorkspaceStatus",
    derive = "PartialEq",
    doc = "Workspace is a Terraform configuration that is kept applied.",
    printcolumn(
        name = "SYNCED",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Synced')].status"
    ),
    printcolumn(
        name = "READY",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ClusterWorkspaceSpec {
    /// The Terraform module to run, and how.
    pub for_provider: ForProvider,

    /// What may be done: any of Observe, Create, Update, Delete and LateInitialize, or * for all. An empty list
    /// pauses the Workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub management_policies: Option<Vec<ManagementPolicy>>,

    /// What becomes of the infrastructure when the Workspace is deleted. Delete if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,

    /// Where credentials and provider configuration come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config_ref: Option<ProviderConfigReference>,

    /// The Secret that the outputs are written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_connection_secret_to_ref: Option<SecretReference>,

    /// The external store that the outputs are written to; known up to provider-terraform 0.21.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish_connection_details_to: Option<PublishConnectionDetailsTo>,
}

/// Something that may be done to infrastructure.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
pub enum ManagementPolicy {
    /// Look at it.
    Observe,
    /// Make it.
    Create,
    /// Change it.
    Update,
    /// Destroy it.
    Delete,
    /// Fill in what the spec leaves open.
    LateInitialize,
    /// All of it.
    #[serde(rename = "*")]
    All,
}

/// What becomes of infrastructure when its Workspace is deleted.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum DeletionPolicy {
    /// It stays.
    Orphan,
    /// It is destroyed.
    Delete,
}

/// Names a provider configuration.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigReference {
    /// ProviderConfig or ClusterProviderConfig, for namespaced Workspaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,

    /// Name of the provider configuration.
    #[schemars(length(min = 1))]
    pub name: String,

    /// How the reference is resolved, for cluster-scoped Workspaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<ResolutionPolicy>,
}

/// How a reference is resolved.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ResolutionPolicy {
    /// Required or Optional.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,

    /// Always or IfNotPresent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve: Option<String>,
}

/// Names a Secret in the namespace of the Workspace.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LocalSecretReference {
    /// Name of the Secret.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// An external store that outputs are written to.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PublishConnectionDetailsTo {
    /// Name that the outputs get in the store.
    #[schemars(length(min = 1))]
    pub name: String,

    /// The configuration of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_ref: Option<LocalSecretReference>,

    /// Labels, annotations and type of what is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ConnectionDetailsMetadata>,
}

/// Labels, annotations and type of what is written to an external store.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionDetailsMetadata {
    /// Labels to set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,

    /// Annotations to set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,

    /// Type of the Secret, where the store has such.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}

/// What is known about a Workspace.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceStatus {
    /// What the last run of Terraform found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_provider: Option<AtProvider>,

    /// Synced, Ready and others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<WorkspaceCondition>>,

    /// The generation of the spec that this status speaks about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Fields that capt does not use.
    #[serde(flatten)]
    pub rest: Rest,
}

/// What the last run of Terraform found.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AtProvider {
    /// Outputs that are not sensitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::forprovider::any_object")]
    pub outputs: Option<BTreeMap<String, Value>>,

    /// Checksum over the files of the module and its configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,

    /// The address that a Remote module was last fetched from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_source: Option<String>,

    /// Fields that capt does not use.
    #[serde(flatten)]
    pub rest: Rest,
}

/// A condition as Crossplane writes it: a message is not required.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceCondition {
    /// What it is about.
    #[serde(rename = "type")]
    pub type_: String,

    /// True, False or Unknown.
    pub status: String,

    /// One word why.
    pub reason: String,

    /// More words why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// When status changed last.
    pub last_transition_time: Time,

    /// The generation of the spec that this speaks about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
