//! Which attributes of a resource change.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Attributes that are named one by one; a change of more is a change of everything.
const MAX_PATHS: usize = 64;

/// A resource before and after, with what is not known yet and what is secret.
#[derive(Clone, Copy)]
pub struct Sides<'a> {
    /// As it is.
    pub before: &'a Value,
    /// As it will be, as far as that is known.
    pub after: &'a Value,
    /// What is not known yet: `true`, or a tree of the same shape as the value.
    pub unknown: &'a Value,
    /// What is secret of how it is, in the same way.
    pub before_sensitive: &'a Value,
    /// What is secret of how it will be, in the same way.
    pub after_sensitive: &'a Value,
}

/// The innermost attributes that differ or may differ, sorted. Below something secret nothing is named, because names
/// of keys are values too.
pub(super) fn changed(sides: &Sides<'_>) -> Vec<String> {
    let found = differences(sides).into_keys();
    let mut paths: Vec<String> = found.filter(|path| !path.is_empty()).collect();
    if paths.len() > MAX_PATHS {
        let more = paths.len() - MAX_PATHS;
        paths.truncate(MAX_PATHS);
        paths.push(format!("and {more} more"));
    }
    paths
}

/// The same, with what they are on both sides.
pub(super) fn differences<'a>(sides: &Sides<'a>) -> BTreeMap<String, Sides<'a>> {
    let mut found = BTreeMap::new();
    walk(sides, String::new(), &mut found);
    found
}

/// A path of a plan file as text.
pub(super) fn joined(steps: &[Value]) -> String {
    steps.iter().fold(String::new(), |path, step| match step {
        Value::String(name) => attribute(&path, name),
        other => format!("{path}[{other}]"),
    })
}

fn walk<'a>(sides: &Sides<'a>, path: String, found: &mut BTreeMap<String, Sides<'a>>) {
    if *sides.unknown == Value::Bool(true) {
        found.insert(path, *sides);
        return;
    }
    let nothing_unknown = !has_true(sides.unknown);
    if sides.before == sides.after && nothing_unknown {
        return;
    }
    let secret = sides.is_secret();
    match (sides.before, sides.after) {
        (Value::Object(before), Value::Object(after)) if !secret => {
            let unknown = sides
                .unknown
                .as_object()
                .into_iter()
                .flat_map(|fields| fields.keys());
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).chain(unknown).collect();
            for name in names {
                walk(
                    &sides.at(|side| &side[name.as_str()]),
                    attribute(&path, name),
                    found,
                );
            }
        }
        (Value::Array(before), Value::Array(after)) if !secret && before.len() == after.len() => {
            for index in 0..before.len() {
                walk(&sides.at(|side| &side[index]), format!("{path}[{index}]"), found);
            }
        }
        _ => {
            found.insert(path, *sides);
        }
    }
}

impl<'a> Sides<'a> {
    /// It is secret as a whole, now or then.
    pub(super) fn is_secret(&self) -> bool {
        [self.before_sensitive, self.after_sensitive].contains(&&Value::Bool(true))
    }

    /// `Value`'s index operator answers null for what is not there, which is what is wanted here.
    pub(super) fn at(&self, step: impl Fn(&'a Value) -> &'a Value) -> Self {
        Self {
            before: step(self.before),
            after: step(self.after),
            unknown: step(self.unknown),
            before_sensitive: step(self.before_sensitive),
            after_sensitive: step(self.after_sensitive),
        }
    }
}

pub(super) fn has_true(marks: &Value) -> bool {
    match marks {
        Value::Bool(mark) => *mark,
        Value::Array(items) => items.iter().any(has_true),
        Value::Object(fields) => fields.values().any(has_true),
        _ => false,
    }
}

pub(super) fn attribute(path: &str, name: &str) -> String {
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|char| char.is_alphanumeric() || char == '_' || char == '-');
    match (path, plain) {
        ("", true) => name.to_owned(),
        (path, true) => format!("{path}.{name}"),
        (path, false) => format!("{path}[{name:?}]"),
    }
}
