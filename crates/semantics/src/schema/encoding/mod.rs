//! Texts that are something else: times and bytes.
//!
//! A typed server parses them while it reads a document and writes them in its own way. So a wrong one is no rule that
//! was broken but a document that cannot be read, and a right one is stored in one form only.

mod base64_text;
mod time_text;

use serde_json::Value;

use super::node::{Additional, Cursor, Schema};

/// What a text encodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Base64,
    /// A time, shown to the second.
    Time,
    /// A time with exactly six digits after the second.
    MicroTime,
}

impl Encoding {
    /// The text in its one form, or why it cannot be read, in Go's words.
    fn canonical(self, text: &str) -> Result<String, String> {
        match self {
            Self::Base64 => base64_text::canonical(text),
            Self::Time => time_text::canonical(text, false),
            Self::MicroTime => time_text::canonical(text, true),
        }
    }
}

impl Schema {
    /// Brings times and bytes into the form in which they are stored. Fails at the first that cannot be read, in Go's
    /// words. `metadata` is not looked at.
    pub fn canonicalise_texts(&self, object: &mut Value) -> Result<(), String> {
        walk(self.cursor(), object, true)
    }
}

fn walk(cursor: Cursor<'_>, value: &mut Value, root: bool) -> Result<(), String> {
    let node = cursor.node();
    match value {
        Value::String(text) => {
            if let Some(encoding) = node.encoding {
                *text = encoding.canonical(text)?;
            }
        }
        Value::Array(items) => {
            if let Some(inner) = cursor.items() {
                for item in items {
                    walk(inner, item, false)?;
                }
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                if root && name == "metadata" {
                    continue;
                }
                match (node.properties.get(name), node.additional) {
                    (Some(&id), _) | (None, Additional::Node(id)) => walk(cursor.at(id), field, false)?,
                    (None, _) => {}
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests;
