//! One instance as it is and as it is wanted.

use std::collections::{BTreeMap, BTreeSet};

use capt_terraform::{
    plan::{AttributeChange, Marked, ResourceChange, Sides, attribute_changes},
    stream::{Action, Diagnostic},
};
use hcl::Value;
use serde_json::{Map, Value as Json};

use super::{
    behaviour::Drifted,
    configuration::Resource,
    state::{Instance, TERRAFORM_DATA},
    variables::error,
};

/// What happens to an instance, and why.
pub(super) fn decide(
    resource: &Resource,
    before: Option<&Instance>,
    attributes: &Map<String, Json>,
    has_drifted: bool,
) -> (Action, Option<&'static str>) {
    let Some(before) = before else {
        return (Action::Create, None);
    };
    if before.tainted {
        return (Action::Replace, Some("tainted"));
    }
    let trigger =
        |attributes: &Map<String, Json>| attributes.get("triggers_replace").cloned().unwrap_or_default();
    if resource.type_ == TERRAFORM_DATA && trigger(&before.attributes) != trigger(attributes) {
        return (Action::Replace, Some("cannot_update"));
    }
    if has_drifted || !changed(before, attributes).is_empty() {
        return (Action::Update, None);
    }
    (Action::Noop, None)
}

/// The names of attributes that differ.
pub(super) fn changed(before: &Instance, after: &Map<String, Json>) -> Vec<String> {
    let value =
        |attributes: &Map<String, Json>, name: &str| attributes.get(name).cloned().unwrap_or_default();
    let names: BTreeSet<&String> = before.attributes.keys().chain(after.keys()).collect();
    let differ = names
        .into_iter()
        .filter(|name| *name != "id" && value(&before.attributes, name) != value(after, name));
    differ.cloned().collect()
}

/// How attributes change, as far as anybody may see it. An id that is going to be made up is not known before.
pub(super) fn values(
    before: Option<&Instance>,
    after: &Instance,
    secret: &Json,
    action: &Action,
    replace_paths: &[String],
) -> Vec<AttributeChange> {
    let object = |instance: &Instance| Json::Object(instance.attributes.clone());
    let is_new = matches!(action, Action::Create | Action::Replace);
    attribute_changes(
        &Sides {
            before: &before.map_or(Json::Null, object),
            after: &object(after),
            unknown: &serde_json::json!({"id": is_new}),
            before_sensitive: secret,
            after_sensitive: secret,
        },
        &Marked::default(),
        action,
        replace_paths,
    )
}

pub(super) fn drift_of(address: &str, drifted: Drifted, before: &Instance) -> ResourceChange {
    ResourceChange {
        address: address.to_owned(),
        resource_type: before.type_.clone(),
        action: match drifted {
            Drifted::Changed => Action::Update,
            Drifted::Deleted => Action::Delete,
        },
        id: before.id().map(str::to_owned),
        ..ResourceChange::default()
    }
}

pub(super) fn cannot_be_destroyed(address: &str) -> Diagnostic {
    error(
        "Instance cannot be destroyed",
        format!(
            "Resource {address} has lifecycle.prevent_destroy set, but the plan calls for it to be destroyed."
        ),
    )
}

/// The value of a resource: one object, a list, or a map.
pub(super) fn gathered(instances: Vec<(Option<Json>, Map<String, Json>)>) -> Value {
    let is_single = matches!(&instances[..], [(None, _)]);
    let is_map = instances
        .first()
        .is_some_and(|(key, _)| matches!(key, Some(Json::String(_))));
    let mut values = instances
        .into_iter()
        .map(|(key, attributes)| (key, to_hcl(&attributes)));
    if is_single {
        return values.next().map(|(_, value)| value).unwrap_or_default();
    }
    if is_map {
        let fields = values.filter_map(|(key, value)| Some((key?.as_str()?.to_owned(), value)));
        return Value::Object(fields.collect());
    }
    values.map(|(_, value)| value).collect()
}

pub(super) fn to_hcl(attributes: &Map<String, Json>) -> Value {
    let fields: BTreeMap<&String, &Json> = attributes.iter().collect();
    serde_json::to_value(fields)
        .and_then(serde_json::from_value)
        .unwrap_or_default()
}
