//! What a plan would do, as data: counted, named, judged and put into words.
//!
//! A plan is read from `terraform show -json PLAN`, which tells most, or gathered from the event stream, which is there
//! without a second process. Values are kept as far as Terraform does not mark them as sensitive, and are for people
//! only: nothing is decided by them.

mod dependencies;
mod id;
mod paths;
mod show;
mod summary;
mod text;
mod values;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stream::{Action, Change, Event, Kind, Severity};

pub use dependencies::dependencies;
pub use id::PlanId;
pub use paths::Sides;
pub use show::{PlanError, parse_show};
pub use summary::Summary;
pub use values::{AttributeChange, Marked, SENSITIVE, Shown, UNKNOWN, attribute_changes, whole_change};

/// What a plan would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// What happens to resources, ordered by address. Resources that stay as they are do not appear.
    pub changes: Vec<ResourceChange>,
    /// What happens to outputs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Action>,
    /// What those outputs are and will be, if that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_values: Vec<AttributeChange>,
    /// What somebody else changed since the last run, ordered by address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<ResourceChange>,
    /// Planning failed half-way, so that this is not the whole plan and must not be applied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub errored: bool,
}

/// What happens to one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceChange {
    /// Its address.
    pub address: String,
    /// Key of a leftover object of that address, if it is about that and not about the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deposed: Option<String>,
    /// Where it was before, if it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_address: Option<String>,
    /// Its type.
    pub resource_type: String,
    /// What happens.
    pub action: Action,
    /// Why, in the words of the event stream, such as `tainted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The id that it has now, if that is known and no secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The attributes that change, if they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The attributes that cannot change in place, if they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replace_paths: Vec<String>,
    /// What the attributes that change are and will be, if that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<AttributeChange>,
}

impl ResourceChange {
    /// It was marked as broken when its creation failed, so that its end is no loss.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.reason.as_deref() == Some("tainted") && self.deposed.is_none()
    }

    /// It ends something that works, or may work.
    ///
    /// A leftover of an unfinished replacement counts: it may still be the one that serves.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        matches!(self.action, Action::Delete | Action::Replace) && !self.is_tainted()
    }
}

impl Plan {
    /// The plan that the events of `terraform plan` tell of. Ids and attributes are not among what they tell.
    #[must_use]
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut plan = Self::default();
        for event in events {
            match &event.kind {
                Kind::PlannedChange(change) => plan.changes.push(from_event(change)),
                Kind::Diagnostic(diagnostic) => plan.errored |= diagnostic.severity == Severity::Error,
                Kind::ResourceDrift(change) => plan.drift.push(from_event(change)),
                Kind::Outputs(outputs) => {
                    plan.outputs = outputs
                        .iter()
                        .filter_map(|(name, output)| Some((name.clone(), output.action.clone()?)))
                        .filter(|(_, action)| *action != Action::Noop)
                        .collect();
                }
                _ => {}
            }
        }
        plan.normalised()
    }

    /// There is nothing to apply.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.outputs.is_empty()
    }

    /// It deletes or replaces something that works, so that it needs an approval.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        self.destroyed().next().is_some()
    }

    /// What it deletes or replaces although it works.
    pub fn destroyed(&self) -> impl Iterator<Item = &ResourceChange> {
        self.changes.iter().filter(|change| change.is_destructive())
    }

    /// The same plan always looks the same: Terraform's order depends on its threads.
    fn normalised(mut self) -> Self {
        for list in [&mut self.changes, &mut self.drift] {
            list.retain(|change| change.action != Action::Noop);
            list.sort();
            list.dedup();
        }
        self
    }
}

fn from_event(change: &Change) -> ResourceChange {
    ResourceChange {
        address: change.resource.addr.clone(),
        previous_address: change
            .previous_resource
            .as_ref()
            .map(|resource| resource.addr.clone()),
        resource_type: change.resource.resource_type.clone(),
        action: change.action.clone(),
        reason: change.reason.clone(),
        ..ResourceChange::default()
    }
}

#[cfg(test)]
mod tests;
