//! Server-side apply: who owns which field, and what a new configuration changes.
//!
//! The pieces, from the bottom up: `path` and `set` hold sets of paths, `fields_v1` is their wire form;
//! `types` reads a schema; `fieldset`, `merge`, `compare` and `remove` walk values by it; `managers` is
//! `metadata.managedFields`; `updater` moves ownership, and the functions here add what a request brings with it.
//!
//! Objects of other versions are taken to have the same shape. This module never validates beyond what merging needs,
//! never defaults, and never looks at the clock.

mod cap;
mod check;
mod compare;
mod conflict;
mod fields_v1;
mod fieldset;
mod items;
mod last_applied;
mod managers;
mod merge;
mod object_meta;
mod path;
mod remove;
mod scalar;
mod set;
mod times;
mod types;
mod updater;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub use conflict::{ApplyError, Conflict};
pub use managers::copy_without_managers;

use crate::schema::Schema;
use managers::{ManagerKey, Managers, Operation};
use types::Type;
use updater::{Refusal, Update};

/// Who owns what an object had before the first apply on it, if nobody was recorded.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Who writes, through what, and when.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// The field manager's name.
    pub manager: &'a str,
    /// The version the request was made in.
    pub api_version: &'a str,
    /// `""` for the object itself, else `status`, `scale`…
    pub subresource: &'a str,
    /// RFC 3339, second precision; stamped on entries that change.
    pub now: &'a str,
}

/// Applies `config` on `live` (or on nothing) and returns the new object with its `managedFields`.
///
/// `reset` names top-level fields this endpoint must ignore (`status` on the main one; all but `status` on it): they
/// are as in `live`, and nobody gains or loses them.
pub fn apply(
    schema: &Schema,
    live: Option<&Value>,
    config: &Value,
    writer: Writer<'_>,
    force: bool,
    reset: &[&str],
) -> Result<Value, ApplyError> {
    let ty = Type::document(schema);
    refuse_foreign(config, writer)?;
    check::check(config, ty).map_err(|problem| ApplyError::NotTyped {
        object: describe(config),
        problem,
    })?;

    let object = live.map_or_else(|| empty_like(config), |live| copy_without_managers(live, &[]));
    let mut managers = managers::decode(live.and_then(managers::raw))
        .map_err(|error| ApplyError::BrokenLive(format!("failed to decode managed fields: {error}")))?;
    let broken = |error| ApplyError::BrokenLive(format!("failed to merge config: {error}"));

    if managers.is_empty() && live.is_some() {
        let key = ManagerKey::new(
            BEFORE_FIRST_APPLY,
            Operation::Update,
            writer.api_version,
            writer.subresource,
        );
        let by = Update {
            ty,
            reset,
            key: &key,
            api_version: writer.api_version,
            now: writer.now,
        };
        let mut empty = empty_like(config);
        schema.fill_empty(&mut empty);
        updater::update(&mut managers, &empty, &object, &by).map_err(broken)?;
    }

    let key = ManagerKey::new(
        writer.manager,
        Operation::Apply,
        writer.api_version,
        writer.subresource,
    );
    let by = Update {
        ty,
        reset,
        key: &key,
        api_version: writer.api_version,
        now: writer.now,
    };
    let before = (writer.manager == last_applied::MANAGER).then(|| managers.clone());
    let mut result = updater::apply(&mut managers, &object, config, &by, force);
    if let Some(before) = before {
        result = match result {
            Err(Refusal::Conflicts(conflicts)) => {
                let remaining = last_applied::remaining(conflicts, &object, writer.api_version, ty);
                if remaining.is_empty() {
                    managers = before;
                    updater::apply(&mut managers, &object, config, &by, true)
                } else {
                    Err(Refusal::Conflicts(remaining))
                }
            }
            other => other,
        };
    }
    let new = result.map_err(|refusal| match refusal {
        Refusal::Conflicts(conflicts) => {
            ApplyError::Conflicts(conflicts.into_iter().map(|at| at.conflict).collect())
        }
        Refusal::Item(error) => broken(error),
    })?;

    let mut new = new.unwrap_or(object);
    if writer.manager == last_applied::MANAGER && !reset.contains(&"metadata") {
        last_applied::follow(&mut new, config);
    }
    managers::put_raw(&mut new, managers::encode(&managers));
    if let Some(live) = live {
        times::revert(live, &mut new);
    }
    Ok(new)
}

