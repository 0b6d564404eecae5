//! The order of a merged list: what the patch names stands in the patch's order, the rest keeps its place among it.

use serde_json::Value;

use super::go_text::go_list;
use super::{DIRECTIVE, key_of, unforeseen};
use crate::patch::PatchError;
use crate::schema::PatchHints;

/// What makes two items of a list the same one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Identity<'a> {
    /// The value itself.
    Whole,
    /// The value of this member.
    Key(&'a str),
}

impl<'a> Identity<'a> {
    pub(super) fn new(hints: Option<&'a PatchHints>) -> Self {
        hints
            .and_then(|hints| hints.merge_key.as_deref())
            .map_or(Self::Whole, Self::Key)
    }

    fn of(self, item: &Value) -> Result<&Value, PatchError> {
        match (self, item) {
            (Self::Whole, _) => Ok(item),
            (Self::Key(key), Value::Object(members)) => key_of(members, key),
            (Self::Key(_), _) => Err(unforeseen(
                "expected a map, but received another type in a keyed list",
            )),
        }
    }

    fn all(self, items: &[Value]) -> Result<Vec<&Value>, PatchError> {
        items.iter().map(|item| self.of(item)).collect()
    }

    /// Checks that the patch's items stand in the order that `$setElementOrder` demands and are all named there.
    pub(super) fn check_order(self, patch: &[Value], order: &[Value]) -> Result<(), PatchError> {
        if order.is_empty() {
            return Ok(());
        }
        let mut places = self.all(order)?.into_iter();
        for item in patch.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
            let wanted = self.of(item)?;
            if !places.any(|place| place == wanted) {
                let (patch, order) = (go_list(patch), go_list(order));
                return Err(unforeseen(format!(
                    "The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n"
                )));
            }
        }
        Ok(())
    }
}

/// Sorts `merged`: items in `order` by it, the others as in `before`, and both woven together so that an item which
/// is not in `order` stays in front of those that followed it before.
pub(super) fn arrange(
    merged: Vec<Value>,
    order: &[Value],
    before: &[Value],
    identity: Identity<'_>,
) -> Result<Vec<Value>, PatchError> {
    let order = identity.all(order)?;
    let before = identity.all(before)?;
    let place = |places: &[&Value], item: &Value| -> Result<Option<usize>, PatchError> {
        let wanted = identity.of(item)?;
        Ok(places.iter().position(|place| *place == wanted))
    };
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let was = place(&before, &item)?;
        match place(&order, &item)? {
            Some(at) => named.push((at, was, item)),
            None => others.push((was.unwrap_or(usize::MAX), was, item)),
        }
    }
    named.sort_by_key(|(at, ..)| *at);
    others.sort_by_key(|(at, ..)| *at);

    let mut woven = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (_, was, item) in named {
        while let Some((.., other)) = others.next_if(
            |(_, other_was, _)| matches!((other_was, was), (Some(other), Some(this)) if *other < this),
        ) {
            woven.push(other);
        }
        woven.push(item);
    }
    woven.extend(others.map(|(.., item)| item));
    Ok(woven)
}
