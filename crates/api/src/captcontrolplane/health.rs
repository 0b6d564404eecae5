//! What the health checks say.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the health checks say.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HealthMetrics {
    /// What the checks say together: the worst of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<HealthStatus>,

    /// What each check says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub checks: Option<Vec<HealthCheck>>,
}

/// What one health check says.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HealthCheck {
    /// Name of the check: Dependencies, Workspace, Endpoint, Secrets, Fargate or Drift.
    pub name: String,

    /// What it says.
    pub status: HealthStatus,

    /// Since when it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,

    /// Why it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The outcome of a health check.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum HealthStatus {
    /// All is well.
    Healthy,
    /// It works, but not wholly as it should.
    Degraded,
    /// It does not work.
    Unhealthy,
    /// It cannot be told.
    Unknown,
}
