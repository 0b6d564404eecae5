//! Does a configuration fit its type?
//!
//! Only what merging needs is checked: forms, scalar types, undeclared fields, keys and duplicates. The schema's own
//! validation follows on the merged object.

use serde_json::Value;

use super::path::PathElement;
use super::types::{Form, Type};
use super::{items, scalar};
use crate::schema::{JsonType, ListType};

/// Checks a whole configuration; the error lists everything that is wrong.
pub(super) fn check(value: &Value, ty: Type<'_>) -> Result<(), String> {
    let mut found = Vec::new();
    walk(value, ty, &mut String::new(), &mut found);
    match found.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

fn report(path: &str, message: &str, found: &mut Vec<String>) {
    found.push(if path.is_empty() {
        message.to_owned()
    } else {
        format!("{path}: {message}")
    });
}

fn walk(value: &Value, ty: Type<'_>, path: &mut String, found: &mut Vec<String>) {
    if value.is_null() || matches!(ty, Type::Deduced | Type::Untyped) {
        return;
    }
    match ty.form_of(value) {
        Form::Scalar => {
            if let Some(message) = scalar_mismatch(value, ty.scalar()) {
                report(path, &message, found);
            }
        }
        Form::Map => match value {
            Value::Object(fields) => {
                for (name, child) in fields {
                    let field = ty.field(name);
                    let depth = path.len();
                    path.push('.');
                    path.push_str(name);
                    let undeclared = matches!(field.ty, Type::Undeclared);
                    if undeclared {
                        report(path, "field not declared in schema", found);
                    } else {
                        walk(child, field.ty, path, found);
                    }
                    path.truncate(depth);
                    if undeclared {
                        break;
                    }
                }
            }
            other => report(
                path,
                &format!("expected map, got &{{{}}}", scalar::in_message(other)),
                found,
            ),
        },
        Form::List => match value {
            Value::Array(list) => walk_items(list, ty, path, found),
            other => report(
                path,
                &format!("expected list, got &{{{}}}", scalar::in_message(other)),
                found,
            ),
        },
    }
}

fn walk_items(list: &[Value], ty: Type<'_>, path: &mut String, found: &mut Vec<String>) {
    let mut seen = std::collections::BTreeSet::new();
    for (position, item) in list.iter().enumerate() {
        let element = if *ty.list_type() == ListType::Atomic {
            PathElement::Index(i64::try_from(position).unwrap_or(i64::MAX))
        } else {
            match items::element(ty, item) {
                Ok(element) => {
                    if !seen.insert(element.clone()) {
                        report(path, &format!("duplicate entries for key {element}"), found);
                    }
                    element
                }
                Err(error) => return report(path, &format!("element {position}: {error}"), found),
            }
        };
        let depth = path.len();
        path.push_str(&element.to_string());
        walk(item, ty.items(), path, found);
        path.truncate(depth);
    }
}

fn scalar_mismatch(value: &Value, expected: Option<JsonType>) -> Option<String> {
    match (expected, value) {
        (Some(JsonType::Integer | JsonType::Number), Value::Number(_))
        | (Some(JsonType::String), Value::String(_))
        | (Some(JsonType::Boolean), Value::Bool(_)) => None,
        (Some(JsonType::Integer | JsonType::Number), other) => {
            let kind = match other {
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                Value::Array(_) => "[]interface {}",
                _ => "map[string]interface {}",
            };
            Some(format!("expected numeric (int or float), got {kind}"))
        }
        (Some(JsonType::String), other) => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            scalar::in_path(other)
        )),
        (Some(JsonType::Boolean), other) => Some(format!(
            "expected boolean, got &{{{}}}",
            scalar::in_message(other)
        )),
        (_, Value::Object(_) | Value::Array(_)) => Some(format!(
            "expected any scalar, got &{{{}}}",
            scalar::in_message(value)
        )),
        _ => None,
    }
}
