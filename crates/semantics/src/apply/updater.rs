//! The two ways ownership moves: by an update, and by an apply.

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::conflict::{Conflict, ConflictAt};
use super::fieldset::fieldset;
use super::items::ItemError;
use super::managers::{ManagerKey, Managers, Owned};
use super::merge::merge;
use super::path::{self, PathElement};
use super::remove::{drop_nulls, reconcile, remove};
use super::set::Set;
use super::types::Type;

/// Removes the named top-level fields, and all below them, from a set.
pub(super) fn drop_fields(set: &mut Set, names: &[&str]) {
    if !names.is_empty() && !set.is_empty() {
        set.retain(
            |node| !matches!(&node.element, PathElement::Field(name) if names.contains(&name.as_str())),
        );
    }
}

/// Fields of `metadata` that nobody owns.
const UNOWNED_METADATA: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// Removes the fields that nobody owns.
fn strip(set: &mut Set) {
    for node in set.nodes_mut() {
        if let PathElement::Field(name) = &node.element {
            match name.as_str() {
                "apiVersion" | "kind" => node.member = false,
                "metadata" => {
                    node.member = false;
                    for inner in node.children.nodes_mut() {
                        if matches!(&inner.element, PathElement::Field(name) if UNOWNED_METADATA.contains(&name.as_str()))
                        {
                            inner.member = false;
                        }
                    }
                    node.children
                        .retain(|inner| inner.member || !inner.children.is_empty());
                }
                _ => {}
            }
        }
    }
    set.retain(|node| node.member || !node.children.is_empty());
}

/// Takes what changed away from everyone but `self_key`, or reports who would lose something.
fn disown(
    managers: &mut Managers,
    change: &Comparison,
    self_key: Option<&ManagerKey>,
    force: bool,
) -> Result<(), Vec<ConflictAt>> {
    if !force {
        let mut conflicts = Vec::new();
        for (key, owned) in managers.iter().filter(|(key, _)| Some(*key) != self_key) {
            let taken = owned
                .set
                .intersection(&change.modified)
                .union(owned.set.intersection(&change.added));
            taken.for_each(&mut |at| {
                let conflict = Conflict {
                    manager: key.describe(),
                    field: path::display(at),
                };
                conflicts.push(ConflictAt {
                    conflict,
                    path: at.iter().map(|&element| element.clone()).collect(),
                });
            });
        }
        if !conflicts.is_empty() {
            return Err(conflicts);
        }
    }
    for (_, owned) in managers.iter_mut().filter(|(key, _)| Some(*key) != self_key) {
        for lost in [&change.modified, &change.added, &change.removed] {
            owned.set = std::mem::take(&mut owned.set).difference(lost);
        }
    }
    managers.retain(|_, owned| !owned.set.is_empty());
    Ok(())
}

/// What an update comes with.
pub(super) struct Update<'a> {
    /// The type of the document.
    pub(super) ty: Type<'a>,
    /// Top-level fields to ignore.
    pub(super) reset: &'a [&'a str],
    /// Who writes.
    pub(super) key: &'a ManagerKey,
    /// The version written in.
    pub(super) api_version: &'a str,
    /// When.
    pub(super) now: &'a str,
}

/// Gives `key` what differs between the two objects, and takes it from the others. Returns whether anything changed
/// that somebody can own.
pub(super) fn update(
    managers: &mut Managers,
    old: &Value,
    new: &Value,
    by: &Update<'_>,
) -> Result<bool, ItemError> {
    let mut change = compare(old, new, by.ty)?.without(by.reset);
    strip(&mut change.removed);
    strip(&mut change.modified);
    strip(&mut change.added);
    if change.is_empty() {
        return Ok(false);
    }
    for owned in managers.values_mut() {
        reconcile(&mut owned.set, by.ty);
    }
    // Forced, so there are no conflicts to report.
    let _ = disown(managers, &change, None, true);
    let gained = change.modified.union(change.added);
    if !gained.is_empty() {
        let previous = managers.remove(by.key).map(|owned| owned.set).unwrap_or_default();
        managers.insert(
            by.key.clone(),
            Owned {
                set: gained.union(previous),
                api_version: by.api_version.to_owned(),
                time: Some(by.now.to_owned()),
            },
        );
    }
    Ok(true)
}

