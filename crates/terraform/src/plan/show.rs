//! Reading `terraform show -json PLAN`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{
    Marked, Plan, ResourceChange, attribute_changes,
    paths::{self, Sides},
    whole_change,
};
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
    let marked = show.marked();
    let resource = |one| resource_change(one, &marked);
    let outputs = show.output_changes.iter();
    let outputs: BTreeMap<String, Action> = outputs
        .map(|(name, change)| (name.clone(), Action::from_list(&change.actions)))
        .filter(|(_, action)| *action != Action::Noop)
        .collect();
    let changed = show
        .output_changes
        .iter()
        .filter(|(name, _)| outputs.contains_key(*name));
    let plan = Plan {
        changes: show.resource_changes.into_iter().map(resource).collect(),
        output_values: changed
            .map(|(name, change)| whole_change(name, &change.sides(), &marked))
            .collect(),
        outputs,
        drift: show.resource_drift.into_iter().map(resource).collect(),
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
    #[serde(default)]
    variables: BTreeMap<String, ShownVariable>,
    #[serde(default)]
    configuration: Configuration,
}

#[derive(Deserialize)]
struct ShownVariable {
    #[serde(default)]
    value: Value,
}

#[derive(Default, Deserialize)]
struct Configuration {
    #[serde(default)]
    root_module: RootModule,
}

#[derive(Default, Deserialize)]
struct RootModule {
    #[serde(default)]
    variables: BTreeMap<String, Declared>,
}

#[derive(Deserialize)]
struct Declared {
    #[serde(default)]
    sensitive: bool,
}

impl Show {
    /// Everything that is marked as sensitive anywhere.
    fn marked(&self) -> Marked {
        let mut marked = Marked::default();
        let declared = &self.configuration.root_module.variables;
        for (name, variable) in &self.variables {
            let is_sensitive = declared.get(name).is_some_and(|declared| declared.sensitive);
            marked.add(&variable.value, &Value::Bool(is_sensitive));
        }
        let resources = self.resource_changes.iter().chain(&self.resource_drift);
        let changes = resources
            .map(|resource| &resource.change)
            .chain(self.output_changes.values());
        for change in changes {
            marked.add(&change.before, &change.before_sensitive);
            marked.add(&change.after, &change.after_sensitive);
        }
        marked
    }
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

impl ShownChange {
    fn sides(&self) -> Sides<'_> {
        Sides {
            before: &self.before,
            after: &self.after,
            unknown: &self.after_unknown,
            before_sensitive: &self.before_sensitive,
            after_sensitive: &self.after_sensitive,
        }
    }
}

fn resource_change(resource: ShownResource, marked: &Marked) -> ResourceChange {
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
    let mut replace_paths: Vec<String> = change
        .replace_paths
        .iter()
        .map(|steps| paths::joined(steps))
        .collect();
    replace_paths.sort();
    ResourceChange {
        address: resource.address,
        deposed: resource.deposed,
        previous_address: resource.previous_address,
        resource_type: resource.resource_type,
        reason: resource.action_reason.map(|reason| reason_of_the_stream(&reason)),
        id: change.before["id"]
            .as_str()
            .filter(|_| !id_is_secret)
            .map(str::to_owned),
        paths: if compares {
            paths::changed(&change.sides())
        } else {
            Vec::new()
        },
        values: attribute_changes(&change.sides(), marked, &action, &replace_paths),
        replace_paths,
        action,
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
