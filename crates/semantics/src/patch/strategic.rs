//! Strategic merge: a merge patch that knows which lists are sets and which are keyed by a member.
//!
//! What a patch may contain besides values:
//! - `$patch: replace|delete` in an object, or in an item of a keyed list;
//! - `$retainKeys: [names]` in an object: all other members go;
//! - `$deleteFromPrimitiveList/<field>: [values]`: takes values out of a list of scalars;
//! - `$setElementOrder/<field>: [values or keys]`: the order in which the list's items shall stand.

mod go_text;
mod order;

use serde_json::{Map, Value};

use super::PatchError;
use super::merge::without_null_members;
use crate::schema::{Cursor, PatchHints, Schema};
use go_text::go_map;
use order::{Identity, arrange};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

type Object = Map<String, Value>;

/// Strategic merge, by the built-in kind's patch hints.
pub fn strategic_merge(document: &Value, patch: &Value, schema: &Schema) -> Result<Value, PatchError> {
    let (Value::Object(document), Value::Object(patch)) = (document, patch) else {
        return Err(malformed("invalid JSON document"));
    };
    merge_objects(document.clone(), patch, Some(schema.cursor())).map(Value::Object)
}

fn malformed(text: impl Into<String>) -> PatchError {
    PatchError::Malformed(text.into())
}

fn unprocessable(text: impl Into<String>) -> PatchError {
    PatchError::Unprocessable(text.into())
}

fn unforeseen(text: impl Into<String>) -> PatchError {
    PatchError::Unforeseen(text.into())
}

fn merge_objects(
    mut original: Object,
    patch: &Object,
    schema: Option<Cursor<'_>>,
) -> Result<Object, PatchError> {
    match patch
        .get(DIRECTIVE)
        .map(|directive| directive.as_str().unwrap_or_default())
    {
        None | Some("merge") => {}
        Some("delete") => return Ok(Object::new()),
        Some("replace") => {
            let members = patch
                .iter()
                .filter(|(name, member)| *name != DIRECTIVE && !member.is_null());
            return Ok(members
                .map(|(name, member)| (name.clone(), without_null_members(member)))
                .collect());
        }
        Some(other) => return Err(unknown_directive(other, patch)),
    }
    retain_keys(&mut original, patch)?;
    let ordered = merge_ordered_lists(&mut original, patch, schema)?;
    for (name, change) in patch {
        if name == DIRECTIVE
            || name == RETAIN_KEYS
            || name.starts_with(SET_ORDER)
            || ordered.contains(&name.as_str())
        {
            continue;
        }
        if name.starts_with(DELETE_FROM) {
            delete_scalars(&mut original, field_of(name, DELETE_FROM)?, change)?;
            continue;
        }
        if change.is_null() {
            original.remove(name);
            continue;
        }
        let field = schema.and_then(|schema| schema.property(name));
        let merged = match (original.remove(name), change) {
            (Some(Value::Object(original)), Value::Object(patch)) => {
                Some(Value::Object(merge_objects(original, patch, field)?))
            }
            (Some(Value::Array(original)), Value::Array(patch)) => {
                Some(Value::Array(merge_lists(original, patch, field)?))
            }
            _ => taken(change),
        };
        if let Some(merged) = merged {
            original.insert(name.clone(), merged);
        }
    }
    Ok(original)
}

fn unknown_directive(directive: &str, patch: &Object) -> PatchError {
    let shown = go_map(patch);
    unforeseen(format!("unknown patch type: {directive} in map: {shown}"))
}

/// A value that comes whole from the patch: without directives and null members. An object that is itself a directive
/// is nothing.
fn taken(value: &Value) -> Option<Value> {
    match value {
        Value::Object(members) if members.contains_key(DIRECTIVE) => None,
        Value::Object(members) => Some(
            members
                .iter()
                .filter(|(name, member)| !member.is_null() && !is_directive(name))
                .filter_map(|(name, member)| Some((name.clone(), taken(member)?)))
                .collect(),
        ),
        Value::Array(items) => Some(items.iter().filter_map(taken).collect()),
        scalar => Some(scalar.clone()),
    }
}

fn is_directive(name: &str) -> bool {
    name == RETAIN_KEYS || name.starts_with(SET_ORDER) || name.starts_with(DELETE_FROM)
}

/// The field that `$directive/field` is about.
fn field_of<'a>(name: &'a str, directive: &str) -> Result<&'a str, PatchError> {
    name.strip_prefix(directive)
        .and_then(|rest| rest.strip_prefix('/'))
        .ok_or_else(|| {
            let list = if directive == DELETE_FROM {
                "primitive"
            } else {
                "setElementOrder"
            };
            malformed(format!("invalid patch format of {list} list"))
        })
}

fn retain_keys(original: &mut Object, patch: &Object) -> Result<(), PatchError> {
    let Some(retained) = patch.get(RETAIN_KEYS) else {
        return Ok(());
    };
    let invalid = || malformed("invalid patch format of retainKeys");
    let retained = retained.as_array().ok_or_else(invalid)?;
    let retains = |name: &str| retained.iter().any(|kept| kept == name);
    for (name, change) in patch {
        if !change.is_null() && !is_directive(name) && name != DIRECTIVE && !retains(name) {
            return Err(invalid());
        }
    }
    original.retain(|name, _| retains(name));
    Ok(())
}

