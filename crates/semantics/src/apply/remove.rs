//! Taking paths out of a value, and fitting a set of paths to a changed schema.

use serde_json::{Map, Value};

use super::items;
use super::path::PathElement;
use super::set::Set;
use super::types::{Form, Type};
use crate::schema::ListType;

/// The document without the members of `set`. An object or list that loses its last child becomes `null`, which tells
/// it from one that somebody removed; [`drop_nulls`] makes an end of both.
pub(super) fn remove(value: &Value, set: &Set, ty: Type<'_>) -> Value {
    match remove_at(value, set, ty) {
        Value::Null => Value::Object(Map::new()),
        left => left,
    }
}

fn remove_at(value: &Value, set: &Set, ty: Type<'_>) -> Value {
    match (ty.form_of(value), value) {
        (Form::Scalar, _) => value.clone(),
        (Form::List, Value::Array(list)) if *ty.list_type() != ListType::Atomic => {
            let kept = list.iter().filter_map(|item| {
                let node = items::element(ty, item)
                    .ok()
                    .and_then(|element| set.get(&element));
                match node {
                    None => Some(item.clone()),
                    Some(node) if node.member => None,
                    Some(node) => Some(remove_at(item, &node.children, ty.items())),
                }
            });
            let kept: Vec<_> = kept.collect();
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Array(kept)
            }
        }
        (Form::Map, Value::Object(fields)) if !ty.map_is_atomic() => {
            let mut kept = Map::new();
            for (name, child) in fields {
                match set.field(name) {
                    None => kept.insert(name.clone(), child.clone()),
                    Some(node) if node.member => None,
                    Some(node) => {
                        kept.insert(name.clone(), remove_at(child, &node.children, ty.field(name).ty))
                    }
                };
            }
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Object(kept)
            }
        }
        // One piece goes as a whole.
        _ => Value::Null,
    }
}

/// Drops `null` from fields that are not nullable; those that have a default are left for it.
pub(super) fn drop_nulls(value: &mut Value, ty: Type<'_>) {
    match value {
        Value::Object(fields) => fields.retain(|name, child| {
            let field = ty.field(name).ty;
            if child.is_null() && field.drops_null() {
                return false;
            }
            drop_nulls(child, field);
            true
        }),
        Value::Array(list) => {
            for item in list {
                drop_nulls(item, ty.items());
            }
        }
        _ => {}
    }
}

/// Fits a set that was recorded under an older schema: who owned something inside what is now one piece owns the piece.
pub(super) fn reconcile(set: &mut Set, ty: Type<'_>) {
    let form = ty.default_form();
    if form == Form::Scalar || (form == Form::Map && ty.is_free_form_map()) {
        return;
    }
    for node in set.nodes_mut() {
        let child = match (form, &node.element) {
            (Form::List, _) => ty.items(),
            (_, PathElement::Field(name)) => ty.field(name).ty,
            _ => continue,
        };
        if node.children.is_empty() || matches!(child, Type::Undeclared) {
            continue;
        }
        let one_piece = match child.default_form() {
            Form::Scalar => false,
            Form::List => *child.list_type() == ListType::Atomic,
            Form::Map => child.map_is_atomic() && !child.is_free_form_map(),
        };
        if one_piece {
            node.member = true;
            node.children = Set::default();
        } else {
            reconcile(&mut node.children, child);
        }
    }
}
