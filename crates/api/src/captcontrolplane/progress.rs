//! How far an operation is, and what was done before.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::Duration;

/// How far the running operation is, and what was done before.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ProgressInfo {
    /// What is being done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_operation: Option<String>,

    /// How much of it is done, in per cent. Never falls within one operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub percent_complete: Option<i32>,

    /// How long the rest will probably take, judging by operations of the same kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "reported_duration")]
    pub estimated_time_remaining: Option<Duration>,

    /// What was done before, the latest last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 20))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub history: Option<Vec<OperationRecord>>,
}

/// Reports may be zero and need no admission rule.
pub(crate) fn reported_duration(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string"})
}

/// An operation that is over.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct OperationRecord {
    /// What was done.
    pub operation: String,

    /// When it began.
    pub start_time: Time,

    /// When the step began that it is at, if that is not its first: an upgrade goes through one minor version after the
    /// other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_start_time: Option<Time>,

    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Time>,

    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<OperationResult>,

    /// More about how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How an operation ended.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum OperationResult {
    /// As it should.
    Succeeded,
    /// With an error.
    Failed,
    /// Before its end, because something else was wanted.
    Cancelled,
}
