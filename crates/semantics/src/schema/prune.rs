//! Pruning: fields that a schema does not know are removed before an object is stored.

use serde_json::Value;

use super::node::{Additional, Cursor, Schema};
use super::object_meta::{is_meta_field, prune_object_meta_at};
use super::path::Path;

impl Schema {
    /// Removes fields the schema does not know; returns their paths (`spec.foo`, `spec.items[0].bar`), sorted.
    /// `apiVersion`, `kind` and `metadata` at the root are always known, and `metadata` there is left as it is.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        if self.cursor().node().preserve_unknown {
            keep(self.cursor(), object, true, &Path::Root, &mut unknown);
        } else {
            known(self.cursor(), object, true, &Path::Root, &mut unknown);
        }
        unknown.sort();
        unknown
    }
}

/// Prunes a value that is not a whole document; returns the paths of what was removed.
pub(super) fn prune_at(cursor: Cursor<'_>, value: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    prune(Some(cursor), value, &Path::Root, &mut unknown);
    unknown
}

/// `cursor` is `None` below `additionalProperties: true` and untyped lists: there scalars stay and fields go.
fn prune(cursor: Option<Cursor<'_>>, value: &mut Value, path: &Path<'_>, unknown: &mut Vec<String>) {
    match (cursor, value) {
        (Some(cursor), value) if cursor.node().preserve_unknown => keep(cursor, value, false, path, unknown),
        (Some(cursor), value) => known(cursor, value, false, path, unknown),
        (None, Value::Object(fields)) => {
            unknown.extend(fields.keys().map(|key| Path::Field(path, key).dotted()));
            fields.clear();
        }
        (None, Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                prune(None, item, &Path::Index(path, index), unknown);
            }
        }
        (None, _) => {}
    }
}

/// Prunes a value whose fields must be known.
fn known(cursor: Cursor<'_>, value: &mut Value, root: bool, path: &Path<'_>, unknown: &mut Vec<String>) {
    let node = cursor.node();
    match value {
        Value::Object(fields) => fields.retain(|key, value| {
            let path = Path::Field(path, key);
            if is_meta_field(key) && (root || node.embedded_resource) {
                if !root && key == "metadata" {
                    prune_object_meta_at(value, &path, unknown);
                }
                return true;
            }
            match (node.properties.get(key), node.additional) {
                (Some(&id), _) | (None, Additional::Node(id)) => {
                    prune(Some(cursor.at(id)), value, &path, unknown)
                }
                (None, Additional::Any) => prune(None, value, &path, unknown),
                (None, Additional::Unsaid) => {
                    unknown.push(path.dotted());
                    return false;
                }
            }
            true
        }),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                prune(cursor.items(), item, &Path::Index(path, index), unknown);
            }
        }
        _ => {}
    }
}

/// Prunes below a value whose own unknown fields stay.
fn keep(cursor: Cursor<'_>, value: &mut Value, root: bool, path: &Path<'_>, unknown: &mut Vec<String>) {
    let node = cursor.node();
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                let path = Path::Field(path, key);
                if is_meta_field(key) && (root || node.embedded_resource) {
                    if !root && key == "metadata" {
                        prune_object_meta_at(value, &path, unknown);
                    }
                    continue;
                }
                match (node.properties.get(key), node.additional) {
                    (Some(&id), _) | (None, Additional::Node(id)) => {
                        prune(Some(cursor.at(id)), value, &path, unknown);
                    }
                    (None, Additional::Any) => prune(None, value, &path, unknown),
                    (None, Additional::Unsaid) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = cursor.items() {
                for (index, item) in items.iter_mut().enumerate() {
                    keep(inner, item, false, &Path::Index(path, index), unknown);
                }
            }
        }
        _ => {}
    }
}
