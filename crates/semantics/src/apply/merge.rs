//! Laying a configuration over a live object.
//!
//! Nothing is removed by a merge: what only one side has stays, and where both have a leaf the configuration wins.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::items::{self, ItemError};
use super::path::PathElement;
use super::types::{Form, Type};
use crate::schema::ListType;

/// Merges `config` into `live`.
pub(super) fn merge(live: &Value, config: &Value, ty: Type<'_>) -> Result<Value, ItemError> {
    Ok(merge_at(Some(live), Some(config), ty)?.unwrap_or_else(|| Value::Object(Map::new())))
}

fn merge_at(left: Option<&Value>, right: Option<&Value>, ty: Type<'_>) -> Result<Option<Value>, ItemError> {
    // A value that is absent takes the form of the other side; where the forms differ the configuration's counts.
    let forms = ty.forms_of(if right.is_some() { right } else { left });
    let leaf = || Ok(right.or(left).cloned());
    match forms.pick() {
        Form::Scalar => leaf(),
        Form::List => {
            let (l, r) = (left.and_then(Value::as_array), right.and_then(Value::as_array));
            // Two empty sides are a leaf, which keeps the difference between empty and null.
            let empty = l.is_none_or(Vec::is_empty) && r.is_none_or(Vec::is_empty);
            if empty || *ty.list_type() == ListType::Atomic {
                return leaf();
            }
            merge_lists(l.map_or(&[], Vec::as_slice), r.map_or(&[], Vec::as_slice), ty)
        }
        Form::Map => {
            let (l, r) = (left.and_then(Value::as_object), right.and_then(Value::as_object));
            let empty = l.is_none_or(Map::is_empty) && r.is_none_or(Map::is_empty);
            if empty || ty.map_is_atomic() {
                return leaf();
            }
            merge_maps(l, r, ty)
        }
    }
}

fn merge_maps(
    left: Option<&Map<String, Value>>,
    right: Option<&Map<String, Value>>,
    ty: Type<'_>,
) -> Result<Option<Value>, ItemError> {
    let mut out = Map::new();
    for (name, value) in left.into_iter().flatten() {
        let other = right.and_then(|right| right.get(name));
        if let Some(merged) = merge_at(Some(value), other, ty.field(name).ty)? {
            out.insert(name.clone(), merged);
        }
    }
    for (name, value) in right.into_iter().flatten() {
        if left.is_none_or(|left| !left.contains_key(name))
            && let Some(merged) = merge_at(None, Some(value), ty.field(name).ty)?
        {
            out.insert(name.clone(), merged);
        }
    }
    Ok((!out.is_empty()).then_some(Value::Object(out)))
}

/// The items of one side, in order and by element.
struct Indexed<'v> {
    order: Vec<PathElement>,
    values: BTreeMap<PathElement, &'v Value>,
}

impl<'v> Indexed<'v> {
    fn new(list: &'v [Value], ty: Type<'_>) -> Result<Self, ItemError> {
        let mut order = Vec::with_capacity(list.len());
        let mut values = BTreeMap::new();
        for item in list {
            let element = items::element(ty, item)?;
            // Items that share a key are not merged with the other side's, only replaced.
            values
                .entry(element.clone())
                .and_modify(|value| *value = &Value::Null)
                .or_insert(item);
            order.push(element);
        }
        Ok(Self { order, values })
    }
}

/// Zips two lists: items of either side keep their relative order as far as both orders agree, else the
/// configuration's order wins.
fn merge_lists(left: &[Value], right: &[Value], ty: Type<'_>) -> Result<Option<Value>, ItemError> {
    let (l, r) = (Indexed::new(left, ty)?, Indexed::new(right, ty)?);
    let mut shared = r.order.iter().filter(|element| l.values.contains_key(element));
    let mut next_shared = shared.next();
    let mut taken: BTreeSet<&PathElement> = BTreeSet::new();
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let (mut i, mut j) = (0, 0);

    loop {
        let (here, there) = (l.order.get(i), r.order.get(j));
        if here.is_none() && there.is_none() {
            break;
        }
        if let (Some(here), Some(there)) = (here, there) {
            if here == there {
                taken.insert(there);
                let (lv, rv) = (l.values.get(here).copied(), r.values.get(there).copied());
                out.extend(merge_at(lv, rv, ty.items())?);
                i += 1;
                j += 1;
                next_shared = shared.next();
                continue;
            }
            if r.values.contains_key(here) && next_shared.is_some_and(|next| next != here) {
                // Both sides have it, but another shared item comes first in the configuration.
                i += 1;
                continue;
            }
        }
        if let Some(here) = here {
            if !r.values.contains_key(here) {
                out.extend(merge_at(left.get(i), None, ty.items())?);
                i += 1;
                continue;
            }
            if taken.contains(here) {
                i += 1;
            }
        }
        if let Some(there) = there {
            taken.insert(there);
            let (lv, rv) = (l.values.get(there).copied(), r.values.get(there).copied());
            out.extend(merge_at(lv, rv, ty.items())?);
            j += 1;
            if next_shared == Some(there) {
                next_shared = shared.next();
            }
        }
    }
    Ok((!out.is_empty()).then_some(Value::Array(out)))
}
