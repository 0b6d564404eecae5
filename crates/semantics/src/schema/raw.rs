//! Reading an OpenAPI schema that is still JSON. What has the wrong JSON type reads as absent.

use serde_json::{Map, Value};

pub(super) fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or_default()
}

pub(super) fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema
        .get(key)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

pub(super) fn strings<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    list(schema, key).iter().filter_map(Value::as_str)
}

/// The entries of an object-valued keyword.
pub(super) fn entries<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema.get(key).and_then(Value::as_object).into_iter().flatten()
}

/// A keyword that is set and not null.
pub(super) fn set<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    schema.get(key).filter(|value| !value.is_null())
}

/// `items`, if it is one schema.
pub(super) fn items(schema: &Value) -> Option<&Value> {
    schema.get("items").filter(|items| items.is_object())
}

/// The schema inside `additionalProperties`.
pub(super) fn additional(schema: &Value) -> Option<&Value> {
    schema
        .get("additionalProperties")
        .filter(|schema| schema.is_object())
}

/// Whether Go, decoding this keyword, would be left with its zero value.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        Value::Array(value) => value.is_empty(),
        Value::Object(value) => Map::is_empty(value),
    }
}
