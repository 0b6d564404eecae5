//! `metadata`: the part of a document that every kind shares.

use apiary_semantics::schema::prune_object_meta;
use serde_json::{Map, Value};

/// What a field of ObjectMeta holds.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Number,
    Texts,
    TextMap,
    Objects,
}

const FIELDS: [(&str, Shape); 15] = [
    ("annotations", Shape::TextMap),
    ("creationTimestamp", Shape::Text),
    ("deletionGracePeriodSeconds", Shape::Number),
    ("deletionTimestamp", Shape::Text),
    ("finalizers", Shape::Texts),
    ("generateName", Shape::Text),
    ("generation", Shape::Number),
    ("labels", Shape::TextMap),
    ("managedFields", Shape::Objects),
    ("name", Shape::Text),
    ("namespace", Shape::Text),
    ("ownerReferences", Shape::Objects),
    ("resourceVersion", Shape::Text),
    ("selfLink", Shape::Text),
    ("uid", Shape::Text),
];

/// Makes `metadata` an object with known, well-typed fields and nothing null or empty; returns the unknown fields.
/// The error is a sentence about what has the wrong type. Everything after this may index into `metadata` without fear.
pub(crate) fn normalise(document: &mut Value) -> Result<Vec<String>, String> {
    let Some(root) = document.as_object_mut() else {
        return Err("json: the document is no object".to_owned());
    };
    let metadata = root
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    if !metadata.is_object() {
        return Err(format!(
            "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
            go_type(metadata)
        ));
    }
    let unknown = prune_object_meta(metadata);
    let Some(fields) = metadata.as_object_mut() else {
        return Ok(unknown);
    };
    // An empty list of managers means "forget them", which is a wish of its own.
    fields.retain(|name, value| !value.is_null() && (name == "managedFields" || !is_empty(value)));
    for (name, shape) in FIELDS {
        if let Some(value) = fields.get_mut(name)
            && let Some((expected, got)) = mistyped(value, shape)
        {
            return Err(format!(
                "json: cannot unmarshal {got} into Go struct field ObjectMeta.{name} of type {expected}"
            ));
        }
    }
    Ok(unknown)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The expected Go type and the JSON type instead, if they do not fit; nulls in maps become empty strings as in Go.
fn mistyped(value: &mut Value, shape: Shape) -> Option<(&'static str, &'static str)> {
    let got = go_type(value);
    let in_list = |value: &Value, fits: fn(&Value) -> bool| -> Option<&'static str> {
        match value.as_array() {
            None => Some(got),
            Some(items) => items.iter().find(|item| !fits(item)).map(go_type),
        }
    };
    match shape {
        Shape::Text => (!value.is_string()).then_some(("string", got)),
        Shape::Number => (!value.is_i64() && !value.is_u64()).then_some(("int64", got)),
        Shape::Texts => in_list(value, Value::is_string).map(|got| ("string", got)),
        Shape::Objects => in_list(value, Value::is_object).map(|got| ("object", got)),
        Shape::TextMap => {
            let Some(fields) = value.as_object_mut() else {
                return Some(("map[string]string", got));
            };
            for field in fields.values_mut() {
                if field.is_null() {
                    *field = Value::from("");
                }
            }
            let other = fields.values().find(|field| !field.is_string())?;
            Some(("string", go_type(other)))
        }
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A text field of `metadata`; empty if absent.
pub(crate) fn text<'a>(document: &'a Value, field: &str) -> &'a str {
    document["metadata"][field].as_str().unwrap_or_default()
}

/// Whether the document has finalizers.
pub(crate) fn has_finalizers(document: &Value) -> bool {
    document["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|list| !list.is_empty())
}

/// `metadata` for writing; `normalise` has made it an object.
pub(crate) fn fields_mut(document: &mut Value) -> &mut Map<String, Value> {
    if !document["metadata"].is_object() {
        document["metadata"] = Value::Object(Map::new());
    }
    match &mut document["metadata"] {
        Value::Object(fields) => fields,
        // Just made an object.
        _ => unreachable!("metadata is an object"),
    }
}

/// Sets a field, or removes it.
pub(crate) fn set(document: &mut Value, field: &str, value: Option<Value>) {
    let fields = fields_mut(document);
    match value {
        Some(value) => fields.insert(field.to_owned(), value),
        None => fields.remove(field),
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn odd_metadata_is_told_apart_from_good() {
        let mut good = json!({"metadata": {"name": "a", "labels": {"x": null}, "finalizers": [], "odd": 1}});
        assert_eq!(normalise(&mut good).unwrap(), ["metadata.odd"]);
        assert_eq!(good, json!({"metadata": {"name": "a", "labels": {"x": ""}}}));
        for bad in [
            json!([]),
            json!({"metadata": "x"}),
            json!({"metadata": {"name": 1}}),
            json!({"metadata": {"labels": "x"}}),
            json!({"metadata": {"labels": {"a": 1}}}),
            json!({"metadata": {"finalizers": [1]}}),
            json!({"metadata": {"ownerReferences": ["x"]}}),
            json!({"metadata": {"generation": "x"}}),
        ] {
            assert!(normalise(&mut bad.clone()).is_err(), "{bad}");
        }
    }
}
