//! What makes a schema structural: every value has one type, said once, outside of `allOf`, `anyOf`, `oneOf`, `not`.

use serde_json::{Value, json};

use super::pattern;
use super::raw::{additional, entries, flag, is_zero, items, list, set, text};
use crate::FieldError;

/// Where a schema stands in its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Everything that keeps the schema from being structural, sorted by text.
pub(super) fn errors(schema: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Root, field, &mut errors);
    completeness(schema, Some(schema), field, field, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

/// Whether every keyword can be read at all. Others are refused elsewhere, and the structure is not judged then.
pub(super) fn is_readable(schema: &Value) -> bool {
    let Some(keywords) = schema.as_object() else {
        return true;
    };
    keywords.iter().all(|(key, value)| match key.as_str() {
        "id" | "$schema" | "$ref" | "patternProperties" | "dependencies" | "definitions" => is_zero(value),
        "additionalItems" => value.is_null(),
        "x-kubernetes-preserve-unknown-fields" => value != &json!(false),
        "items" => !value.is_array() && is_readable(value),
        "additionalProperties" | "not" => is_readable(value),
        "properties" => entries(schema, "properties").all(|(_, inner)| is_readable(inner)),
        "allOf" | "anyOf" | "oneOf" => list(schema, key).iter().all(is_readable),
        _ => true,
    })
}

fn invariants(schema: &Value, level: Level, field: &str, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let int_or_string = flag(schema, "x-kubernetes-int-or-string");

    match items(schema) {
        Some(inner) => invariants(inner, Level::Item, &format!("{field}.items"), errors),
        None if kind == "array" => {
            errors.push(FieldError::required(
                format!("{field}.items"),
                "must be specified",
            ));
        }
        None => {}
    }
    for (name, inner) in entries(schema, "properties") {
        invariants(
            inner,
            Level::Field,
            &format!("{field}.properties[{name}]"),
            errors,
        );
    }
    if set(schema, "additionalProperties").is_some() {
        let field = format!("{field}.additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(&field, "must not be used at the root"));
        }
        if let Some(inner) = additional(schema) {
            invariants(inner, Level::Field, &field, errors);
        }
        if embedded {
            errors.push(FieldError::forbidden(
                field,
                "must not be used if x-kubernetes-embedded-resource is set",
            ));
        }
    }
    if int_or_string {
        for (key, is_set) in [
            ("x-kubernetes-preserve-unknown-fields", preserve),
            ("x-kubernetes-embedded-resource", embedded),
        ] {
            if is_set {
                errors.push(FieldError::invalid(
                    format!("{field}.{key}"),
                    json!(true),
                    "must be false if x-kubernetes-int-or-string is true",
                ));
            }
        }
    }
    let first_all_of = list(schema, "allOf").first();
    value_rules(
        schema,
        is_int_or_string(schema),
        first_all_of.is_some_and(is_int_or_string),
        field,
        errors,
    );
    type_invariants(schema, level, field, errors);

    let is_resource = level == Level::Root || embedded;
    if is_resource {
        for name in ["kind", "apiVersion"] {
            if let Some(inner) = schema.pointer(&format!("/properties/{name}"))
                && text(inner, "type") != "string"
            {
                errors.push(FieldError::invalid(
                    format!("{field}.properties[{name}].type"),
                    json!(text(inner, "type")),
                    "must be string",
                ));
            }
        }
    }
    if let Some(metadata) = schema.pointer("/properties/metadata") {
        metadata_invariants(
            metadata,
            is_resource,
            level,
            &format!("{field}.properties[metadata]"),
            errors,
        );
    }
    if embedded && !preserve && entries(schema, "properties").next().is_none() {
        errors.push(FieldError::required(
            format!("{field}.properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ));
    }
}

fn type_invariants(schema: &Value, level: Level, field: &str, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    let field = format!("{field}.type");
    let untyped = flag(schema, "x-kubernetes-int-or-string")
        || flag(schema, "x-kubernetes-preserve-unknown-fields")
        || !kind.is_empty();
    if flag(schema, "x-kubernetes-embedded-resource") && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if kind.is_empty() {
            FieldError::required(&field, detail)
        } else {
            FieldError::invalid(&field, json!(kind), detail)
        });
    } else if !untyped {
        errors.push(FieldError::required(
            &field,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        ));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(FieldError::invalid(
            field,
            json!(kind),
            "must be object at the root",
        ));
    }
}

/// A resource's metadata is specified by Kubernetes; a schema may only narrow its two names.
fn metadata_invariants(
    metadata: &Value,
    is_resource: bool,
    level: Level,
    field: &str,
    errors: &mut Vec<FieldError>,
) {
    if is_resource && text(metadata, "type") != "object" {
        let detail = "must be object";
        errors.push(FieldError::invalid(
            format!("{field}.type"),
            json!(text(metadata, "type")),
            detail,
        ));
    }
    if level != Level::Root {
        return;
    }
    let says_more = metadata
        .as_object()
        .into_iter()
        .flatten()
        .any(|(key, value)| match key.as_str() {
            "type" | "default" => false,
            "properties" => {
                entries(metadata, "properties").any(|(name, _)| name != "name" && name != "generateName")
            }
            _ => !is_zero(value),
        });
    if says_more {
        errors.push(FieldError::forbidden(
            field,
            "must not specify anything other than name and generateName, but metadata is implicitly specified",
        ));
    }
}

/// `anyOf: [{type: integer}, {type: string}]`, the one place where types may stand below a junctor.
fn is_int_or_string(schema: &Value) -> bool {
    match list(schema, "anyOf") {
        [first, second] => *first == json!({"type": "integer"}) && *second == json!({"type": "string"}),
        _ => false,
    }
}

fn value_rules(
    schema: &Value,
    skip_any_of: bool,
    skip_first_all_of: bool,
    field: &str,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any_of {
        for (index, inner) in list(schema, "anyOf").iter().enumerate() {
            nested(inner, false, &format!("{field}.anyOf[{index}]"), errors);
        }
    }
    for (index, inner) in list(schema, "allOf").iter().enumerate() {
        nested(
            inner,
            skip_first_all_of && index == 0,
            &format!("{field}.allOf[{index}]"),
            errors,
        );
    }
    for (index, inner) in list(schema, "oneOf").iter().enumerate() {
        nested(inner, false, &format!("{field}.oneOf[{index}]"), errors);
    }
    if let Some(inner) = set(schema, "not") {
        nested(inner, false, &format!("{field}.not"), errors);
    }
    let pattern = text(schema, "pattern");
    if let Err(reason) = pattern::compile(pattern) {
        errors.push(FieldError::invalid(
            format!("{field}.pattern"),
            json!(pattern),
            format!("must be a valid regular expression, but isn't: {reason}"),
        ));
    }
}

/// Keywords that shape a value, and what is said of them below a junctor.
const SHAPING: [(&str, &str); 12] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "must be false to be structural",
    ),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
];

