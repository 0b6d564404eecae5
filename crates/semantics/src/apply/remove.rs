//! Taking paths out of a value, and fitting a set of paths to a changed schema.

use serde_json::{Map, Value};

use super::items;
use super::path::PathElement;
use super::set::Set;
use super::types::{Form, Type};
use crate::schema::ListType;

/// The document without the members of `set`. An object or list that loses its last child goes too.
pub(super) fn remove(value: &Value, set: &Set, ty: Type<'_>) -> Value {
    remove_at(value, set, ty).unwrap_or_else(|| Value::Object(Map::new()))
}

fn remove_at(value: &Value, set: &Set, ty: Type<'_>) -> Option<Value> {
    match (ty.form_of(value), value) {
        (Form::List, Value::Array(list)) if !list.is_empty() => {
            if *ty.list_type() == ListType::Atomic {
                return None;
            }
            let kept = list.iter().filter_map(|item| {
                let node = items::element(ty, item)
                    .ok()
                    .and_then(|element| set.get(&element));
                match node {
                    None => Some(item.clone()),
                    Some(node) if node.member => None,
                    Some(node) => remove_at(item, &node.children, ty.items()),
                }
            });
            let kept: Vec<_> = kept.collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        (Form::Map, Value::Object(fields)) if !fields.is_empty() => {
            if ty.map_is_atomic() {
                return None;
            }
            let mut kept = Map::new();
            for (name, child) in fields {
                let left = match set.field(name) {
                    None => Some(child.clone()),
                    Some(node) if node.member => None,
                    Some(node) => remove_at(child, &node.children, ty.field(name).ty),
                };
                if let Some(left) = left {
                    kept.insert(name.clone(), left);
                }
            }
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        _ => Some(value.clone()),
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
