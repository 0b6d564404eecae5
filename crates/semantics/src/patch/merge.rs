//! JSON merge patch.

use serde_json::{Map, Value};

/// RFC 7386, with one habit of Kubernetes' implementation: null members of objects inside lists vanish too.
pub fn merge_patch(document: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *document = without_null_members(patch);
        return;
    };
    if !document.is_object() {
        *document = Value::Object(Map::new());
    }
    let Value::Object(members) = document else { return };
    for (name, change) in changes {
        match (change, members.get_mut(name)) {
            (Value::Null, _) => {
                members.remove(name);
            }
            (_, Some(member)) => merge_patch(member, change),
            (_, None) => {
                members.insert(name.clone(), without_null_members(change));
            }
        }
    }
}

/// A copy in which no object has a null member. Null items of lists stay.
pub(super) fn without_null_members(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(name, member)| (name.clone(), without_null_members(member)))
            .collect(),
        Value::Array(items) => items.iter().map(without_null_members).collect(),
        scalar => scalar.clone(),
    }
}
