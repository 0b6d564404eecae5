//! Where two sets of documents differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// One line for each difference: what is only on one side, and each leaf that changed.
pub(super) fn differences(left: &BTreeMap<String, Value>, right: &BTreeMap<String, Value>) -> Vec<String> {
    let mut lines = Vec::new();
    for key in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
        match (left.get(key), right.get(key)) {
            (Some(left), Some(right)) => compare(key, left, right, &mut lines),
            (Some(_), None) => lines.push(format!("{key} is missing")),
            (None, _) => lines.push(format!("{key} is extra")),
        }
    }
    lines
}

fn compare(path: &str, left: &Value, right: &Value, lines: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
                let absent = Value::Null;
                let (left, right) = (
                    left.get(key).unwrap_or(&absent),
                    right.get(key).unwrap_or(&absent),
                );
                compare(&format!("{path}.{key}"), left, right, lines);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                compare(&format!("{path}[{index}]"), left, right, lines);
            }
        }
        _ if left == right => {}
        _ => lines.push(format!("{path}: {left} became {right}")),
    }
}
