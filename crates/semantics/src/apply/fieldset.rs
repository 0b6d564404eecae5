//! Which paths a value sets.

use std::collections::BTreeMap;

use serde_json::Value;

use super::items;
use super::path::PathElement;
use super::set::{Node, Set};
use super::types::{Form, Type};
use crate::schema::ListType;

/// The paths of every leaf, list item and map key in a document.
pub(super) fn fieldset(value: &Value, ty: Type<'_>) -> Set {
    visit(value, ty).children
}

/// What a value adds below its own path, and whether its own path counts.
struct Found {
    own: bool,
    children: Set,
}

fn visit(value: &Value, ty: Type<'_>) -> Found {
    let leaf = || Found {
        own: true,
        children: Set::default(),
    };
    match ty.form_of(value) {
        Form::Scalar => leaf(),
        Form::List if *ty.list_type() == ListType::Atomic => leaf(),
        Form::Map if ty.map_is_atomic() => leaf(),
        Form::List => Found {
            own: false,
            children: value
                .as_array()
                .map_or_else(Set::default, |list| in_list(list, ty)),
        },
        Form::Map => {
            let mut children = Set::default();
            for (name, child) in value.as_object().into_iter().flatten() {
                let field = ty.field(name);
                let found = visit(child, field.ty);
                let empty = child.is_null() || child.as_object().is_some_and(serde_json::Map::is_empty);
                children.push(Node {
                    element: PathElement::Field(name.clone()),
                    member: found.own || empty || !field.named,
                    children: found.children,
                });
            }
            Found { own: false, children }
        }
    }
}

/// Items that share a key are taken as one piece.
fn in_list(list: &[Value], ty: Type<'_>) -> Set {
    let mut by_element: BTreeMap<PathElement, Option<&Value>> = BTreeMap::new();
    for item in list {
        // An item that cannot be told apart cannot be owned.
        if let Ok(element) = items::element(ty, item) {
            by_element
                .entry(element)
                .and_modify(|only| *only = None)
                .or_insert(Some(item));
        }
    }
    let mut set = Set::default();
    for (element, only) in by_element {
        let children = only
            .map(|item| visit(item, ty.items()).children)
            .unwrap_or_default();
        set.push(Node {
            element,
            member: true,
            children,
        });
    }
    set
}