fn nested(schema: &Value, skip_any_of: bool, field: &str, errors: &mut Vec<FieldError>) {
    value_rules(schema, skip_any_of, false, field, errors);
    if let Some(inner) = items(schema) {
        nested(inner, false, &format!("{field}.items"), errors);
    }
    for (name, inner) in entries(schema, "properties") {
        nested(inner, false, &format!("{field}.properties[{name}]"), errors);
    }
    for (key, detail) in SHAPING {
        let is_said = set(schema, key).is_some_and(|value| match key {
            "default" => true,
            "additionalProperties" => value != &json!(false),
            _ => !is_zero(value),
        });
        if is_said {
            errors.push(FieldError::forbidden(format!("{field}.{key}"), detail));
        }
    }
    if !list(schema, "x-kubernetes-validations").is_empty() {
        errors.push(FieldError::forbidden(
            format!("{field}.x-kubernetes-validations"),
            "must be empty to be structural",
        ));
    }
    if schema.pointer("/properties/metadata").is_some() {
        errors.push(FieldError::forbidden(
            format!("{field}.properties[metadata]"),
            "must not be specified in a nested context",
        ));
    }
}

/// Every property and item that a junctor talks about must be described outside of it.
fn completeness(
    rules: &Value,
    shape: Option<&Value>,
    shape_field: &str,
    field: &str,
    errors: &mut Vec<FieldError>,
) {
    if let Some(inner) = set(rules, "not") {
        nested_completeness(inner, shape, shape_field, &format!("{field}.not"), errors);
    }
    for junctor in ["allOf", "anyOf", "oneOf"] {
        for (index, inner) in list(rules, junctor).iter().enumerate() {
            nested_completeness(
                inner,
                shape,
                shape_field,
                &format!("{field}.{junctor}[{index}]"),
                errors,
            );
        }
    }
}

fn nested_completeness(
    rules: &Value,
    shape: Option<&Value>,
    shape_field: &str,
    field: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(shape) = shape else {
        errors.push(FieldError::required(
            shape_field,
            format!("because it is defined in {field}"),
        ));
        return;
    };
    completeness(rules, Some(shape), shape_field, field, errors);
    if let Some(inner) = items(rules) {
        nested_completeness(
            inner,
            items(shape),
            &format!("{shape_field}.items"),
            &format!("{field}.items"),
            errors,
        );
    }
    for (name, inner) in entries(rules, "properties") {
        nested_completeness(
            inner,
            shape
                .get("properties")
                .and_then(|properties| properties.get(name)),
            &format!("{shape_field}.properties[{name}]"),
            &format!("{field}.properties[{name}]"),
            errors,
        );
    }
}
