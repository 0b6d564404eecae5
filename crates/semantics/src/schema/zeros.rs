//! What a built-in kind always shows, and what it never shows.
//!
//! Upstream's objects are Go structs: a struct within a struct, and a field that is not left out when it is zero, stand
//! in every document, given or not. Nobody owns them for being there. Other fields are left out when they are zero.

use serde_json::{Map, Value};

use super::node::{Additional, Cursor, JsonType, Schema};
use super::object_meta::is_meta_field;
use super::raw::is_zero;

impl Schema {
    /// Adds the fields that are always shown, with their zero values, and drops zeros that are never shown. Does nothing for custom resources.
    pub fn fill_zeros(&self, object: &mut Value) {
        self.fill(object, Filling { with_lists: false });
    }

    /// Makes `object`, which says its kind and nothing else, what an empty object of the kind is to a typed server:
    /// required lists are there too, as null. Does nothing for custom resources.
    pub fn fill_empty(&self, object: &mut Value) {
        self.fill(object, Filling { with_lists: true });
    }

    fn fill(&self, object: &mut Value, filling: Filling) {
        // Every built-in kind shows its metadata; only custom resources show nothing.
        if !self.cursor().node().zeros.is_empty() {
            filling.value(self.cursor(), object, true);
        }
    }
}

#[derive(Clone, Copy)]
struct Filling {
    with_lists: bool,
}

impl Filling {
    fn value(self, cursor: Cursor<'_>, value: &mut Value, root: bool) {
        match value {
            Value::Object(fields) => self.object(cursor, fields, root),
            Value::Array(items) => {
                if let Some(inner) = cursor.items() {
                    items.iter_mut().for_each(|item| self.value(inner, item, false));
                }
            }
            _ => {}
        }
    }

    fn object(self, cursor: Cursor<'_>, fields: &mut Map<String, Value>, root: bool) {
        let node = cursor.node();
        for name in &node.omitted {
            if fields.get(name).is_some_and(is_zero) {
                fields.remove(name);
            }
        }
        let spared = |name: &str| root && is_meta_field(name);
        for (name, zero) in node.zeros.iter().filter(|(name, _)| !spared(name)) {
            let absent = fields.get(name).is_none_or(Value::is_null);
            if absent {
                fields.insert(name.clone(), zero.clone());
            }
        }
        if self.with_lists {
            for name in node.required.iter().filter(|name| is_list(cursor, name)) {
                fields.entry(name.clone()).or_insert(Value::Null);
            }
        }
        for (name, value) in fields.iter_mut().filter(|(name, _)| !spared(name)) {
            match (node.properties.get(name), node.additional) {
                (Some(&id), _) | (None, Additional::Node(id)) => self.value(cursor.at(id), value, false),
                (None, _) => {}
            }
        }
    }
}

fn is_list(cursor: Cursor<'_>, name: &str) -> bool {
    let property = cursor.property(name);
    property.is_some_and(|property| property.node().json_type == Some(JsonType::Array))
}
