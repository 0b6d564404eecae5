//! What our runner tells about a Workspace beside it, in a ConfigMap: how far it is, what it would change, what
//! Terraform printed.
//!
//! A Workspace's own status has no room for it: its schema is somebody else's. The runner is the only writer; the
//! controllers and the command line read. Nothing in here is a secret.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::workspacetemplateapply::WorkspaceProgress;

/// Key of the ConfigMap that holds a [`RunReport`] as JSON.
pub const REPORT_KEY: &str = "run.json";
/// Key of the ConfigMap that holds the last plan as text for people.
pub const PLAN_KEY: &str = "plan.txt";
/// Key of the ConfigMap that holds the log of the running operation, or of the last one. Plans that people ask for have
/// one of their own, so that looking never pushes out what was done.
pub const LOG_KEY: &str = "log";
/// Key of the ConfigMap that holds the log of the operation before that.
pub const PREVIOUS_LOG_KEY: &str = "log.previous";
/// Key of the ConfigMap that holds the log of the last plan that somebody asked for.
pub const PLAN_LOG_KEY: &str = "log.plan";

/// What our runner tells about a Workspace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct RunReport {
    /// API group of the Workspace.
    pub group: String,
    /// Name of the Workspace.
    pub workspace: String,
    /// What runs Terraform, such as `terraform 1.11.4` or `simulated`.
    pub engine: String,
    /// The operation that runs, or the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// How far it is, while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<WorkspaceProgress>,
    /// Resources that are worked on, and those that failed; a bounded list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceRow>,
    /// The last plan, if it would change anything or a person asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanReport>,
    /// What was made and the state does not have; a bounded list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingResource>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_missing: u32,
    /// An operation that was cut short and of which nobody knows yet what it left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<CutShort>,
    /// What Terraform warned of in the last operation, such as values for variables that the module does not declare; a
    /// bounded list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Requests of people that were answered, and the approval that was used up: the annotation, and its value at the
    /// time.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub answered: BTreeMap<String, String>,
    /// The request for another try that could not begin, because something is in the way. It is tried when that is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_retry: Option<String>,
    /// Hash of what the spec asked for when all of it was made, whatever the Secrets and ConfigMaps said that it reads. Not
    /// there while something is half made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
}

/// One operation of Terraform.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Operation {
    /// What it is: `plan`, `apply` or `destroy`.
    pub kind: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended; not there while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How it ended: `succeeded`, `failed`, `cancelled` or `interrupted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// What went wrong, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Which sort of thing went wrong: a reason of the Workspace's conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The generation of the Workspace that it was for.
    pub generation: i64,
    /// Names what Terraform was told, without telling it.
    pub inputs: String,
    /// How often in a row it failed, if it did.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures: u32,
    /// It failed, and trying again may help.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Something that was made and that the state does not have.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct MissingResource {
    /// Its address.
    pub address: String,
    /// Its id, if it was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// It was still being made, so that it may exist or not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// It was to be made, and nobody knows whether that had begun.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub planned: bool,
    /// The id of what it takes the place of, if it takes one; empty if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// The provisioner of it that was cut off, if the state has it all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioner: Option<String>,
}

/// An operation whose runner did not live to tell its end.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct CutShort {
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// What it was making or going to make; a bounded list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub making: Vec<MissingResource>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u32,
}

/// One resource that is being worked on.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceRow {
    /// Its address.
    pub address: String,
    /// What happens to it, such as `create`.
    pub action: String,
    /// `running` or `failed`.
    pub state: String,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// What a plan would do.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct PlanReport {
    /// What an approval has to name.
    pub id: String,
    /// In a few words, such as `1 to add, 2 to change`.
    pub summary: String,
    /// It deletes or replaces something that works.
    pub destructive: bool,
    /// It waits for an approval.
    pub awaits_approval: bool,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_at: Option<Timestamp>,
    /// The generation of the Workspace that it was made for.
    pub generation: i64,
    /// What would change; a bounded list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<PlannedChange>,
    /// What somebody else changed since the last run; a bounded list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<PlannedChange>,
    /// How outputs change; a bounded list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<ChangedValue>,
    /// What else would be made, without what it is made of; a bounded list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<PlannedChange>,
    /// How many more of those there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

/// What happens to one resource.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct PlannedChange {
    /// Its address.
    pub address: String,
    /// What happens, such as `replace`.
    pub action: String,
    /// Why, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The id of what is replaced, if something is and that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// The attributes that change, if they are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// What they are and will be, as far as anybody may see it; a bounded list, and empty in reports of runners that did
    /// not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ChangedValue>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_values: u32,
}

/// How one value changes, in words for people: JSON that may be cut, `(sensitive value)` or `(known after apply)`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangedValue {
    /// Which attribute or output.
    pub path: String,
    /// What it is, if it is anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it will be, if it will be anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// It cannot change in place, so that the resource is replaced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forces_replacement: bool,
}
