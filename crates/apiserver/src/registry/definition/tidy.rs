//! Schemas in the form in which a typed server stores them: what equals its absence is absent.

use serde_json::Value;

/// Drops nulls, empty texts and lists, empty maps and false flags from a schema and all schemas in it.
pub(super) fn schema(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    keywords.retain(|keyword, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty() || keyword == "default",
        Value::Array(items) => !items.is_empty() || keyword == "default",
        Value::Object(entries) => {
            !entries.is_empty()
                || !matches!(
                    keyword.as_str(),
                    "properties" | "patternProperties" | "definitions" | "dependencies"
                )
        }
        // A false here is refused or means something.
        Value::Bool(set) => {
            *set || matches!(
                keyword.as_str(),
                "x-kubernetes-preserve-unknown-fields" | "additionalProperties" | "default" | "example"
            )
        }
        Value::Number(_) => true,
    });
    for (keyword, value) in keywords {
        match keyword.as_str() {
            "properties" | "patternProperties" | "definitions" => {
                for inner in value.as_object_mut().into_iter().flat_map(|map| map.values_mut()) {
                    self::schema(inner);
                }
            }
            "allOf" | "anyOf" | "oneOf" => {
                for inner in value.as_array_mut().into_iter().flatten() {
                    self::schema(inner);
                }
            }
            "not" | "items" | "additionalProperties" | "additionalItems" => self::schema(value),
            _ => {}
        }
    }
}
