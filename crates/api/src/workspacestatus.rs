//! What CAPTCluster and CAPTControlPlane report about the Terraform workspace behind them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// What is known about the Workspace behind this object.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTemplateStatus {
    /// The Workspace is applied, synced and ready for what is wanted now.
    #[serde(default)]
    pub ready: bool,

    /// One word about the Workspace, usually the reason of its Ready condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,

    /// Name of the Workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_name: Option<String>,

    /// Hash of the rendering that was last applied with success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,

    /// When a rendering was last applied with success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_time: Option<Time>,

    /// Hash of the rendering that failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failed_revision: Option<String>,

    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure_message: Option<String>,

    /// Outputs of the Terraform module that are not sensitive; lists and maps as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<BTreeMap<String, String>>,
}
