//! What is done by itself when something breaks, and how that goes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::{Duration, SHAPE};

/// What is done by itself when something breaks.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RecoverySpec {
    /// Whether anything is done at all. True if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,

    /// How often to try before a person is asked. 5 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub max_retries: Option<i32>,

    /// How long to wait between tries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_config: Option<BackoffConfig>,

    /// What to try, in this order, in place of what each health check would try.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub actions: Option<Vec<RecoveryAction>>,
}

/// How long to wait between tries.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(format!(
    "!has(self.initial) || !has(self.max) || !self.initial.matches('^{SHAPE}$') || \
     !self.max.matches('^{SHAPE}$') || duration(self.initial) <= duration(self.max)"
)).message("write a max that is not shorter than initial").field_path(".max"))]
pub struct BackoffConfig {
    /// The first wait. 30s if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<Duration>,

    /// By how much each wait is longer than the one before. 2 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10))]
    pub factor: Option<i32>,

    /// The longest wait. 10m if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Duration>,

    /// By how many per cent a wait may be shorter or longer, so that many clusters do not try at the same moment.
    /// 10 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub jitter: Option<i32>,
}

/// Something to try.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryAction {
    /// What to do.
    #[serde(rename = "type")]
    pub type_: RecoveryActionType,

    /// Details, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 16))]
    pub parameters: Option<BTreeMap<String, String>>,

    /// How long it may take, such as 10m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

/// What can be done to recover.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum RecoveryActionType {
    /// Let the Workspace run again.
    RetryWorkspace,
    /// Render the template again.
    Rerender,
    /// Read the connection Secrets again.
    RefreshSecrets,
    /// Make the kubeconfig anew.
    RenewKubeconfig,
    /// Release the lock of a Terraform run that is dead.
    ReleaseStateLock,
    /// Make the Workspace anew on the state that it had.
    RecreateWorkspace,
}

/// The running or last attempt to recover from something.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryInfo {
    /// The health check that asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,

    /// What is or was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<RecoveryActionType>,

    /// Which try this is, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i32>,

    /// After how many tries a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<i32>,

    /// How it ended, or that it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RecoveryOutcome>,

    /// When this try began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,

    /// When the next try begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Time>,

    /// Why it is tried, or why it ended so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How an attempt to recover ended, or that it runs.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum RecoveryOutcome {
    /// It runs.
    Running,
    /// It waits for a person's approval, because it would destroy or replace something that serves.
    AwaitingApproval,
    /// It failed, and will be tried again.
    Retrying,
    /// It helped.
    Succeeded,
    /// All tries are used up: a person must do something.
    Exhausted,
}
