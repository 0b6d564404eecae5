//! Dropping what a typed server never writes: empty lists and empty maps of built-in kinds.
//!
//! Go's structs omit them, so an object reads the same whether a client sent `data: {}` or nothing. Objects with fields
//! of their own stay: `emptyDir: {}` means something.

use serde_json::Value;

use super::node::{Additional, Cursor, JsonType, Schema};

impl Schema {
    /// Removes empty lists and maps, innermost first. `metadata` is left alone.
    pub fn drop_empty(&self, document: &mut Value) {
        let cursor = self.cursor();
        let Some(fields) = document.as_object_mut() else {
            return;
        };
        for (name, value) in fields.iter_mut().filter(|(name, _)| *name != "metadata") {
            if let Some(inner) = cursor.property(name) {
                compact(inner, value);
            }
        }
        fields.retain(|name, value| {
            name == "metadata"
                || !cursor
                    .property(name)
                    .is_some_and(|inner| is_droppable(inner, value))
        });
    }
}

fn compact(cursor: Cursor<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // The entries of a map are data, however empty; only what is below them is looked at.
            let is_map = is_map(cursor);
            for (name, value) in fields.iter_mut() {
                if let Some(inner) = cursor.property(name) {
                    compact(inner, value);
                }
            }
            if !is_map {
                fields.retain(|name, value| {
                    !cursor
                        .property(name)
                        .is_some_and(|inner| is_droppable(inner, value))
                });
            }
        }
        Value::Array(items) => {
            if let Some(inner) = cursor.items() {
                for item in items {
                    compact(inner, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_map(cursor: Cursor<'_>) -> bool {
    matches!(cursor.node().additional, Additional::Node(_))
}

fn is_droppable(cursor: Cursor<'_>, value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty() && cursor.node().json_type == Some(JsonType::Array),
        Value::Object(fields) => fields.is_empty() && is_map(cursor),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_lists_and_maps_go_and_empty_structs_stay() {
        let components = json!({
            "Thing": {"type": "object", "properties": {
                "data": {"type": "object", "additionalProperties": {"type": "string"}},
                "list": {"type": "array", "items": {"$ref": "#/components/schemas/Inner"}},
                "struct": {"$ref": "#/components/schemas/Inner"},
            }},
            "Inner": {"type": "object", "properties": {
                "names": {"type": "array", "items": {"type": "string"}},
            }},
        });
        let schema = Schema::from_openapi(components.as_object().unwrap(), "Thing", |_| Vec::new());
        let mut document = json!({
            "metadata": {"labels": {}},
            "data": {},
            "list": [{"names": []}],
            "struct": {"names": []},
        });
        schema.drop_empty(&mut document);
        assert_eq!(
            document,
            json!({"metadata": {"labels": {}}, "list": [{}], "struct": {}})
        );
    }
}