/// Records who changed what by a write that was no apply: `new` (already merged by the caller) replaces `live`.
/// Rewrites `metadata.managedFields` of `new`.
///
/// A client may send `managedFields` of its own, which then count instead of the live ones, except through a
/// subresource. An empty list, or one empty entry, makes the object forget its managers.
pub fn track_update(
    schema: &Schema,
    live: Option<&Value>,
    new: &mut Value,
    writer: Writer<'_>,
    reset: &[&str],
) {
    let sent = managers::take_raw(new).filter(|value| !value.is_null());
    let recorded = live.and_then(managers::raw);
    let (mut managers, from_live) = starting_managers(sent.as_ref(), recorded, writer.subresource);

    let is_create = live.is_none_or(|live| uid(live).is_none_or(str::is_empty));
    if managers.is_empty() && !is_create {
        return;
    }
    let mut empty;
    let old = match live {
        Some(live) => live,
        None => {
            empty = empty_like(new);
            schema.fill_empty(&mut empty);
            &empty
        }
    };
    let key = ManagerKey::new(
        writer.manager,
        Operation::Update,
        writer.api_version,
        writer.subresource,
    );
    let by = Update {
        ty: Type::document(schema),
        reset,
        key: &key,
        api_version: writer.api_version,
        now: writer.now,
    };
    // Garbage is worse than nothing: an object that cannot be compared has no managers.
    let Ok(changed) = updater::update(&mut managers, old, new, &by) else {
        return;
    };
    if !changed && from_live {
        return managers::put_raw(new, recorded.cloned());
    }
    cap::cap(&mut managers, cap::MAX_UPDATERS);
    managers::put_raw(new, managers::encode(&managers));
    if let Some(live) = live {
        times::revert(live, new);
    }
}

/// The managers to start from, and whether they are those of the live object.
fn starting_managers(sent: Option<&Value>, recorded: Option<&Value>, subresource: &str) -> (Managers, bool) {
    if subresource.is_empty()
        && let Some(sent) = sent
    {
        if managers::is_reset(sent) {
            return (Managers::new(), false);
        }
        if recorded != Some(sent)
            && let Ok(managers) = managers::decode(Some(sent))
            && !managers.is_empty()
        {
            return (managers, false);
        }
    }
    (managers::decode(recorded).unwrap_or_default(), true)
}

fn uid(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("uid")?.as_str()
}

/// An object of the same kind with nothing in it.
fn empty_like(object: &Value) -> Value {
    let mut empty = Map::new();
    for name in ["apiVersion", "kind"] {
        if let Some(value) = object.get(name) {
            empty.insert(name.to_owned(), value.clone());
        }
    }
    Value::Object(empty)
}

/// Refuses configurations that no schema could make right.
fn refuse_foreign(config: &Value, writer: Writer<'_>) -> Result<(), ApplyError> {
    if !config.is_object() {
        return Err(ApplyError::Invalid(
            "the configuration must be an object".to_owned(),
        ));
    }
    let version = config
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if version != writer.api_version {
        return Err(ApplyError::Invalid(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            writer.api_version
        )));
    }
    if managers::raw(config).is_some() {
        return Err(ApplyError::Invalid(
            "metadata.managedFields must be nil".to_owned(),
        ));
    }
    Ok(())
}

/// `namespace/name; group/version, Kind=kind`
#[must_use]
pub fn describe(object: &Value) -> String {
    let metadata = |name: &str| {
        object
            .get("metadata")
            .and_then(|m| m.get(name))
            .and_then(Value::as_str)
    };
    let top = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let version = top("apiVersion");
    let slash = if version.contains('/') { "" } else { "/" };
    format!(
        "{}/{}; {slash}{version}, Kind={}",
        metadata("namespace").unwrap_or_default(),
        metadata("name").unwrap_or_default(),
        top("kind")
    )
}
