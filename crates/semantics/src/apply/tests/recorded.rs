//! Replays requests of which it is recorded what the field manager of Kubernetes 1.36 made of them.
//!
//! Each line of `recorded.jsonl` is the life of one object: random applies and updates by several managers, on the
//! object and on its status, each with the object that resulted or the conflict that was reported.

use serde_json::{Value, json};

use super::super::remove::drop_nulls;
use super::super::{Type, Writer, apply, track_update};
use super::build;

const NOW: &str = "2026-01-02T03:04:05Z";

/// Makes all times equal and orders the entries, which Kubernetes orders by time.
fn normalize(object: &mut Value) {
    let Some(entries) = object
        .get_mut("metadata")
        .and_then(|m| m.get_mut("managedFields"))
        .and_then(Value::as_array_mut)
    else {
        return;
    };
    for entry in entries.iter_mut() {
        if let Some(time) = entry.get_mut("time") {
            *time = json!(NOW);
        }
    }
    entries.sort_by_key(Value::to_string);
}

/// Kubernetes lists several errors of one object in any order.
fn sorted_lines(message: &str) -> String {
    let mut lines: Vec<_> = message.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

fn put(object: &mut Value, name: &str, value: Option<&Value>) {
    let fields = object.as_object_mut().unwrap();
    match value {
        Some(value) => fields.insert(name.to_owned(), value.clone()),
        None => fields.remove(name),
    };
}

/// Does what the endpoint does around the field manager.
fn replay(schema: &crate::schema::Schema, live: Option<&Value>, step: &Value) -> Result<Value, String> {
    let subresource = step["subresource"].as_str().unwrap();
    let reset: &[&str] = if subresource.is_empty() {
        &["status"]
    } else {
        &["metadata", "spec"]
    };
    let manager = step["manager"].as_str().unwrap();
    let writer = Writer {
        manager,
        api_version: "example.com/v1",
        subresource,
        now: NOW,
    };
    let mut new = step["object"].clone();
    if step["op"] == "apply" {
        let force = step["force"] == true;
        new = apply(schema, live, &new, writer, force, reset).map_err(|error| error.status_message())?;
    } else {
        if let (Some(live), "status") = (live, subresource) {
            let status = new.get("status").cloned();
            new = live.clone();
            put(&mut new, "status", status.as_ref());
        } else {
            put(&mut new, "status", live.and_then(|live| live.get("status")));
        }
        drop_nulls(&mut new, Type::document(schema));
        track_update(schema, live, &mut new, writer, reset);
    }
    // The answers were recorded from a field manager whose objects lost their nulls.
    drop_nulls(&mut new, Type::document(schema));
    let metadata = new["metadata"].as_object_mut().unwrap();
    metadata.retain(|_, value| !value.is_null());
    metadata.insert("uid".to_owned(), json!("u"));
    Ok(new)
}

#[test]
fn does_what_kubernetes_did() {
    let schema = build::schema(&serde_json::from_str(include_str!("thing.schema.json")).unwrap());
    for (life, line) in include_str!("recorded.jsonl").lines().enumerate() {
        let steps: Vec<Value> = serde_json::from_str(line).unwrap();
        let mut live: Option<Value> = None;
        for (at, step) in steps.iter().enumerate() {
            let expected = match (step.get("result"), step.get("conflict").or(step.get("error"))) {
                (Some(result), _) => {
                    let mut result = result.clone();
                    normalize(&mut result);
                    Ok(result)
                }
                (None, message) => Err(sorted_lines(message.unwrap().as_str().unwrap())),
            };
            let got = replay(&schema, live.as_ref(), step)
                .map_err(|message| sorted_lines(&message))
                .map(|mut object| {
                    normalize(&mut object);
                    object
                });
            assert_eq!(got, expected, "object {life}, request {at}");
            live = expected.ok().or(live);
        }
    }
}
