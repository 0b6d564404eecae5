//! Order, equality and printing of JSON values as server-side apply needs them.
//!
//! Numbers are compared by what they mean, so `1` and `1.0` are the same list key; everything has a total order because
//! sets of paths are kept sorted.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Rank of a value's type in the total order: numbers, strings, booleans, lists, maps, null.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn integer(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (integer(left), integer(right)) {
        (Some(l), Some(r)) => l.cmp(&r),
        _ => {
            let (l, r) = (
                left.as_f64().unwrap_or_default(),
                right.as_f64().unwrap_or_default(),
            );
            l.partial_cmp(&r).unwrap_or(Ordering::Equal)
        }
    }
}

/// A total order over values of any type.
pub(super) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(l), Value::Number(r)) => compare_numbers(l, r),
        (Value::String(l), Value::String(r)) => l.cmp(r),
        (Value::Bool(l), Value::Bool(r)) => l.cmp(r),
        (Value::Array(l), Value::Array(r)) => l
            .iter()
            .zip(r)
            .map(|(a, b)| compare(a, b))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| l.len().cmp(&r.len())),
        (Value::Object(l), Value::Object(r)) => l
            .iter()
            .zip(r)
            .map(|((ka, va), (kb, vb))| ka.cmp(kb).then_with(|| compare(va, vb)))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| l.len().cmp(&r.len())),
        _ => rank(left).cmp(&rank(right)),
    }
}

/// Whether two values mean the same.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    compare(left, right).is_eq()
}

/// A string in double quotes with the usual escapes.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A value inside a printed path: strings quoted, the rest plain.
pub(super) fn in_path(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(in_path).collect::<Vec<_>>().join(","))
        }
        Value::Object(fields) => fields.iter().fold(String::new(), |mut out, (key, value)| {
            let _ = write!(out, "{key}={}", in_path(value));
            out
        }),
        scalar => scalar.to_string(),
    }
}

/// A value as error messages about wrong types show it: `map[a:1 b:[x y]]`.
pub(super) fn in_message(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(in_message).collect::<Vec<_>>().join(" "))
        }
        Value::Object(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(key, value)| format!("{key}:{}", in_message(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
        scalar => scalar.to_string(),
    }
}
