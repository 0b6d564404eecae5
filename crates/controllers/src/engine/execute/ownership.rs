//! Field ownership of what was created.
//!
//! Creating an object leaves its fields owned by an update, and an update's fields never go when a later apply leaves
//! them out. So what our creation owns is handed to our apply, which is the same manager by another operation.

use capt_api::lean::Document;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Value, json};

use super::FIELD_MANAGER;

/// Whether nothing of an object is owned by our updates.
pub(super) fn is_claimed(object: &Document) -> bool {
    entries(object).iter().all(|entry| !is_ours(entry, "Update"))
}

/// The JSON patch that makes the fields of our update those of our apply. Guarded by the object's version.
///
/// What was applied meanwhile gives way: it knows nothing of the fields that it left out. It must be applied again.
pub(super) fn claim(object: &Document) -> Option<Value> {
    let entries = entries(object);
    let mut updated = entries.iter().position(|entry| is_ours(entry, "Update"))?;
    let version = object.metadata.resource_version.as_deref()?;
    // Replacing a version by itself is what a guard is in this sort of patch.
    let mut patch = vec![json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version})];
    if let Some(applied) = entries.iter().position(|entry| is_ours(entry, "Apply")) {
        patch.push(json!({"op": "remove", "path": format!("/metadata/managedFields/{applied}")}));
        if applied < updated {
            updated -= 1;
        }
    }
    let place = format!("/metadata/managedFields/{updated}/operation");
    patch.push(json!({"op": "replace", "path": place, "value": "Apply"}));
    Some(Value::Array(patch))
}

fn entries(object: &Document) -> &[ManagedFieldsEntry] {
    object.metadata.managed_fields.as_deref().unwrap_or_default()
}

fn is_ours(entry: &ManagedFieldsEntry, operation: &str) -> bool {
    entry.manager.as_deref() == Some(FIELD_MANAGER)
        && entry.operation.as_deref() == Some(operation)
        && entry.subresource.as_deref().unwrap_or_default().is_empty()
}
