//! Which part of the old document a part of the new one continues.

use std::borrow::Cow;

use serde_json::Value;

use super::node::{Cursor, ListType, Node};

/// A value and the old value it continues.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) old: &'a Value,
    pub(super) new: &'a Value,
}

impl<'a> Pair<'a> {
    /// The pair of a field that both have and the schema describes.
    pub(super) fn key(self, name: &str) -> Option<Self> {
        Some(Self {
            cursor: self.cursor.property(name)?,
            old: self.old.get(name)?,
            new: self.new.get(name)?,
        })
    }

    /// The pair of an item; only lists with keys tell which old item it was.
    pub(super) fn index(self, index: usize) -> Option<Self> {
        let new = self.new.get(index)?;
        let old = item_of(self.cursor.node(), self.old, index, new)?;
        Some(Self {
            cursor: self.cursor.items()?,
            old,
            new,
        })
    }

    /// Whether nothing changed. The order of a list with keys does not count.
    pub(super) fn is_equal(self) -> bool {
        match (self.old, self.new) {
            (Value::Array(old), Value::Array(new)) => {
                if !matches!(self.cursor.node().list_type, ListType::Map(_)) {
                    return old == new;
                }
                old.len() == new.len()
                    && (0..new.len()).all(|index| self.index(index).is_some_and(Pair::is_equal))
            }
            (Value::Object(old), Value::Object(new)) => {
                old.len() == new.len()
                    && new
                        .iter()
                        .all(|(name, new)| match (old.get(name), self.cursor.property(name)) {
                            (Some(old), Some(cursor)) => Pair { cursor, old, new }.is_equal(),
                            _ => false,
                        })
            }
            (old, new) => old == new,
        }
    }
}

/// The item of `old` that has the keys of `item`, which stands at `index` in the new list.
pub(super) fn item_of<'a>(list: &Node, old: &'a Value, index: usize, item: &Value) -> Option<&'a Value> {
    let (ListType::Map(keys), Value::Array(old)) = (&list.list_type, old) else {
        return None;
    };
    let has_keys = keys.iter().all(|key| {
        item.get(key)
            .is_some_and(|value| !value.is_object() && !value.is_array())
    });
    if !has_keys {
        return None;
    }
    let is_same = |old: &&'a Value| keys.iter().all(|key| old.get(key) == item.get(key));
    // Most updates leave the order alone.
    old.get(index)
        .filter(is_same)
        .or_else(|| old.iter().find(is_same))
}

/// The old value with its sets and keyed lists in the order of the new one, where they hold the same items. Their
/// order means nothing, so a rule that compares old and new must not see it.
pub(super) fn aligned<'a>(cursor: Cursor<'_>, old: &'a Value, new: &Value) -> Cow<'a, Value> {
    let node = cursor.node();
    if !node.values.below.unique || old == new {
        return Cow::Borrowed(old);
    }
    match (old, new) {
        (Value::Object(old_fields), Value::Object(new)) => {
            let mut copy = None;
            for (name, old_value) in old_fields {
                if let (Some(inner), Some(new)) = (cursor.property(name), new.get(name))
                    && let Cow::Owned(value) = aligned(inner, old_value, new)
                {
                    copy.get_or_insert_with(|| old_fields.clone())
                        .insert(name.clone(), value);
                }
            }
            copy.map_or(Cow::Borrowed(old), |fields| Cow::Owned(Value::Object(fields)))
        }
        (Value::Array(old_items), Value::Array(new)) if old_items.len() == new.len() => {
            let counterpart = |(index, item): (usize, &Value)| match &node.list_type {
                ListType::Atomic => None,
                ListType::Set => old_items.contains(item).then(|| item.clone()),
                ListType::Map(_) => {
                    let old = item_of(node, old, index, item)?;
                    Some(
                        cursor
                            .items()
                            .map_or_else(|| old.clone(), |inner| aligned(inner, old, item).into_owned()),
                    )
                }
            };
            let items: Option<Vec<_>> = new.iter().enumerate().map(counterpart).collect();
            items.map_or(Cow::Borrowed(old), |items| Cow::Owned(Value::Array(items)))
        }
        _ => Cow::Borrowed(old),
    }
}
