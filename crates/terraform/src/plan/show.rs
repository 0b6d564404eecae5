//! Reading `terraform show -json PLAN`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Plan, ResourceChange, paths};
use crate::stream::Action;

/// Why a plan could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It is not the JSON of a plan.
    #[error("terraform show printed something that is not a plan")]
    Json(#[source] serde_json::Error),
    /// It is of a kind that this program is too old for.
    #[error("the plan has format {0}, and only 0 and 1 are known")]
    Format(String),
}

/// The plan in this output of `terraform show -json PLAN`.
///
/// # Errors
/// If it is not a plan, or one of a format that we do not know.
pub fn parse_show(json: &[u8]) -> Result<Plan, PlanError> {
    let show: Show = serde_json::from_slice(json).map_err(PlanError::Json)?;
    if !matches!(show.format_version.split('.').next(), Some("0" | "1")) {
        return Err(PlanError::Format(show.format_version));
    }
    let outputs = show
        .output_changes
        .into_iter()
        .map(|(name, change)| (name, Action::from_list(&change.actions)));
    let plan = Plan {
        changes: show.resource_changes.into_iter().map(resource_change).collect(),
        outputs: outputs.filter(|(_, action)| *action != Action::Noop).collect(),
        drift: show.resource_drift.into_iter().map(resource_change).collect(),
        errored: show.errored,
    };
    Ok(plan.normalised())
}

#[derive(Deserialize)]
struct Show {
    format_version: String,
    #[serde(default)]
    resource_changes: Vec<ShownResource>,
    #[serde(default)]
    resource_drift: Vec<ShownResource>,
    #[serde(default)]
    output_changes: BTreeMap<String, ShownChange>,
    #[serde(default)]
    errored: bool,
}

#[derive(Deserialize)]
struct ShownResource {
    address: String,
    previous_address: Option<String>,
    deposed: Option<String>,
    #[serde(default, rename = "type")]
    resource_type: String,
    action_reason: Option<String>,
    change: ShownChange,
}

#[derive(Deserialize)]
struct ShownChange {
    #[serde(default)]
    actions: Vec<String>,
    #[serde(default)]
    before: Value,
    #[serde(default)]
    after: Value,
    #[serde(default)]
    after_unknown: Value,
    #[serde(default)]
    before_sensitive: Value,
    #[serde(default)]
    after_sensitive: Value,
    #[serde(default)]
    replace_paths: Vec<Vec<Value>>,
    importing: Option<Value>,
}

fn resource_change(resource: ShownResource) -> ResourceChange {
    let change = resource.change;
    let id_is_secret =
        change.before_sensitive == Value::Bool(true) || change.before_sensitive["id"] == Value::Bool(true);
    let action = match Action::from_list(&change.actions) {
        Action::Noop if change.importing.is_some() => Action::Import,
        Action::Noop if resource.previous_address.is_some() => Action::Move,
        action => action,
    };
    // What is made or goes has all its attributes, which would only hide those that matter.
    let compares = matches!(action, Action::Update | Action::Replace);
    ResourceChange {
        address: resource.address,
        deposed: resource.deposed,
        previous_address: resource.previous_address,
        resource_type: resource.resource_type,
        action,
        reason: resource.action_reason.map(|reason| reason_of_the_stream(&reason)),
        id: change.before["id"]
            .as_str()
            .filter(|_| !id_is_secret)
            .map(str::to_owned),
        paths: if compares {
            paths::changed(&paths::Sides {
                before: &change.before,
                after: &change.after,
                unknown: &change.after_unknown,
                before_sensitive: &change.before_sensitive,
                after_sensitive: &change.after_sensitive,
            })
        } else {
            Vec::new()
        },
        replace_paths: {
            let mut paths: Vec<String> = change
                .replace_paths
                .iter()
                .map(|steps| paths::joined(steps))
                .collect();
            paths.sort();
            paths
        },
    }
}

/// The stream and plan files have different words for the same reasons.
fn reason_of_the_stream(reason: &str) -> String {
    match reason {
        "replace_by_request" => "requested".to_owned(),
        "replace_by_triggers" => "replace_triggered_by".to_owned(),
        other => other.strip_prefix("replace_because_").unwrap_or(other).to_owned(),
    }
}
