//! The columns of built-in kinds: the headings and cells that people know from real clusters.
//!
//! Cells read defaulted objects as a server stores them, but show something sensible for any document.

mod event;
mod misc;
mod network;
mod node;
mod pod;
mod rbac;
mod storage;
mod workload;

use serde_json::Value;

use super::{CREATED_DESCRIPTION, CellSource, Column};

type Compute = fn(&Value, i64) -> Value;

/// Columns of a built-in kind; Name and Age for those without columns of their own.
#[must_use]
pub fn builtin_columns(group: &str, kind: &str) -> Vec<Column> {
    match (group, kind) {
        ("", "ConfigMap") => misc::config_map(),
        ("", "Endpoints") => network::endpoints(),
        ("" | "events.k8s.io", "Event") => event::columns(),
        ("", "Namespace") => misc::namespace(),
        ("", "Node") => node::columns(),
        ("", "PersistentVolume") => storage::volume(),
        ("", "PersistentVolumeClaim") => storage::claim(),
        ("", "Pod") => pod::columns(),
        ("", "Secret") => misc::secret(),
        ("", "Service") => network::service(),
        ("apps", "DaemonSet") => workload::daemon_set(),
        ("apps", "Deployment") => workload::deployment(),
        ("apps", "ReplicaSet") => workload::replica_set(),
        ("apps", "StatefulSet") => workload::stateful_set(),
        ("batch", "CronJob") => workload::cron_job(),
        ("batch", "Job") => workload::job(),
        ("apiregistration.k8s.io", "APIService") => misc::api_service(),
        ("coordination.k8s.io", "Lease") => misc::lease(),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(),
        ("scheduling.k8s.io", "PriorityClass") => misc::priority_class(),
        ("storage.k8s.io", "StorageClass") => storage::class(),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => misc::webhook_configuration(),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => misc::admission_policy(),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            misc::admission_policy_binding()
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => rbac::binding(),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole")
        | ("apiextensions.k8s.io", "CustomResourceDefinition") => vec![Column::name(), created_at()],
        _ => vec![Column::name(), age()],
    }
}

fn column(name: &str, kind: &str, priority: i64, description: &str, compute: Compute) -> Column {
    Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: String::new(),
        description: description.to_owned(),
        priority,
        source: CellSource::Computed(compute),
    }
}

fn text(name: &str, description: &str, compute: Compute) -> Column {
    column(name, "string", 0, description, compute)
}

/// A text that only `-o wide` shows.
fn wide(name: &str, description: &str, compute: Compute) -> Column {
    column(name, "string", 1, description, compute)
}

fn integer(name: &str, description: &str, compute: Compute) -> Column {
    column(name, "integer", 0, description, compute)
}

/// Built-in kinds say that their age is a string.
fn age() -> Column {
    Column::age("string")
}

/// The time of creation itself, for kinds that show it instead of an age.
fn created_at() -> Column {
    column("Created At", "date", 0, CREATED_DESCRIPTION, |object, _| {
        string(&object["metadata"]["creationTimestamp"])
    })
}

/// A string cell; empty for anything else.
fn string(value: &Value) -> Value {
    text_of(value).into()
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The string, or `otherwise` if there is none.
fn text_or<'a>(value: &'a Value, otherwise: &'a str) -> &'a str {
    match text_of(value) {
        "" => otherwise,
        text => text,
    }
}

/// A count; zero if there is none.
fn count(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// How many members or items there are.
fn size(value: &Value) -> i64 {
    let size = match value {
        Value::Object(members) => members.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Strings with commas between.
fn joined<'a>(texts: impl IntoIterator<Item = &'a str>, comma: &str) -> String {
    let mut joined = String::new();
    for (index, text) in texts.into_iter().enumerate() {
        if index > 0 {
            joined.push_str(comma);
        }
        joined.push_str(text);
    }
    joined
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    items(&object["status"]["conditions"])
        .iter()
        .find(|condition| condition["type"] == kind)
}

fn has_condition(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}

fn is_terminating(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// `a=b,c=d`, or `<none>`.
fn labels(value: &Value) -> String {
    let pairs: Vec<String> = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", text_of(value)))
        .collect();
    if pairs.is_empty() {
        "<none>".to_owned()
    } else {
        pairs.join(",")
    }
}

/// A `metav1.LabelSelector` in the form of the query parameter; empty if it selects everything.
fn label_selector(selector: &Value) -> String {
    let mut terms: Vec<(&str, String)> = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        terms.push((key, format!("{key}={}", text_of(value))));
    }
    for expression in items(&selector["matchExpressions"]) {
        let key = text_of(&expression["key"]);
        let mut values: Vec<&str> = items(&expression["values"]).iter().map(text_of).collect();
        values.sort_unstable();
        let values = values.join(",");
        let term = match text_of(&expression["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return "<error>".to_owned(),
        };
        terms.push((key, term));
    }
    terms.sort_by_key(|(key, _)| *key);
    joined(terms.iter().map(|(_, term)| term.as_str()), ",")
}

fn label_selector_or_none(selector: &Value) -> String {
    match label_selector(selector) {
        empty if empty.is_empty() => "<none>".to_owned(),
        shown => shown,
    }
}
