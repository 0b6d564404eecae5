//! Times of managers move only with the object.

use serde_json::{Map, Value};

use super::managers;

/// If `new` differs from `live` in nothing but the times of its managers, takes the old times.
pub(super) fn revert(live: &Value, new: &mut Value) {
    let (Some(old), Some(Value::Array(fresh))) = (managers::raw(live), managers::raw(new)) else {
        return;
    };
    let Some(old) = old.as_array() else { return };
    let same_entry = |(a, b): (&Value, &Value)| match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let timeless = |entry: &Map<String, Value>| entry.len() - usize::from(entry.contains_key("time"));
            timeless(a) == timeless(b)
                && a.iter()
                    .all(|(name, value)| name == "time" || b.get(name) == Some(value))
        }
        _ => false,
    };
    if old.len() != fresh.len() || old == fresh || !old.iter().zip(fresh).all(same_entry) {
        return;
    }
    let same_metadata = |(a, b): (&Map<String, Value>, &Map<String, Value>)| {
        a.len() == b.len()
            && a.iter()
                .all(|(name, value)| name == "managedFields" || b.get(name) == Some(value))
    };
    let same_rest = match (live.as_object(), new.as_object()) {
        (Some(a), Some(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, value)| match (name.as_str(), b.get(name)) {
                    ("metadata", Some(other)) => value
                        .as_object()
                        .zip(other.as_object())
                        .is_some_and(same_metadata),
                    (_, other) => other == Some(value),
                })
        }
        _ => false,
    };
    if same_rest {
        let old = Value::Array(old.clone());
        managers::put_raw(new, Some(old));
    }
}
