//! Defaulting: absent fields get the schema's default, and nulls that a schema forbids disappear.

use serde_json::{Map, Value};

use super::node::{Additional, Cursor, Node, Schema};
use super::object_meta::is_meta_field;

impl Schema {
    /// Fills in defaults. A `null` that is not nullable is dropped first, and then defaulted if there is a default.
    /// `apiVersion`, `kind` and `metadata` at the root are left as they are.
    pub fn apply_defaults(&self, object: &mut Value) {
        fill_document(self.cursor(), object, Nulls::Drop);
    }

    /// Like [`Self::apply_defaults`], but a forbidden `null` without a default stays, to be refused.
    pub fn fill_defaults(&self, object: &mut Value) {
        fill_document(self.cursor(), object, Nulls::Keep);
    }
}

/// What becomes of nulls that are forbidden and have no default.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Drop,
    Keep,
}

fn fill_document(cursor: Cursor<'_>, object: &mut Value, nulls: Nulls) {
    match object {
        Value::Object(fields) => fill_object(cursor, fields, true, nulls),
        other => fill(cursor, other, nulls),
    }
}

fn is_forbidden_null(node: &Node, value: &Value) -> bool {
    value.is_null() && !node.nullable
}

fn fill(cursor: Cursor<'_>, value: &mut Value, nulls: Nulls) {
    match value {
        Value::Object(fields) => fill_object(cursor, fields, false, nulls),
        Value::Array(items) => {
            let Some(inner) = cursor.items() else { return };
            for item in items {
                if is_forbidden_null(inner.node(), item)
                    && let Some(default) = &inner.node().default
                {
                    *item = default.clone();
                }
                fill(inner, item, nulls);
            }
        }
        _ => {}
    }
}

fn fill_object(cursor: Cursor<'_>, fields: &mut Map<String, Value>, root: bool, nulls: Nulls) {
    let node = cursor.node();
    let spared = |key: &str| root && is_meta_field(key);

    // Nulls first: most objects have none, so look before anything is moved.
    if nulls == Nulls::Drop && fields.values().any(Value::is_null) {
        fields.retain(|key, value| {
            let Some(inner) = cursor.property(key) else {
                return true;
            };
            spared(key) || !is_forbidden_null(inner.node(), value) || inner.node().default.is_some()
        });
    }
    for (name, &id) in &node.properties {
        if spared(name) {
            continue;
        }
        let inner = cursor.at(id);
        match fields.get_mut(name) {
            Some(value) => {
                if is_forbidden_null(inner.node(), value)
                    && let Some(default) = &inner.node().default
                {
                    *value = default.clone();
                }
                fill(inner, value, nulls);
            }
            None => {
                if let Some(default) = &inner.node().default {
                    let mut value = default.clone();
                    fill(inner, &mut value, nulls);
                    fields.insert(name.clone(), value);
                }
            }
        }
    }
    if let Additional::Node(id) = node.additional {
        let inner = cursor.at(id);
        for (key, value) in fields.iter_mut() {
            if node.properties.contains_key(key) || spared(key) {
                continue;
            }
            if is_forbidden_null(inner.node(), value)
                && let Some(default) = &inner.node().default
            {
                *value = default.clone();
            }
            fill(inner, value, nulls);
        }
    }
}
