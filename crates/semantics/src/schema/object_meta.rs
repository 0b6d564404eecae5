//! `ObjectMeta` where no schema describes it: at the root of every document and in embedded resources.

use serde_json::Value;

use super::path::Path;

/// The fields every resource has.
pub(super) fn is_meta_field(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

const FIELDS: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];
const OWNER_FIELDS: [&str; 6] = [
    "apiVersion",
    "blockOwnerDeletion",
    "controller",
    "kind",
    "name",
    "uid",
];
const MANAGED_FIELDS: [&str; 7] = [
    "apiVersion",
    "fieldsType",
    "fieldsV1",
    "manager",
    "operation",
    "subresource",
    "time",
];

/// Removes fields that `ObjectMeta` does not have; returns their paths (`metadata.foo`), sorted.
/// Custom resources keep `metadata` out of their schema, so [`super::Schema::prune`] cannot do this at the root.
pub fn prune_object_meta(metadata: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    prune_object_meta_at(metadata, &Path::Field(&Path::Root, "metadata"), &mut unknown);
    unknown.sort();
    unknown
}

pub(super) fn prune_object_meta_at(metadata: &mut Value, path: &Path<'_>, unknown: &mut Vec<String>) {
    let Value::Object(fields) = metadata else { return };
    fields.retain(|key, value| {
        let path = Path::Field(path, key);
        match key.as_str() {
            "ownerReferences" => prune_items(value, &OWNER_FIELDS, &path, unknown),
            "managedFields" => prune_items(value, &MANAGED_FIELDS, &path, unknown),
            // Go writes its zero time as null; it says nothing.
            "creationTimestamp" if value.is_null() => return false,
            known if FIELDS.contains(&known) => {}
            _ => {
                unknown.push(path.dotted());
                return false;
            }
        }
        true
    });
}

fn prune_items(list: &mut Value, known: &[&str], path: &Path<'_>, unknown: &mut Vec<String>) {
    let Value::Array(items) = list else { return };
    for (index, item) in items.iter_mut().enumerate() {
        let Value::Object(fields) = item else { continue };
        let path = Path::Index(path, index);
        fields.retain(|key, _| {
            let is_known = known.contains(&key.as_str());
            if !is_known {
                unknown.push(Path::Field(&path, key).dotted());
            }
            is_known
        });
    }
}
