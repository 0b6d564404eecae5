//! What is known about an EKS control plane.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{DependencyGraph, FargateProfileStatus, HealthMetrics, ProgressInfo, RecoveryInfo};
use crate::workspacestatus::WorkspaceTemplateStatus;

/// What is known about the control plane.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CAPTControlPlaneStatus {
    /// The control plane serves.
    #[serde(default)]
    pub ready: bool,

    /// The control plane served once. Never taken back.
    #[serde(default)]
    pub initialized: bool,

    /// What Cluster API waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<CAPTControlPlaneInitialization>,

    /// The control plane runs outside the cluster, in AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_managed_control_plane: Option<bool>,

    /// The Kubernetes version that runs, written as in the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// The Kubernetes versions that run, lowest first; EKS runs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["version".into()]))]
    pub versions: Option<Vec<ReportedVersion>>,

    /// The state in one of four words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<ControlPlanePhase>,

    /// What is going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ControlPlaneState>,

    /// Where the cluster's API server answers, as host:port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,

    /// One word for what went wrong for good; what to do about it is in failureMessage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,

    /// What went wrong for good, where, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,

    /// What is known about the Workspace that makes the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_template_status: Option<WorkspaceTemplateStatus>,

    /// What became of each Fargate profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub fargate_profile_statuses: Option<Vec<FargateProfileStatus>>,

    /// How many Fargate profiles are ready, such as 2/3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fargate_profiles_ready: Option<String>,

    /// How far the running operation is, and what was done before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressInfo>,

    /// What the health checks say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthMetrics>,

    /// The running or last attempt to recover from something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryInfo>,

    /// What depends on what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<DependencyGraph>,

    /// Available, Ready, Initialized, Creating, Failed, RollingOut, FargateProfileReady, FargateProfileCreating,
    /// FargateProfileFailed, Paused and others, each with a reason and a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,

    /// The generation of the spec that this status speaks about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// What Cluster API waits for.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = json!(1)))]
pub struct CAPTControlPlaneInitialization {
    /// The API server answered and a kubeconfig exists. Never taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_initialized: Option<bool>,
}

/// A Kubernetes version that runs.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ReportedVersion {
    /// The version, written as in the spec.
    #[schemars(length(min = 1, max = 256))]
    pub version: String,
}

/// The state of a control plane in one of four words.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum ControlPlanePhase {
    /// It is being made, and does not serve yet.
    Creating,
    /// It serves.
    Ready,
    /// It does not serve, and a person must do something.
    Failed,
    /// It is going away.
    Deleting,
}

/// What is going on with a control plane.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
pub enum ControlPlaneState {
    /// No Cluster owns it yet, or its infrastructure is not ready.
    Pending,
    /// Spec, references and dependencies are being checked.
    Validating,
    /// Terraform makes or changes the EKS cluster.
    Provisioning,
    /// EKS is up; endpoint, kubeconfig and Fargate profiles are being set up.
    Configuring,
    /// All of it works.
    Ready,
    /// It serves, but not wholly as it should.
    Degraded,
    /// It does not serve, and a person must do something.
    Failed,
    /// Something is being done to repair it.
    Recovering,
    /// It is going away.
    Deleting,
}
