//! What attributes are before and after, as far as anybody may see it.
//!
//! What Terraform marks as sensitive never gets in here, nor a copy of it that a provider put where there is no mark, nor
//! if it is too short to be told from other words. Other secrets may: whoever lets a value out passes it through
//! a [`Redactor`](crate::redact::Redactor) first and shortens it after that, since half a secret looks like none.

use std::{collections::HashSet, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::paths::{self, Sides};
use crate::stream::Action;

/// What stands for a value that is marked as sensitive, in Terraform's words.
pub const SENSITIVE: &str = "(sensitive value)";
/// What stands for a value that is not known yet, in Terraform's words.
pub const UNKNOWN: &str = "(known after apply)";
/// Values that are longer than this are told by their length. They are never cut, because what is left of a secret
/// would not be recognised.
const MAX_VALUE: usize = 16 * 1024;
/// Attributes of one resource whose values are kept.
const MAX_VALUES: usize = 64;

/// How one attribute changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttributeChange {
    /// Which one.
    pub path: String,
    /// What it is.
    pub before: Shown,
    /// What it will be.
    pub after: Shown,
    /// It cannot change in place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forces_replacement: bool,
}

/// A value as far as anybody may see it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Shown {
    /// There is none.
    Nothing,
    /// Text. Not redacted.
    Text(String),
    /// Anything else, written as JSON in which hidden parts are words in parentheses. Not redacted.
    Other(String),
    /// It is marked as sensitive.
    Sensitive,
    /// It is known when it is made.
    Unknown,
    /// It is too long, and has this many bytes.
    Long(usize),
}

/// Texts and numbers that are marked as sensitive somewhere in a plan.
#[derive(Clone, Default)]
pub struct Marked(HashSet<String>);

impl Marked {
    /// Adds what is marked in a value.
    pub(super) fn add(&mut self, value: &Value, marks: &Value) {
        match (value, marks) {
            (Value::Array(items), Value::Bool(true)) => items.iter().for_each(|item| self.add(item, marks)),
            (Value::Object(fields), Value::Bool(true)) => {
                fields.values().for_each(|field| self.add(field, marks));
            }
            (Value::String(text), Value::Bool(true)) if !text.is_empty() => drop(self.0.insert(text.clone())),
            (Value::Number(number), Value::Bool(true)) => drop(self.0.insert(number.to_string())),
            (Value::Array(items), Value::Array(marks)) => {
                items
                    .iter()
                    .zip(marks)
                    .for_each(|(item, marks)| self.add(item, marks));
            }
            (Value::Object(fields), Value::Object(marks)) => {
                for (name, marks) in marks {
                    self.add(fields.get(name).unwrap_or(&Value::Null), marks);
                }
            }
            _ => {}
        }
    }

    fn has(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.0.contains(text),
            Value::Number(number) => self.0.contains(&number.to_string()),
            _ => false,
        }
    }
}

impl fmt::Debug for Marked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Marked({})", self.0.len())
    }
}

impl fmt::Debug for Shown {
    /// Values may be secret although Terraform does not mark them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("Nothing"),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Other(text) => write!(f, "Other({} bytes)", text.len()),
            Self::Sensitive => f.write_str("Sensitive"),
            Self::Unknown => f.write_str("Unknown"),
            Self::Long(length) => write!(f, "Long({length})"),
        }
    }
}

/// How the attributes of a resource change that this happens to, those that force a replacement first.
///
/// Of what is made, only what is known beforehand is told, and of what goes nothing.
#[must_use]
pub fn attribute_changes(
    sides: &Sides<'_>,
    marked: &Marked,
    action: &Action,
    replace_paths: &[String],
) -> Vec<AttributeChange> {
    let mut changes = match action {
        Action::Create => created(sides, marked),
        Action::Update | Action::Replace => paths::differences(sides)
            .into_iter()
            .filter(|(path, _)| !path.is_empty())
            .map(|(path, sides)| change(path, &sides, marked))
            .collect(),
        _ => Vec::new(),
    };
    for change in &mut changes {
        change.forces_replacement = replace_paths.iter().any(|path| overlap(path, &change.path));
    }
    changes.sort_by_key(|change| !change.forces_replacement);
    changes.truncate(MAX_VALUES);
    changes
}

