//! Outputs of a module, read as what they should be.

use std::collections::BTreeMap;

use serde_json::Value;

/// What is wrong with an output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputProblem {
    /// The module has no such output, or one that is null.
    #[error("The module has no output {name}, or it is null. Add output \"{name}\" to it: {expected}")]
    Missing {
        /// Name of the output.
        name: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The output is something else than it should be.
    #[error("The module's output {name} is {found}. Make it {expected}")]
    WrongType {
        /// Name of the output.
        name: String,
        /// What it should be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
}

/// Reads an output that is a text.
///
/// # Errors
///
/// There is no such output, or it is empty, or no text.
pub fn text<'a>(outputs: &'a BTreeMap<String, Value>, name: &str) -> Result<&'a str, OutputProblem> {
    const EXPECTED: &str = "a text";
    match outputs.get(name) {
        None | Some(Value::Null) => Err(missing(name, EXPECTED)),
        Some(Value::String(text)) if text.trim().is_empty() => Err(wrong(name, EXPECTED, "empty")),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(wrong(name, EXPECTED, kind(other))),
    }
}

/// Reads an output that is a list of texts, which may also be written as the JSON text of one.
///
/// # Errors
///
/// There is no such output, or it is no list, or something in it is no text.
pub fn list_of_texts(outputs: &BTreeMap<String, Value>, name: &str) -> Result<Vec<String>, OutputProblem> {
    const EXPECTED: &str = "a list of texts";
    let parsed;
    let value = match outputs.get(name) {
        None | Some(Value::Null) => return Err(missing(name, EXPECTED)),
        Some(Value::String(text)) => match serde_json::from_str::<Value>(text) {
            Ok(value) => {
                parsed = value;
                &parsed
            }
            Err(_) => return Err(wrong(name, EXPECTED, "a text")),
        },
        Some(value) => value,
    };
    let Value::Array(items) = value else {
        return Err(wrong(name, EXPECTED, kind(value)));
    };
    items
        .iter()
        .map(|item| match item {
            Value::String(text) => Ok(text.clone()),
            _ => Err(wrong(name, EXPECTED, "a list with other things in it")),
        })
        .collect()
}

fn missing(name: &str, expected: &'static str) -> OutputProblem {
    OutputProblem::Missing {
        name: name.to_owned(),
        expected,
    }
}

fn wrong(name: &str, expected: &'static str, found: &'static str) -> OutputProblem {
    OutputProblem::WrongType {
        name: name.to_owned(),
        expected,
        found,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
