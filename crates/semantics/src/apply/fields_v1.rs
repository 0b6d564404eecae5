//! The wire form of a set of paths: `fieldsV1` of a `managedFields` entry.
//!
//! A nested object whose keys are path elements: `f:<name>`, `k:<JSON object>`, `v:<JSON value>`, `i:<index>`; `.` marks
//! a path that is a member although it has others below it.

use serde_json::{Map, Value};

use super::path::PathElement;
use super::set::{Node, Set};

/// Why a `fieldsV1` cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FieldsError {
    /// Something other than an object where an object must be.
    #[error("expected an object, got {0}")]
    NotAnObject(String),
    /// A key that names no path element.
    #[error("{0:?} is not a path element: {1}")]
    BadElement(String, String),
}

/// Writes a set.
pub(super) fn encode(set: &Set) -> Value {
    Value::Object(encode_level(set))
}

fn encode_level(set: &Set) -> Map<String, Value> {
    let mut out = Map::new();
    for node in set.nodes() {
        let mut inner = encode_level(&node.children);
        if node.member && !inner.is_empty() {
            inner.insert(".".to_owned(), Value::Object(Map::new()));
        }
        out.insert(encode_element(&node.element), Value::Object(inner));
    }
    out
}

fn encode_element(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => format!("f:{name}"),
        PathElement::Key(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
                .collect();
            format!("k:{{{}}}", fields.join(","))
        }
        PathElement::Value(value) => format!("v:{value}"),
        PathElement::Index(index) => format!("i:{index}"),
    }
}

/// Reads a set. Elements of an unknown type are skipped: a later version may have written them.
pub(super) fn decode(fields: &Value) -> Result<Set, FieldsError> {
    Ok(decode_level(fields)?.0)
}

/// A level and whether the path that leads to it is itself a member.
fn decode_level(fields: &Value) -> Result<(Set, bool), FieldsError> {
    let fields = match fields {
        Value::Object(fields) => fields,
        Value::Null => return Ok((Set::default(), true)),
        other => return Err(FieldsError::NotAnObject(other.to_string())),
    };
    let mut nodes = Vec::with_capacity(fields.len());
    let mut member = false;
    for (key, below) in fields {
        if key == "." {
            member = true;
        } else if let Some(element) = decode_element(key)? {
            let (children, member) = decode_level(below)?;
            nodes.push(Node {
                element,
                member,
                children,
            });
        }
    }
    let set = Set::from_nodes(nodes);
    let member = member || set.is_empty();
    Ok((set, member))
}

fn decode_element(key: &str) -> Result<Option<PathElement>, FieldsError> {
    let bad = |why: &dyn ToString| FieldsError::BadElement(key.to_owned(), why.to_string());
    let Some((kind, text)) = key.split_at_checked(2) else {
        return Err(bad(&"too short"));
    };
    if !kind.ends_with(':') {
        return Err(bad(&"missing colon"));
    }
    Ok(Some(match kind {
        "f:" => PathElement::Field(text.to_owned()),
        "k:" => {
            // The map is sorted by key, which is the order key fields must have.
            let fields: Map<String, Value> = serde_json::from_str(text).map_err(|error| bad(&error))?;
            PathElement::Key(fields.into_iter().collect())
        }
        "v:" => PathElement::Value(serde_json::from_str(text).map_err(|error| bad(&error))?),
        "i:" => PathElement::Index(text.parse().map_err(|error| bad(&error))?),
        _ => return Ok(None),
    }))
}
