//! Events: the old form is taken as it comes, the new one must be complete and stays as it is.
//!
//! Rules are those of the stored form (`v1`), whichever form the request has.

use apiary_semantics::{FieldError, builtin, naming};
use serde_json::{Value, json};

const MAX_TEXT: usize = 128;
const MAX_MESSAGE: usize = 1024;

/// Fields of a `v1` event that cannot change through `events.k8s.io`, and what errors call them.
const FIXED: [(&str, &str); 13] = [
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
];

/// Checks an event as it stands in a request to `v1`.
pub(super) fn check(event: &Value) -> Vec<FieldError> {
    check_either(event, "reportingComponent")
}

/// Checks an event as it stands in a request to `events.k8s.io/v1`.
pub(super) fn check_view(event: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let to_core = |event: &Value| {
        let mut event = event.clone();
        builtin::event_to_core(&mut event);
        event
    };
    let event = to_core(event);
    let mut errors = check_either(&event, "reportingController");
    match old.map(to_core) {
        None => {
            errors.extend(check_series(&event));
            errors.extend(check_new(&event));
        }
        Some(old) => {
            if event["series"] != old["series"] {
                errors.extend(check_series(&event));
            }
            for (field, name) in FIXED {
                if event[field] != old[field] {
                    errors.push(FieldError::invalid(
                        name,
                        event[field].clone(),
                        "field is immutable",
                    ));
                }
            }
        }
    }
    errors
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// What holds for both forms. Events with an `eventTime` are new ones.
fn check_either(event: &Value, controller_field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let namespace = text(&event["metadata"], "namespace");
    let involved = text(&event["involvedObject"], "namespace");
    let is_new = !text(event, "eventTime").is_empty();
    let elsewhere = if is_new {
        involved.is_empty() && !matches!(namespace, "default" | "kube-system")
    } else if involved.is_empty() {
        !matches!(namespace, "" | "default")
    } else {
        involved != namespace
    };
    if elsewhere {
        let why = "does not match event.namespace";
        errors.push(FieldError::invalid(
            "involvedObject.namespace",
            json!(involved),
            why,
        ));
    }
    if !is_new {
        return errors;
    }
    let controller = text(event, "reportingComponent");
    if controller.is_empty() {
        errors.push(FieldError::required(controller_field, ""));
    }
    for why in naming::label_key_errors(controller) {
        errors.push(FieldError::invalid(controller_field, json!(controller), why));
    }
    for (field, required, limit) in [
        ("reportingInstance", true, MAX_TEXT),
        ("action", true, MAX_TEXT),
        ("reason", true, MAX_TEXT),
        ("message", false, MAX_MESSAGE),
    ] {
        let value = text(event, field);
        if required && value.is_empty() {
            errors.push(FieldError::required(field, ""));
        }
        if value.len() > limit {
            let why = format!("can have at most {limit} characters");
            errors.push(FieldError::invalid(field, json!(""), why));
        }
    }
    errors
}

fn check_series(event: &Value) -> Vec<FieldError> {
    let series = &event["series"];
    let mut errors = Vec::new();
    if series.is_null() {
        return errors;
    }
    if series["count"].as_i64().unwrap_or_default() < 2 {
        errors.push(FieldError::invalid(
            "series.count",
            json!(""),
            "should be at least 2",
        ));
    }
    if text(series, "lastObservedTime").is_empty() {
        errors.push(FieldError::required("series.lastObservedTime", ""));
    }
    errors
}

/// What holds for a new event that is made in its new form.
fn check_new(event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if text(event, "eventTime").is_empty() {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid(
            "type",
            json!(""),
            format!("has invalid value: {kind}"),
        ));
    }
    let source = &event["source"];
    let is_set = [
        ("firstTimestamp", !text(event, "firstTimestamp").is_empty()),
        ("lastTimestamp", !text(event, "lastTimestamp").is_empty()),
        ("count", event["count"].as_i64().unwrap_or_default() != 0),
        (
            "source",
            !text(source, "component").is_empty() || !text(source, "host").is_empty(),
        ),
    ];
    for (field, _) in is_set.iter().filter(|(_, is_set)| *is_set) {
        errors.push(FieldError::invalid(*field, json!(""), "needs to be unset"));
    }
    errors
}