fn delete_scalars(original: &mut Object, field: &str, gone: &Value) -> Result<(), PatchError> {
    match (original.get_mut(field), gone) {
        (Some(Value::Array(items)), Value::Array(gone)) => {
            if gone
                .iter()
                .chain(items.iter())
                .any(|item| item.is_object() || item.is_array())
            {
                return Err(malformed("invalid patch format of primitive list"));
            }
            items.retain(|item| !gone.contains(item));
        }
        (Some(_), Value::Null) => {
            original.remove(field);
        }
        _ => {}
    }
    Ok(())
}

/// Merges the lists that have a `$setElementOrder`; returns their names.
fn merge_ordered_lists<'p>(
    original: &mut Object,
    patch: &'p Object,
    schema: Option<Cursor<'_>>,
) -> Result<Vec<&'p str>, PatchError> {
    let mut done = Vec::new();
    for (name, order) in patch.iter().filter(|(name, _)| name.starts_with(SET_ORDER)) {
        let field = field_of(name, SET_ORDER)?;
        let order = list(order)?;
        let field_schema = schema.and_then(|schema| schema.property(field));
        let identity = Identity::new(field_schema.map(|cursor| &cursor.node().patch));
        let before = original.get(field).map(list).transpose()?.map(<[Value]>::to_vec);
        let change = patch.get(field).map(list).transpose()?;
        if let Some(change) = change {
            identity.check_order(change, order)?;
        }
        let merged = match (before.clone(), change) {
            (None, None) => continue,
            (Some(before), None) => before,
            (None, Some(change)) => change.iter().filter_map(taken).collect(),
            (Some(before), Some(change)) => merge_lists(before, change, field_schema)?,
        };
        let merged = arrange(merged, order, before.as_deref().unwrap_or_default(), identity)?;
        original.insert(field.to_owned(), Value::Array(merged));
        done.push(field);
    }
    Ok(done)
}

fn list(value: &Value) -> Result<&[Value], PatchError> {
    value
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| malformed("invalid patch format of setElementOrder list"))
}

fn merge_lists(
    original: Vec<Value>,
    patch: &[Value],
    schema: Option<Cursor<'_>>,
) -> Result<Vec<Value>, PatchError> {
    let no_hints = PatchHints::default();
    let hints = schema.map_or(&no_hints, |cursor| &cursor.node().patch);
    if !hints.merge {
        return Ok(patch.iter().filter_map(taken).collect());
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    if !items_are_objects(&original, patch)? {
        let mut merged = original.clone();
        for item in patch {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return arrange(merged, patch, &original, Identity::Whole);
    }
    let Some(key) = hints.merge_key.as_deref() else {
        return Err(unforeseen("cannot merge lists without merge key"));
    };
    let items = schema.and_then(Cursor::items);
    merge_keyed_lists(original, patch, key, items)
}

/// Whether the items are objects. All must be of one type, and none a list.
fn items_are_objects(original: &[Value], patch: &[Value]) -> Result<bool, PatchError> {
    let mut kinds = original.iter().chain(patch).map(std::mem::discriminant);
    let first = kinds.next();
    if kinds.any(|kind| Some(kind) != first) {
        return Err(unforeseen("list element types are not identical"));
    }
    match original.first().or(patch.first()) {
        Some(Value::Array(_)) => Err(unprocessable("lists of lists are not supported")),
        first => Ok(first.is_some_and(Value::is_object)),
    }
}

fn merge_keyed_lists(
    mut original: Vec<Value>,
    patch: &[Value],
    key: &str,
    items: Option<Cursor<'_>>,
) -> Result<Vec<Value>, PatchError> {
    let mut changes = Vec::with_capacity(patch.len());
    let mut replaces = false;
    for change in patch {
        let Some(change) = change.as_object() else {
            return Err(unforeseen("list element types are not identical"));
        };
        match change
            .get(DIRECTIVE)
            .map(|directive| directive.as_str().unwrap_or_default())
        {
            None => changes.push(change),
            Some("delete") => {
                let gone = key_of(change, key)?;
                original.retain(|item| item.get(key) != Some(gone));
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(unforeseen("merging lists cannot yet be specified in the patch"));
            }
            Some(other) => return Err(unknown_directive(other, change)),
        }
    }
    if replaces {
        return Ok(changes
            .into_iter()
            .filter_map(|change| taken(&Value::Object(change.clone())))
            .collect());
    }
    let before = original.clone();
    let mut order = Vec::with_capacity(changes.len());
    for change in changes {
        let wanted = key_of(change, key)?;
        order.push(Value::Object(change.clone()));
        let found = original.iter_mut().find(|item| item.get(key) == Some(wanted));
        if let Some(Value::Object(item)) = found {
            *item = merge_objects(std::mem::take(item), change, items)?;
        } else {
            original.extend(taken(&Value::Object(change.clone())));
        }
    }
    arrange(original, &order, &before, Identity::Key(key))
}

fn key_of<'a>(item: &'a Object, key: &str) -> Result<&'a Value, PatchError> {
    item.get(key).ok_or_else(|| {
        let shown = go_map(item);
        unforeseen(format!("map: {shown} does not contain declared merge key: {key}"))
    })
}
