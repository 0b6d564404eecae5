//! Sets and keyed lists hold each item once.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::node::{Additional, Cursor, ListType};
use super::path::Path;
use crate::FieldError;

/// Reports duplicates at `cursor` and below.
pub(super) fn check(cursor: Cursor<'_>, value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let node = cursor.node();
    if !node.values.below.unique {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (node.properties.get(name), node.additional) {
                    (Some(&id), _) => check(cursor.at(id), value, &Path::Field(path, name), errors),
                    (None, Additional::Node(id)) => {
                        check(cursor.at(id), value, &Path::Key(path, name), errors)
                    }
                    (None, _) => {}
                }
            }
        }
        Value::Array(items) => {
            if node.values.get().is_some_and(|rules| rules.unique) {
                check_list(&node.list_type, items, path, errors);
            }
            if let Some(inner) = cursor.items() {
                for (index, item) in items.iter().enumerate() {
                    check(inner, item, &Path::Index(path, index), errors);
                }
            }
        }
        _ => {}
    }
}

fn check_list(list_type: &ListType, items: &[Value], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match list_type {
        ListType::Atomic => {}
        ListType::Set => repeated(
            items,
            |item| item,
            |index, item| {
                errors.push(FieldError::duplicate(
                    Path::Index(path, index).field(),
                    item.clone(),
                ));
            },
        ),
        ListType::Map(keys) => {
            if let Some(index) = items.iter().position(|item| !item.is_object() && !item.is_null()) {
                errors.push(FieldError::invalid(
                    Path::Index(path, index).field(),
                    items[index].clone(),
                    "must be an object for an array of list-type map",
                ));
                return;
            }
            let key_of = |item: &Value| -> Map<String, Value> {
                let entry = |key: &String| Some((key.clone(), item.get(key)?.clone()));
                keys.iter().filter_map(entry).collect()
            };
            let mut report = |index: usize, item: &Value| {
                let field = Path::Index(path, index).field();
                errors.push(FieldError::duplicate(field, Value::Object(key_of(item))));
            };
            match keys.as_slice() {
                [key] => repeated(items, |item| item.get(key), &mut report),
                keys => {
                    let values = |item| keys.iter().map(|key| Value::get(item, key)).collect::<Vec<_>>();
                    repeated(items, values, &mut report);
                }
            }
        }
    }
}

/// Calls `report` for the second occurrence of each key; further ones say nothing new.
fn repeated<'a, K: Eq + std::hash::Hash>(
    items: &'a [Value],
    key_of: impl Fn(&'a Value) -> K,
    mut report: impl FnMut(usize, &'a Value),
) {
    // Short lists, which are most, are compared without a table.
    if items.len() <= 8 {
        for (index, item) in items.iter().enumerate() {
            let key = key_of(item);
            if items[..index]
                .iter()
                .filter(|earlier| key_of(earlier) == key)
                .count()
                == 1
            {
                report(index, item);
            }
        }
        return;
    }
    let mut seen: HashMap<K, bool> = HashMap::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match seen.get_mut(&key_of(item)) {
            None => {
                seen.insert(key_of(item), false);
            }
            Some(reported) if !*reported => {
                *reported = true;
                report(index, item);
            }
            Some(_) => {}
        }
    }
}
