//! Events, in both groups. They are one kind whose fields have two sets of names.

use serde_json::Value;

use super::{CellSource, Column, count, string, text, text_of, wide};
use crate::table::human_age;

pub(super) fn columns() -> Vec<Column> {
    vec![
        text("Last Seen", "When it happened most recently.", |event, now| {
            last_seen(event, now).into()
        }),
        text("Type", "Normal, Warning, or others to come.", |event, _| {
            string(&event["type"])
        }),
        text("Reason", "A word for machines.", |event, _| {
            string(&event["reason"])
        }),
        text("Object", "What it happened to.", |event, _| object(event).into()),
        wide("Subobject", "Which part of the object.", |event, _| {
            string(&regarding(event)["fieldPath"])
        }),
        wide("Source", "Who reports it.", |event, _| source(event).into()),
        text("Message", "A sentence for people.", |event, _| {
            text_of(either(event, "message", "note")).trim().into()
        }),
        wide("First Seen", "When it happened first.", |event, now| {
            first_seen(event, now).into()
        }),
        wide("Count", "How often it happened.", |event, _| {
            occurrences(event).into()
        }),
        Column {
            priority: 1,
            source: CellSource::Name,
            ..Column::name()
        },
    ]
}

/// The value under the name that the core group uses, or else the one of `events.k8s.io`.
fn either<'a>(event: &'a Value, core: &str, newer: &str) -> &'a Value {
    match &event[core] {
        Value::Null => &event[newer],
        value => value,
    }
}

fn regarding(event: &Value) -> &Value {
    either(event, "involvedObject", "regarding")
}

fn first_seen(event: &Value, now: i64) -> String {
    match either(event, "firstTimestamp", "deprecatedFirstTimestamp") {
        Value::Null => human_age(&event["eventTime"], now),
        first => human_age(first, now),
    }
}

fn last_seen(event: &Value, now: i64) -> String {
    if event["series"].is_object() {
        return human_age(&event["series"]["lastObservedTime"], now);
    }
    match either(event, "lastTimestamp", "deprecatedLastTimestamp") {
        Value::Null => first_seen(event, now),
        last => human_age(last, now),
    }
}

/// An event that does not count happened once.
fn occurrences(event: &Value) -> i64 {
    if event["series"].is_object() {
        return count(&event["series"]["count"]);
    }
    count(either(event, "count", "deprecatedCount")).max(1)
}

fn object(event: &Value) -> String {
    let regarding = regarding(event);
    let kind = text_of(&regarding["kind"]).to_lowercase();
    match text_of(&regarding["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: &Value) -> String {
    let source = either(event, "source", "deprecatedSource");
    let controller = either(event, "reportingComponent", "reportingController");
    let component = [&source["component"], controller].map(text_of);
    let instance = [&source["host"], &event["reportingInstance"]].map(text_of);
    match (first_given(component), first_given(instance)) {
        (component, "") => component.to_owned(),
        (component, instance) => format!("{component}, {instance}"),
    }
}

fn first_given(texts: [&str; 2]) -> &str {
    if texts[0].is_empty() { texts[1] } else { texts[0] }
}
