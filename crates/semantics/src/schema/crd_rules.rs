//! What Kubernetes asks of a CRD's schema beyond being structural: supported keywords, list and map types, where
//! defaults may stand, the form of `x-kubernetes-validations`.

use serde_json::{Value, json};

use super::object_meta::is_meta_field;
use super::raw::{additional, entries, flag, items, list, set, strings, text};
use crate::{FieldError, FieldErrorKind};

/// What an ancestor imposes.
#[derive(Clone, Default)]
struct Surroundings {
    /// Why there may be no default here.
    no_defaults: Option<String>,
    inside_metadata: bool,
}

/// Everything refused about the schema, in document order.
pub(super) fn errors(schema: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if flag(schema, "nullable") {
        errors.push(FieldError::forbidden(
            format!("{field}.nullable"),
            "nullable cannot be true at the root",
        ));
    }
    visit(schema, true, &Surroundings::default(), field, &mut errors);
    errors
}

fn visit(schema: &Value, root: bool, around: &Surroundings, field: &str, errors: &mut Vec<FieldError>) {
    keywords(schema, around, field, errors);
    if flag(schema, "uniqueItems") {
        errors.push(FieldError::forbidden(
            format!("{field}.uniqueItems"),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ));
    }
    if let Some(value) = set(schema, "additionalProperties") {
        let field = format!("{field}.additionalProperties");
        if entries(schema, "properties").next().is_some() && value != &json!(true) {
            errors.push(FieldError::forbidden(
                &field,
                "additionalProperties and properties are mutual exclusive",
            ));
        }
        if let Some(inner) = additional(schema) {
            let mut around = around.clone();
            if around.inside_metadata {
                around.no_defaults =
                    Some("inside additionalProperties applying to object metadata".to_owned());
            }
            visit(inner, false, &around, &field, errors);
        }
    }
    for (name, inner) in entries(schema, "properties") {
        let mut around = around.clone();
        if (root || flag(schema, "x-kubernetes-embedded-resource")) && is_meta_field(name) {
            around.inside_metadata = true;
            if root {
                around.no_defaults = Some(format!("in top-level {name}"));
            }
        }
        visit(
            inner,
            false,
            &around,
            &format!("{field}.properties[{name}]"),
            errors,
        );
    }
    if let Some(inner) = set(schema, "not") {
        visit(inner, false, around, &format!("{field}.not"), errors);
    }
    for junctor in ["allOf", "oneOf", "anyOf"] {
        for (index, inner) in list(schema, junctor).iter().enumerate() {
            visit(
                inner,
                false,
                around,
                &format!("{field}.{junctor}[{index}]"),
                errors,
            );
        }
    }
    if let Some(inner) = items(schema) {
        visit(inner, false, around, &format!("{field}.items"), errors);
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(false)) {
        errors.push(FieldError::invalid(
            format!("{field}.x-kubernetes-preserve-unknown-fields"),
            json!(false),
            "must be true or undefined",
        ));
    }
    map_type(schema, field, errors);
    list_type(schema, field, errors);
    for (index, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
        cel_rule(
            rule,
            &format!("{field}.x-kubernetes-validations[{index}]"),
            errors,
        );
    }
}

fn not_supported(field: String, value: &str, supported: &[&str]) -> FieldError {
    let quoted: Vec<_> = supported.iter().map(|value| format!("{value:?}")).collect();
    let detail = format!("supported values: {}", quoted.join(", "));
    FieldError::new(FieldErrorKind::NotSupported, field, Some(json!(value)), detail)
}

