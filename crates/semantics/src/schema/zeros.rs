//! What a built-in kind always shows.
//!
//! Upstream's objects are Go structs: a struct within a struct, and a field that is not left out when it is zero, stand
//! in every document, given or not. Nobody owns them for being there.

use serde_json::{Map, Value};

use super::node::{Additional, Cursor, Schema};
use super::object_meta::is_meta_field;

impl Schema {
    /// Adds the fields that are always shown, with their zero values. Does nothing for custom resources.
    pub fn fill_zeros(&self, object: &mut Value) {
        if let Value::Object(fields) = object {
            fill_object(self.cursor(), fields, true);
        }
    }
}

fn fill(cursor: Cursor<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => fill_object(cursor, fields, false),
        Value::Array(items) => {
            if let Some(inner) = cursor.items() {
                items.iter_mut().for_each(|item| fill(inner, item));
            }
        }
        _ => {}
    }
}

fn fill_object(cursor: Cursor<'_>, fields: &mut Map<String, Value>, root: bool) {
    let node = cursor.node();
    let spared = |name: &str| root && is_meta_field(name);
    for (name, zero) in node.zeros.iter().filter(|(name, _)| !spared(name)) {
        let absent = fields.get(name).is_none_or(Value::is_null);
        if absent {
            fields.insert(name.clone(), zero.clone());
        }
    }
    for (name, value) in fields.iter_mut().filter(|(name, _)| !spared(name)) {
        match (node.properties.get(name), node.additional) {
            (Some(&id), _) | (None, Additional::Node(id)) => fill(cursor.at(id), value),
            (None, _) => {}
        }
    }
}