/// How a value changes as a whole, such as an output.
#[must_use]
pub fn whole_change(name: &str, sides: &Sides<'_>, marked: &Marked) -> AttributeChange {
    change(name.to_owned(), sides, marked)
}

fn change(path: String, sides: &Sides<'_>, marked: &Marked) -> AttributeChange {
    let is_secret = sides.is_secret();
    let hidden = |shown: Shown| match shown {
        Shown::Nothing | Shown::Unknown => shown,
        _ if is_secret => Shown::Sensitive,
        shown => shown,
    };
    AttributeChange {
        path,
        before: hidden(shown(sides.before, sides.before_sensitive, &Value::Null, marked)),
        after: hidden(shown(sides.after, sides.after_sensitive, sides.unknown, marked)),
        forces_replacement: false,
    }
}

fn created(sides: &Sides<'_>, marked: &Marked) -> Vec<AttributeChange> {
    let fields = sides.after.as_object().filter(|_| !sides.is_secret());
    let names = fields.into_iter().flat_map(|fields| fields.keys());
    names
        .map(|name| {
            let side = sides.at(|side| &side[name.as_str()]);
            change(paths::attribute("", name), &side, marked)
        })
        .filter(|change| {
            !matches!(&change.after, Shown::Nothing | Shown::Unknown) && !is_empty(&change.after)
        })
        .collect()
}

fn is_empty(shown: &Shown) -> bool {
    matches!(shown, Shown::Other(text) if text == "[]" || text == "{}")
}

fn shown(value: &Value, sensitive: &Value, unknown: &Value, marked: &Marked) -> Shown {
    match value {
        _ if *unknown == Value::Bool(true) => Shown::Unknown,
        // What is not known at all yet has no shape in which a part of it could be found.
        Value::Null if paths::has_true(unknown) => Shown::Unknown,
        Value::Null => Shown::Nothing,
        value if *sensitive == Value::Bool(true) || marked.has(value) => Shown::Sensitive,
        Value::String(text) if text.len() > MAX_VALUE => Shown::Long(text.len()),
        Value::String(text) => Shown::Text(text.clone()),
        value => {
            let mut text = String::new();
            write(value, sensitive, unknown, marked, &mut text);
            match text.len() {
                length if length > MAX_VALUE => Shown::Long(length),
                _ => Shown::Other(text),
            }
        }
    }
}

/// Writes a value with words where something is hidden.
fn write(value: &Value, sensitive: &Value, unknown: &Value, marked: &Marked, text: &mut String) {
    // What is too long is not shown anyway.
    if text.len() > MAX_VALUE {
        return;
    }
    if *unknown == Value::Bool(true) {
        return text.push_str(UNKNOWN);
    }
    if *sensitive == Value::Bool(true) || marked.has(value) {
        return text.push_str(SENSITIVE);
    }
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                write(item, &sensitive[index], &unknown[index], marked, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            // What is not known yet is not among the fields.
            let later = unknown.as_object().into_iter().flatten();
            let later = later.filter(|(name, mark)| paths::has_true(mark) && !fields.contains_key(*name));
            let fields = fields.iter();
            text.push('{');
            for (index, (name, field)) in fields
                .chain(later.map(|(name, _)| (name, &Value::Null)))
                .enumerate()
            {
                text.push_str(if index > 0 { ", " } else { "" });
                text.push_str(&format!("{}: ", Value::from(name.as_str())));
                write(
                    field,
                    &sensitive[name.as_str()],
                    &unknown[name.as_str()],
                    marked,
                    text,
                );
            }
            text.push('}');
        }
        Value::Null if paths::has_true(unknown) => text.push_str(UNKNOWN),
        leaf => text.push_str(&leaf.to_string()),
    }
}

/// Whether one of two paths leads to the other or into it.
fn overlap(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    let rest = long.strip_prefix(short);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
