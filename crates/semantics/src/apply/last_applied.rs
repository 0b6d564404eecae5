//! Moving from `kubectl apply` to `kubectl apply --server-side`.
//!
//! Client-side apply keeps the last configuration in an annotation and owns its fields as an updater. When kubectl then
//! applies on the server, fields that it set itself before must not conflict, and the annotation must follow so that
//! it can go back.

use serde_json::{Map, Value, json};

use super::check::check;
use super::compare::compare;
use super::conflict::ConflictAt;
use super::fieldset::fieldset;
use super::set::Set;
use super::types::Type;

/// Where client-side apply keeps the last configuration.
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The only manager for which any of this happens.
pub(super) const MANAGER: &str = "kubectl";

/// How large all annotations together may be, in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

fn annotation(object: &Value) -> Option<&str> {
    object
        .get("metadata")?
        .get("annotations")?
        .get(ANNOTATION)?
        .as_str()
        .filter(|text| !text.is_empty())
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object
        .get_mut("metadata")?
        .get_mut("annotations")?
        .as_object_mut()
}

/// The fields that client-side apply set and that still have its values.
fn set_by_client(live: &Value, api_version: &str, ty: Type<'_>) -> Option<Set> {
    let last: Value = serde_json::from_str(annotation(live)?).ok()?;
    if last.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return None;
    }
    check(&last, ty).and_then(|()| check(live, ty)).ok()?;
    let change = compare(&last, live, ty).ok()?;
    let set = fieldset(&last, ty);
    Some(
        set.difference(&change.modified)
            .difference(&change.added)
            .difference(&change.removed),
    )
}

/// The conflicts that remain when kubectl takes over what it set itself.
pub(super) fn remaining(
    mut conflicts: Vec<ConflictAt>,
    live: &Value,
    api_version: &str,
    ty: Type<'_>,
) -> Vec<ConflictAt> {
    let Some(allowed) = set_by_client(live, api_version, ty) else {
        return conflicts;
    };
    conflicts.retain(|conflict| !allowed.has(&conflict.path.iter().collect::<Vec<_>>()));
    conflicts
}

/// Updates the annotation of `object`, if it has one, to `config`.
pub(super) fn follow(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = annotations_mut(&mut config) {
        annotations.remove(ANNOTATION);
    }
    let Some(annotations) = annotations_mut(object) else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), json!(format!("{config}\n")));
    let size: usize = annotations
        .iter()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > ANNOTATIONS_LIMIT {
        annotations.remove(ANNOTATION);
    }
}
