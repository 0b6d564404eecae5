//! Schemas for tests, read from the JSON that a CRD would have, without any check.

use serde_json::Value;

use crate::schema::{Additional, JsonType, ListType, MapType, Node, Schema};

/// Builds a schema.
pub(super) fn schema(json: &Value) -> Schema {
    let mut schema = Schema::default();
    schema.root = add(&mut schema, json);
    schema
}

fn add(schema: &mut Schema, json: &Value) -> u32 {
    let flag = |name: &str| json[name] == true;
    let strings = |name: &str| {
        json[name]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let node = Node {
        json_type: match json["type"].as_str() {
            None => None,
            Some("object") => Some(JsonType::Object),
            Some("array") => Some(JsonType::Array),
            Some("string") => Some(JsonType::String),
            Some("integer") => Some(JsonType::Integer),
            Some("number") => Some(JsonType::Number),
            Some("boolean") => Some(JsonType::Boolean),
            Some(other) => panic!("no such type: {other}"),
        },
        nullable: flag("nullable"),
        preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        int_or_string: flag("x-kubernetes-int-or-string"),
        embedded_resource: flag("x-kubernetes-embedded-resource"),
        default: json.get("default").cloned(),
        list_type: match json["x-kubernetes-list-type"].as_str() {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(strings("x-kubernetes-list-map-keys")),
            _ => ListType::Atomic,
        },
        map_type: match json["x-kubernetes-map-type"].as_str() {
            Some("atomic") => MapType::Atomic,
            _ => MapType::Granular,
        },
        properties: json["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, property)| (name.clone(), add(schema, property)))
            .collect(),
        additional: match json.get("additionalProperties") {
            None => Additional::Unsaid,
            Some(Value::Bool(_)) => Additional::Any,
            Some(inner) => Additional::Node(add(schema, inner)),
        },
        items: json.get("items").map(|items| add(schema, items)),
        ..Node::default()
    };
    schema.nodes.push(node);
    u32::try_from(schema.nodes.len() - 1).unwrap()
}
