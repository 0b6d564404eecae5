//! What is refused of a CRD's schema.

use serde_json::{Value, json};

use super::super::Schema;

fn refusals(schema: &Value) -> Vec<String> {
    match Schema::from_crd(schema, "f") {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn accepted() {
    let cases = [
        json!({"type": "object"}),
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}}}),
        json!({"type": "object", "properties": {"p": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}}}),
        json!({"type": "object", "properties": {"p": {"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "a"}]}}}),
        json!({"type": "object", "properties": {"s": {"type": "object", "properties": {"a": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"properties": {"a": {"minLength": 1}}}]}}}),
        json!({"type": "object", "properties": {"l": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
            "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}}},
        }}}),
    ];
    for schema in cases {
        assert_eq!(refusals(&schema), [""; 0], "{schema}");
    }
}

#[test]
fn refused() {
    let property = |schema: Value| json!({"type": "object", "properties": {"p": schema}});
    let cases: Vec<(Value, &[&str])> = vec![
        (
            json!({}),
            &["f.type: Required value: must not be empty at the root"],
        ),
        (
            json!({"type": "string"}),
            &["f.type: Invalid value: \"string\": must be object at the root"],
        ),
        (
            property(json!({})),
            &["f.properties[p].type: Required value: must not be empty for specified object fields"],
        ),
        (
            property(json!({"type": "array", "items": {}})),
            &["f.properties[p].items.type: Required value: must not be empty for specified array items"],
        ),
        (
            property(json!({"type": "array"})),
            &["f.properties[p].items: Required value: must be specified"],
        ),
        (
            property(json!({"type": "strange"})),
            &[
                "f.properties[p].type: Unsupported value: \"strange\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
            ],
        ),
        (
            property(json!({"type": "string", "$ref": "#/x"})),
            &["f.properties[p].$ref: Forbidden: $ref is not supported"],
        ),
        (
            property(json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true})),
            &[
                "f.properties[p].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ],
        ),
        (
            property(
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            ),
            &[
                "f.properties[p].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ],
        ),
        (
            json!({"type": "object", "additionalProperties": true}),
            &["f.additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            property(json!({"type": "string", "anyOf": [{"type": "string", "default": "x"}]})),
            &[
                "f.properties[p].anyOf[0].default: Forbidden: must be undefined to be structural",
                "f.properties[p].anyOf[0].type: Forbidden: must be empty to be structural",
            ],
        ),
        (
            property(json!({"type": "object", "not": {"properties": {"b": {"minLength": 1}}}})),
            // Completeness starts at the root, as upstream's does; junctors below it are not compared.
            &[],
        ),
        (
            json!({"type": "object", "anyOf": [{"properties": {"b": {"minLength": 1}}}]}),
            &["f.properties[b]: Required value: because it is defined in f.anyOf[0].properties[b]"],
        ),
        (
            json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
            &[
                "f.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
            ],
        ),
        (
            json!({"type": "object", "nullable": true}),
            &["f.nullable: Forbidden: nullable cannot be true at the root"],
        ),
        (
            property(json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}})),
            &[
                "f.properties[p].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            ],
        ),
        (
            property(json!({
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "z"],
                "items": {"type": "object", "properties": {"a": {"type": "string"}}},
            })),
            &[
                "f.properties[p].x-kubernetes-list-map-keys: Invalid value: [\"a\",\"z\"]: entries must all be names of item properties",
                "f.properties[p].items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ],
        ),
        (
            property(json!({"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}})),
            &[
                "f.properties[p].x-kubernetes-list-type: Unsupported value: \"bag\": supported values: \"atomic\", \"set\", \"map\"",
            ],
        ),
        (
            property(json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}})),
            &[
                "f.properties[p].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
            ],
        ),
        (
            property(json!({"type": "string", "x-kubernetes-map-type": "atomic"})),
            &[
                "f.properties[p].type: Invalid value: \"string\": must be object if x-kubernetes-map-type is specified",
            ],
        ),
        (
            property(json!({"type": "string", "default": 1})),
            &[
                "f.properties[p].default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
            ],
        ),
        (
            property(json!({"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}})),
            &["f.properties[p].default: Invalid value: {\"b\":1}: must not have unknown fields"],
        ),
        (
            property(json!({"type": "object", "x-kubernetes-embedded-resource": true})),
            &[
                "f.properties[p].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            ],
        ),
        (
            property(
                json!({"type": "string", "x-kubernetes-validations": [{"rule": " "}, {"rule": "true", "message": " "}]}),
            ),
            &[
                "f.properties[p].x-kubernetes-validations[0].rule: Required value: rule is not specified",
                "f.properties[p].x-kubernetes-validations[1].message: Invalid value: \" \": must be non-empty if specified",
            ],
        ),
        (
            property(json!({"type": "string", "x-kubernetes-preserve-unknown-fields": false})),
            &[
                "f.properties[p].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
            ],
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(refusals(&schema), expected, "{schema}");
    }
}

#[test]
fn patterns_must_compile() {
    let schema = json!({"type": "object", "properties": {"p": {"type": "string", "pattern": "("}}});
    let refusals = refusals(&schema);
    assert_eq!(refusals.len(), 1);
    assert!(
        refusals[0].starts_with(
            "f.properties[p].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error parsing regexp: "
        ),
        "{}",
        refusals[0]
    );
}
