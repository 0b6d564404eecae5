//! What a version says about single fields: columns, selectable fields, the paths of the scale subresource.

use apiary_semantics::{FieldError, FieldErrorKind};
use serde_json::{Value, json};

use super::text;

const MAX_SELECTABLE_FIELDS: usize = 8;
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// Paths of the scale subresource, which is not served but may be said.
pub(super) fn check_scale(scale: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !scale.is_object() {
        return;
    }
    let mut check = |field: &str, roots: &[&str], place: &str| {
        let value = text(&scale[field]);
        let path = format!("{path}.{field}");
        if value.is_empty() {
            if field != "labelSelectorPath" {
                errors.push(FieldError::required(path, ""));
            }
        } else if !simple_path(value, &path, errors) && !roots.iter().any(|root| value.starts_with(root)) {
            let detail = format!("should be a json path under {place}");
            errors.push(FieldError::invalid(path, json!(value), detail));
        }
    };
    check("specReplicasPath", &[".spec."], ".spec");
    check("statusReplicasPath", &[".status."], ".status");
    check(
        "labelSelectorPath",
        &[".spec.", ".status."],
        "either .spec or .status",
    );
}

/// Whether a path was refused.
fn simple_path(value: &str, path: &str, errors: &mut Vec<FieldError>) -> bool {
    if value.starts_with('.') {
        return false;
    }
    let detail = "must be a simple json path starting with .";
    errors.push(FieldError::invalid(path, json!(value), detail));
    true
}

pub(super) fn check_column(column: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if text(&column["name"]).is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    }
    let types = format!("must be one of {}", COLUMN_TYPES.join(","));
    match text(&column["type"]) {
        "" => errors.push(FieldError::required(format!("{path}.type"), types)),
        known if COLUMN_TYPES.contains(&known) => {}
        other => errors.push(FieldError::invalid(format!("{path}.type"), json!(other), types)),
    }
    let format = text(&column["format"]);
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
        errors.push(FieldError::invalid(
            format!("{path}.format"),
            json!(format),
            detail,
        ));
    }
    let json_path = text(&column["jsonPath"]);
    let field = format!("{path}.JSONPath");
    if json_path.is_empty() {
        errors.push(FieldError::required(field, ""));
    } else {
        simple_path(json_path, &field, errors);
    }
}

pub(super) fn check_selectable(fields: &[Value], schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !fields.is_empty() && schema.is_null() {
        let detail = "may only be set when validations.schema is included";
        errors.push(FieldError::invalid(path, json!(""), detail));
        return;
    }
    let mut seen: Vec<&str> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let at = format!("{path}[{index}].jsonPath");
        let json_path = text(&field["jsonPath"]);
        if json_path.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        let mut refuse = |detail: &str| {
            errors.push(FieldError::invalid(at.clone(), json!(json_path), detail));
        };
        match field_schema(json_path, schema) {
            Err(why) => {
                refuse(&format!("is an invalid path: {why}"));
                continue;
            }
            Ok(found) => {
                if json_path.starts_with(".metadata") {
                    refuse("must not point to fields in metadata");
                }
                if !matches!(text(&found["type"]), "string" | "boolean" | "integer") {
                    refuse(
                        "must point to a field of type string, boolean or integer. Enum string fields and strings \
                         with formats are allowed.",
                    );
                }
            }
        }
        if seen.contains(&json_path) {
            errors.push(FieldError::duplicate(at, json!(json_path)));
        } else {
            seen.push(json_path);
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        errors.push(FieldError::new(
            FieldErrorKind::TooMany,
            path,
            Some(json!(seen.len())),
            format!("must have at most {MAX_SELECTABLE_FIELDS} items"),
        ));
    }
}

/// The schema that a dotted path leads to.
fn field_schema<'a>(json_path: &str, schema: &'a Value) -> Result<&'a Value, String> {
    if json_path.contains('[') {
        return Err("array notation is not allowed".to_owned());
    }
    let Some(rest) = json_path.strip_prefix('.') else {
        let start = json_path.split('.').next().unwrap_or_default();
        return Err(format!("expected [ or . but got: {start}"));
    };
    if rest.is_empty() {
        return Err("unexpected end of JSON path".to_owned());
    }
    rest.split('.').try_fold(schema, |at, name| {
        let inner = match &at["properties"] {
            Value::Null => &at["additionalProperties"],
            properties => &properties[name],
        };
        if inner.is_object() {
            Ok(inner)
        } else {
            Err("does not refer to a valid field".to_owned())
        }
    })
}
