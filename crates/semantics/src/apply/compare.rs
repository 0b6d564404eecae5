//! What differs between two values, as sets of paths.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::items::{self, ItemError};
use super::path::PathElement;
use super::scalar;
use super::set::{Node, Set};
use super::types::{Form, Forms, Type};
use crate::schema::ListType;

/// What the new value has that the old one had not, has changed, and lacks. No path is in two of them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Comparison {
    /// Paths that only the old value has.
    pub(super) removed: Set,
    /// Leaves that both have, with different values.
    pub(super) modified: Set,
    /// Paths that only the new value has.
    pub(super) added: Set,
}

impl Comparison {
    /// Whether nothing differs.
    pub(super) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// Forgets everything about the named top-level fields.
    pub(super) fn without(mut self, names: &[&str]) -> Self {
        for set in [&mut self.removed, &mut self.modified, &mut self.added] {
            super::updater::drop_fields(set, names);
        }
        self
    }

    /// Adds what was found at a child; `element` makes its path element.
    fn push(&mut self, element: impl Fn() -> PathElement, found: Found) {
        let Found { own, below } = found;
        let add = |set: &mut Set, children: Set, mark: Mark| {
            if !children.is_empty() || own == Some(mark) {
                set.push(Node {
                    element: element(),
                    member: own == Some(mark),
                    children,
                });
            }
        };
        add(&mut self.removed, below.removed, Mark::Removed);
        add(&mut self.modified, below.modified, Mark::Modified);
        add(&mut self.added, below.added, Mark::Added);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Removed,
    Modified,
    Added,
}

/// What a place itself became, and what differs below it.
#[derive(Default)]
struct Found {
    own: Option<Mark>,
    below: Comparison,
}

/// Compares two documents.
pub(super) fn compare(old: &Value, new: &Value, ty: Type<'_>) -> Result<Comparison, ItemError> {
    Ok(compare_at(Some(old), Some(new), ty)?.below)
}

fn compare_at(old: Option<&Value>, new: Option<&Value>, ty: Type<'_>) -> Result<Found, ItemError> {
    let (old_forms, new_forms) = (ty.forms_of(old), ty.forms_of(new));
    let mut found = Found::default();
    let leaf = if new.is_none() {
        compare_as(old_forms, old, new, ty, &mut found)?
    } else if old.is_none() || old_forms.pick() == new_forms.pick() {
        compare_as(new_forms, old, new, ty, &mut found)?
    } else {
        // A change of form: the old one's children go and the new one's come.
        compare_as(old_forms, old, new, ty, &mut found)?;
        compare_as(new_forms, old, new, ty, &mut found)?
    };
    if !leaf && old.is_none() {
        found.own = Some(Mark::Added);
    } else if !leaf && new.is_none() {
        found.own = Some(Mark::Removed);
    }
    Ok(found)
}

/// Compares as one form and returns whether the place was a leaf.
fn compare_as(
    forms: Forms,
    old: Option<&Value>,
    new: Option<&Value>,
    ty: Type<'_>,
    found: &mut Found,
) -> Result<bool, ItemError> {
    match forms.pick() {
        Form::Scalar => compare_leaf(old, new, found),
        Form::List => {
            let (l, r) = (old.and_then(Value::as_array), new.and_then(Value::as_array));
            let empty = l.is_none_or(Vec::is_empty) && r.is_none_or(Vec::is_empty);
            if !empty && *ty.list_type() != ListType::Atomic {
                let (l, r) = (l.map_or(&[][..], Vec::as_slice), r.map_or(&[][..], Vec::as_slice));
                compare_lists(l, r, ty, &mut found.below)?;
                return Ok(false);
            }
            compare_leaf(old, new, found);
        }
        Form::Map => {
            let (l, r) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
            let empty = l.is_none_or(Map::is_empty) && r.is_none_or(Map::is_empty);
            if !empty && !ty.map_is_atomic() {
                compare_maps(l, r, ty, &mut found.below)?;
                return Ok(false);
            }
            compare_leaf(old, new, found);
        }
    }
    Ok(true)
}

fn compare_leaf(old: Option<&Value>, new: Option<&Value>, found: &mut Found) {
    match (old, new) {
        (None, _) => found.own = Some(Mark::Added),
        (_, None) => found.own = Some(Mark::Removed),
        (Some(old), Some(new)) if !scalar::same(old, new) => found.own = Some(Mark::Modified),
        _ => {}
    }
}

fn compare_maps(
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
    ty: Type<'_>,
    below: &mut Comparison,
) -> Result<(), ItemError> {
    let mut left = old.into_iter().flatten().peekable();
    let mut right = new.into_iter().flatten().peekable();
    loop {
        let (name, l, r) = match (left.peek(), right.peek()) {
            (Some(&(ln, _)), Some(&(rn, _))) if ln == rn => (ln, left.next(), right.next()),
            (Some(&(ln, _)), Some(&(rn, _))) if ln > rn => (rn, None, right.next()),
            (Some(&(ln, _)), _) => (ln, left.next(), None),
            (None, Some(&(rn, _))) => (rn, None, right.next()),
            (None, None) => return Ok(()),
        };
        let found = compare_at(
            l.map(|(_, value)| value),
            r.map(|(_, value)| value),
            ty.field(name).ty,
        )?;
        below.push(|| PathElement::Field(name.clone()), found);
    }
}

/// The items of both sides that share a path element.
#[derive(Default)]
struct Pair<'v> {
    old: Vec<&'v Value>,
    new: Vec<&'v Value>,
}

fn compare_lists(
    old: &[Value],
    new: &[Value],
    ty: Type<'_>,
    below: &mut Comparison,
) -> Result<(), ItemError> {
    let mut pairs: BTreeMap<PathElement, Pair<'_>> = BTreeMap::new();
    for item in old {
        pairs.entry(items::element(ty, item)?).or_default().old.push(item);
    }
    for item in new {
        pairs.entry(items::element(ty, item)?).or_default().new.push(item);
    }
    for (element, Pair { old, new }) in pairs {
        let (first_old, first_new) = (old.first().copied(), new.first().copied());
        let found = match (old.len(), new.len()) {
            (0 | 1, 0 | 1) => compare_at(first_old, first_new, ty.items())?,
            // Items that share an element are compared as one piece.
            (2.., 2..) => {
                let same = old.len() == new.len() && old.iter().zip(&new).all(|(l, r)| scalar::same(l, r));
                Found {
                    own: (!same).then_some(Mark::Modified),
                    below: Comparison::default(),
                }
            }
            (2.., _) => {
                let mut found = match first_new {
                    Some(item) => compare_at(None, Some(item), ty.items())?,
                    None => Found::default(),
                };
                // The path is at once removed as one piece and added as an item.
                if found.own == Some(Mark::Added) {
                    below.added.push(Node {
                        element: element.clone(),
                        member: true,
                        children: std::mem::take(&mut found.below.added),
                    });
                }
                Found {
                    own: Some(Mark::Removed),
                    below: found.below,
                }
            }
            (_, 2..) => {
                let mut found = match first_old {
                    Some(item) => compare_at(Some(item), None, ty.items())?,
                    None => Found::default(),
                };
                if found.own == Some(Mark::Removed) {
                    below.removed.push(Node {
                        element: element.clone(),
                        member: true,
                        children: std::mem::take(&mut found.below.removed),
                    });
                }
                Found {
                    own: Some(Mark::Added),
                    below: found.below,
                }
            }
        };
        below.push(|| element.clone(), found);
    }
    Ok(())
}
