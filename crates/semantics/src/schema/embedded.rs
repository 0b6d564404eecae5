//! Resources embedded in other resources must look like resources.

use serde_json::{Map, Value};

use super::node::{Additional, Cursor};
use super::path::Path;
use crate::FieldError;
use crate::naming::{self, NameRule};

/// Checks the embedded resources at `cursor` and below.
pub(super) fn check(cursor: Cursor<'_>, value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let node = cursor.node();
    if !node.values.below.embedded {
        return;
    }
    match value {
        Value::Object(fields) => {
            if node.embedded_resource {
                check_resource(value, fields, path, errors);
            }
            for (name, value) in fields {
                match (node.properties.get(name), node.additional) {
                    (Some(&id), _) => check(cursor.at(id), value, &Path::Field(path, name), errors),
                    (None, Additional::Node(id)) => {
                        check(cursor.at(id), value, &Path::Key(path, name), errors)
                    }
                    (None, _) => {}
                }
            }
        }
        Value::Array(items) => {
            let Some(inner) = cursor.items() else { return };
            for (index, item) in items.iter().enumerate() {
                check(inner, item, &Path::Index(path, index), errors);
            }
        }
        _ => {}
    }
}

fn check_resource(
    resource: &Value,
    fields: &Map<String, Value>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    for name in ["apiVersion", "kind"] {
        let field = || Path::Field(path, name).field();
        match fields.get(name) {
            None => errors.push(FieldError::required(field(), "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(
                    field(),
                    Value::String(String::new()),
                    "must not be empty",
                ));
            }
            Some(Value::String(text)) => {
                if let Some(detail) = complaint(name, text) {
                    errors.push(FieldError::invalid(field(), Value::String(text.clone()), detail));
                }
            }
            Some(other) => errors.push(FieldError::invalid(field(), other.clone(), "must be a string")),
        }
    }
    match fields.get("metadata") {
        None | Some(Value::Null) => {}
        Some(Value::Object(_)) => {
            let prefix = path.field();
            errors.extend(named(resource).into_iter().map(|mut error| {
                error.field = if prefix.is_empty() {
                    error.field
                } else {
                    format!("{prefix}.{}", error.field)
                };
                error
            }));
        }
        Some(other) => errors.push(FieldError::invalid(
            Path::Field(path, "metadata").field(),
            other.clone(),
            "must be an object",
        )),
    }
}

/// The errors of the metadata. An embedded resource may be a template without a name, so one is lent to it.
fn named(resource: &Value) -> Vec<FieldError> {
    let has_name = resource
        .pointer("/metadata/name")
        .is_some_and(|name| name.as_str() != Some(""));
    if has_name {
        return naming::metadata_errors(NameRule::PathSegment, resource);
    }
    let mut copy = resource.clone();
    copy["metadata"]["name"] = Value::String("fakename".to_owned());
    naming::metadata_errors(NameRule::PathSegment, &copy)
}

fn complaint(name: &str, text: &str) -> Option<String> {
    if name == "apiVersion" {
        return (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"));
    }
    let lower = text.to_ascii_lowercase();
    let is_label = lower.len() <= 63
        && lower
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && lower.starts_with(|c: char| c.is_ascii_lowercase())
        && !lower.ends_with('-');
    (!is_label).then(|| {
        "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric \
         characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. \
         'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
            .to_owned()
    })
}