fn keywords(schema: &Value, around: &Surroundings, field: &str, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    let types = ["array", "boolean", "integer", "number", "object", "string"];
    if !kind.is_empty() && !types.contains(&kind) {
        errors.push(not_supported(format!("{field}.type"), kind, &types));
    }
    if let (Some(_), Some(reason)) = (set(schema, "default"), &around.no_defaults) {
        errors.push(FieldError::forbidden(
            format!("{field}.default"),
            format!("must not be set {reason}"),
        ));
    }
    for keyword in [
        "id",
        "additionalItems",
        "patternProperties",
        "definitions",
        "dependencies",
        "$ref",
    ] {
        let is_used = set(schema, keyword).is_some_and(|value| match value {
            Value::Object(entries) => {
                !entries.is_empty() || matches!(keyword, "additionalItems" | "dependencies")
            }
            Value::String(text) => !text.is_empty() || keyword == "$ref",
            _ => true,
        });
        if is_used {
            errors.push(FieldError::forbidden(
                format!("{field}.{keyword}"),
                format!("{keyword} is not supported"),
            ));
        }
    }
    if kind == "null" {
        errors.push(FieldError::forbidden(
            format!("{field}.type"),
            "type cannot be set to null, use nullable as an alternative",
        ));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        errors.push(FieldError::forbidden(
            format!("{field}.items"),
            "items must be a schema object and not an array",
        ));
    }
    if around.inside_metadata && flag(schema, "x-kubernetes-embedded-resource") {
        errors.push(FieldError::forbidden(
            format!("{field}.x-kubernetes-embedded-resource"),
            "must not be used inside of resource meta",
        ));
    }
}

fn must_be_type(schema: &Value, wanted: &str, because: &str, field: &str) -> FieldError {
    let detail = format!("must be {wanted} if {because} is specified");
    match text(schema, "type") {
        "" => FieldError::required(format!("{field}.type"), detail),
        kind => FieldError::invalid(format!("{field}.type"), json!(kind), detail),
    }
}

fn map_type(schema: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let Some(map_type) = schema.get("x-kubernetes-map-type").and_then(Value::as_str) else {
        return;
    };
    if text(schema, "type") != "object" {
        errors.push(must_be_type(schema, "object", "x-kubernetes-map-type", field));
    }
    if !matches!(map_type, "atomic" | "granular") {
        errors.push(not_supported(
            format!("{field}.x-kubernetes-map-type"),
            map_type,
            &["atomic", "granular"],
        ));
    }
}

fn list_type(schema: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let list_type = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
    let type_field = format!("{field}.x-kubernetes-list-type");
    let keys_field = format!("{field}.x-kubernetes-list-map-keys");
    let keys = list(schema, "x-kubernetes-list-map-keys");
    if list_type.is_some() && text(schema, "type") != "array" {
        errors.push(must_be_type(schema, "array", "x-kubernetes-list-type", field));
    } else if let (Some("set"), Some(inner)) = (list_type, items(schema)) {
        set_items(inner, field, errors);
    }
    if let Some(other) = list_type.filter(|kind| !matches!(*kind, "atomic" | "set" | "map")) {
        errors.push(not_supported(
            type_field.clone(),
            other,
            &["atomic", "set", "map"],
        ));
    }
    if !keys.is_empty() && list_type != Some("map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match list_type {
            None => FieldError::required(type_field, detail),
            Some(other) => FieldError::invalid(type_field, json!(other), detail),
        });
    }
    if list_type == Some("map") {
        if keys.is_empty() {
            errors.push(FieldError::required(
                keys_field.clone(),
                "must not be empty if x-kubernetes-list-type is map",
            ));
        }
        match items(schema) {
            None => errors.push(FieldError::required(
                format!("{field}.items"),
                "must have a schema if x-kubernetes-list-type is map",
            )),
            Some(inner) if text(inner, "type") != "object" => errors.push(FieldError::invalid(
                format!("{field}.items.type"),
                json!(text(inner, "type")),
                "must be object if parent array's x-kubernetes-list-type is map",
            )),
            Some(inner) => map_keys(schema, inner, field, &keys_field, errors),
        }
    }
    if let (Some(kind @ ("set" | "map")), Some(inner)) = (list_type, items(schema)) {
        if flag(inner, "nullable") {
            errors.push(FieldError::forbidden(
                format!("{field}.items.nullable"),
                format!("cannot be nullable when x-kubernetes-list-type is {kind}"),
            ));
        }
        if kind == "map" {
            map_keys_present(schema, inner, field, errors);
        }
    }
}