/// Why an apply failed.
pub(super) enum Refusal {
    /// Other managers own some of it.
    Conflicts(Vec<ConflictAt>),
    /// The live object or the configuration has an item that cannot be told apart.
    Item(ItemError),
}

impl From<ItemError> for Refusal {
    fn from(error: ItemError) -> Self {
        Self::Item(error)
    }
}

/// Applies `config` on `live`. `None` if the object stays as it is.
pub(super) fn apply(
    managers: &mut Managers,
    live: &Value,
    config: &Value,
    by: &Update<'_>,
    force: bool,
) -> Result<Option<Value>, Refusal> {
    for owned in managers.values_mut() {
        reconcile(&mut owned.set, by.ty);
    }
    let merged = merge(live, config, by.ty)?;
    let mut set = fieldset(config, by.ty);
    drop_fields(&mut set, by.reset);
    let last = managers.remove(by.key);
    let time = last.as_ref().and_then(|owned| owned.time.clone());
    managers.insert(
        by.key.clone(),
        Owned {
            set,
            api_version: by.api_version.to_owned(),
            time,
        },
    );
    let mut new = match last {
        Some(last) if !last.set.is_empty() => prune(merged, managers, by, &last.set),
        _ => merged,
    };
    let change = compare(live, &new, by.ty)?.without(by.reset);
    disown(managers, &change, Some(by.key), force).map_err(Refusal::Conflicts)?;
    if let Some(owned) = managers.get_mut(by.key) {
        strip(&mut owned.set);
        if owned.set.is_empty() {
            managers.remove(by.key);
        }
    }
    if super::scalar::same(live, &new) {
        return Ok(None);
    }
    if let Some(owned) = managers.get_mut(by.key) {
        owned.time = Some(by.now.to_owned());
    }
    restore(&mut new, live, by.reset);
    // Structs know no null, and metadata is one everywhere; elsewhere validation refuses it.
    if by.ty.is_typed() {
        drop_nulls(&mut new, by.ty);
    } else if let Some(metadata) = new.get_mut("metadata") {
        drop_nulls(metadata, by.ty.field("metadata").ty);
    }
    Ok(Some(new))
}

/// Makes the named top-level fields what they are in `live`, as well as those that nobody owns and that the
/// configuration has as `null` (clients that print Go structs send `creationTimestamp: null`).
fn restore(new: &mut Value, live: &Value, reset: &[&str]) {
    let Some(fields) = new.as_object_mut() else { return };
    for &name in reset {
        match live.get(name) {
            Some(value) => fields.insert(name.to_owned(), value.clone()),
            None => fields.remove(name),
        };
    }
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, value) in metadata.iter_mut().filter(|(_, value)| value.is_null()) {
        if UNOWNED_METADATA.contains(&name.as_str()) {
            *value = live
                .get("metadata")
                .and_then(|old| old.get(name))
                .cloned()
                .unwrap_or_default();
        }
    }
}

/// Removes what the manager applied last time, does not apply now, and nobody else owns.
fn prune(merged: Value, managers: &Managers, by: &Update<'_>, last: &Set) -> Value {
    let ty = by.ty;
    if managers
        .get(by.key)
        .is_some_and(|now| last.clone().difference(&now.set).is_empty())
    {
        return merged;
    }
    let last = last.with_named_fields(ty);
    let pruned = remove(&merged, &last, ty);
    let in_merged = fieldset(&merged, ty).with_named_fields(ty);

    // What others own, or the new configuration has, comes back.
    let mut kept = fieldset(&pruned, ty).with_named_fields(ty);
    for owned in managers.values() {
        kept = kept.union(owned.set.with_named_fields(ty));
    }
    let pruned = remove(&merged, &in_merged.clone().difference(&kept), ty);

    // So does what the manager never owned.
    let kept = fieldset(&pruned, ty).with_named_fields(ty);
    remove(&merged, &in_merged.difference(&kept).intersection(&last), ty)
}