fn set_items(inner: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let (key, is_wrong) = match text(inner, "type") {
        "array" => {
            let kind = text(inner, "x-kubernetes-list-type");
            ("x-kubernetes-list-type", !matches!(kind, "" | "atomic"))
        }
        "object" => (
            "x-kubernetes-map-type",
            text(inner, "x-kubernetes-map-type") != "atomic",
        ),
        _ => return,
    };
    if is_wrong {
        let value = inner.get(key).cloned().unwrap_or_default();
        errors.push(FieldError::invalid(format!("{field}.items.{key}"), value, detail));
    }
}

fn map_keys(schema: &Value, inner: &Value, field: &str, keys_field: &str, errors: &mut Vec<FieldError>) {
    let keys = || schema["x-kubernetes-list-map-keys"].clone();
    let mut seen = Vec::new();
    for key in strings(schema, "x-kubernetes-list-map-keys") {
        match inner.get("properties").and_then(|properties| properties.get(key)) {
            Some(property) if matches!(text(property, "type"), "array" | "object") => {
                errors.push(FieldError::invalid(
                    format!("{field}.items.properties[{key}].type"),
                    json!(text(inner, "type")),
                    "must be a scalar type if parent array's x-kubernetes-list-type is map",
                ));
            }
            Some(_) => {}
            None => errors.push(FieldError::invalid(
                keys_field,
                keys(),
                "entries must all be names of item properties",
            )),
        }
        if seen.contains(&key) {
            errors.push(FieldError::invalid(
                keys_field,
                keys(),
                "must not contain duplicate entries",
            ));
        }
        seen.push(key);
    }
}

fn map_keys_present(schema: &Value, inner: &Value, field: &str, errors: &mut Vec<FieldError>) {
    for key in strings(schema, "x-kubernetes-list-map-keys") {
        let Some(property) = inner.get("properties").and_then(|properties| properties.get(key)) else {
            continue;
        };
        let field = format!("{field}.items.properties[{key}]");
        let is_required = strings(inner, "required").any(|name| name == key);
        if !is_required && set(property, "default").is_none() {
            errors.push(FieldError::required(
                format!("{field}.default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ));
        }
        if flag(property, "nullable") {
            errors.push(FieldError::forbidden(
                format!("{field}.nullable"),
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
            ));
        }
    }
}

fn cel_rule(rule: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let has_line_break = |text: &str| text.contains(['\n', '\r']);
    let (expression, message) = (text(rule, "rule"), text(rule, "message"));
    if expression.trim().is_empty() {
        errors.push(FieldError::required(
            format!("{field}.rule"),
            "rule is not specified",
        ));
    } else if !message.is_empty() && message.trim().is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(
            format!("{field}.message"),
            json!(message),
            detail,
        ));
    } else if has_line_break(message.trim()) {
        let detail = "must not contain line breaks";
        errors.push(FieldError::invalid(
            format!("{field}.message"),
            json!(message),
            detail,
        ));
    } else if has_line_break(expression.trim()) && message.trim().is_empty() {
        errors.push(FieldError::required(
            format!("{field}.message"),
            "message must be specified if rule contains line breaks",
        ));
    }
    let message_expression = text(rule, "messageExpression");
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        errors.push(FieldError::required(
            format!("{field}.messageExpression"),
            "messageExpression must be non-empty if specified",
        ));
    }
    let reasons = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    if let Some(reason) = rule
        .get("reason")
        .and_then(Value::as_str)
        .filter(|reason| !reasons.contains(reason))
    {
        errors.push(not_supported(format!("{field}.reason"), reason, &reasons));
    }
    let path = text(rule, "fieldPath");
    let mut refuse_path = |detail| {
        errors.push(FieldError::invalid(
            format!("{field}.fieldPath"),
            json!(path),
            detail,
        ));
        errors.push(FieldError::invalid(
            format!("{field}.fieldPath"),
            json!(path),
            "must be a valid path",
        ));
    };
    if !path.is_empty() && path.trim().is_empty() {
        refuse_path("must be non-empty if specified");
    } else if has_line_break(path) {
        refuse_path("must not contain line breaks");
    }
}
