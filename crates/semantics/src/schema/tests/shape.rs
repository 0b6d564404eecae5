//! Pruning and defaulting.

use serde_json::{Value, json};

use super::super::prune_object_meta;
use super::spec;

fn pruned(schema: &Value, object: &Value) -> (Value, Vec<String>) {
    let mut object = json!({"apiVersion": "a/v1", "kind": "A", "metadata": {"any": 1}, "spec": object});
    let unknown = spec(schema).prune(&mut object);
    assert_eq!(object["metadata"], json!({"any": 1}));
    (object["spec"].take(), unknown)
}

#[test]
fn pruning() {
    let string = json!({"type": "string"});
    let nested = json!({"type": "object", "properties": {"a": string}});
    let cases = [
        (
            nested.clone(),
            json!({"a": "x", "b": 1}),
            json!({"a": "x"}),
            vec!["spec.b"],
        ),
        (
            json!({"type": "array", "items": nested}),
            json!([{"a": "x"}, {"b": 1, "c": {}}]),
            json!([{"a": "x"}, {}]),
            vec!["spec[1].b", "spec[1].c"],
        ),
        (
            json!({"type": "object", "additionalProperties": nested}),
            json!({"k": {"a": "x", "b": 1}}),
            json!({"k": {"a": "x"}}),
            vec!["spec.k.b"],
        ),
        // Without a schema for the values, scalars stay and fields go.
        (
            json!({"type": "object", "additionalProperties": true}),
            json!({"k": {"a": 1}, "l": 2}),
            json!({"k": {}, "l": 2}),
            vec!["spec.k.a"],
        ),
        // Unknown fields are preserved here, but not below a property that is described.
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"n": nested}}),
            json!({"x": {"y": 1}, "n": {"a": "x", "b": 1}}),
            json!({"x": {"y": 1}, "n": {"a": "x"}}),
            vec!["spec.n.b"],
        ),
        (
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": nested}}),
            json!({"apiVersion": "v1", "kind": "B", "metadata": {"name": "b", "odd": 1}, "spec": {"b": 1}, "more": 1}),
            json!({"apiVersion": "v1", "kind": "B", "metadata": {"name": "b"}, "spec": {}}),
            vec!["spec.metadata.odd", "spec.more", "spec.spec.b"],
        ),
        (
            json!({
                "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
            }),
            json!({"metadata": {"name": "b", "ownerReferences": [{"uid": "1", "odd": 1}]}, "more": 1}),
            json!({"metadata": {"name": "b", "ownerReferences": [{"uid": "1"}]}, "more": 1}),
            vec!["spec.metadata.ownerReferences[0].odd"],
        ),
    ];
    for (schema, object, expected, unknown) in cases {
        assert_eq!(
            pruned(&schema, &object),
            (expected, unknown.iter().map(|s| (*s).to_owned()).collect()),
            "{schema}"
        );
    }
}

#[test]
fn pruning_metadata() {
    let mut metadata = json!({"name": "a", "creationTimestamp": null, "odd": 1, "managedFields": [{"manager": "m", "x": 1}]});
    assert_eq!(
        prune_object_meta(&mut metadata),
        ["metadata.managedFields[0].x", "metadata.odd"]
    );
    assert_eq!(
        metadata,
        json!({"name": "a", "managedFields": [{"manager": "m"}]})
    );
}

#[test]
fn defaulting() {
    let cases = [
        // Nested defaults need their parent.
        (
            json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer", "default": 1}}}}}),
            json!({}),
            json!({}),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "object", "default": {}, "properties": {"b": {"type": "integer", "default": 1}}}}}),
            json!({}),
            json!({"a": {"b": 1}}),
        ),
        // Null: dropped, defaulted, or kept.
        (
            json!({"type": "object", "properties": {
                "a": {"type": "string"},
                "b": {"type": "string", "default": "x"},
                "c": {"type": "string", "nullable": true, "default": "x"},
            }}),
            json!({"a": null, "b": null, "c": null}),
            json!({"b": "x", "c": null}),
        ),
        (
            json!({"type": "array", "items": {"type": "object", "properties": {"p": {"type": "string", "default": "TCP"}}}}),
            json!([{}, {"p": "UDP"}]),
            json!([{"p": "TCP"}, {"p": "UDP"}]),
        ),
        (
            json!({"type": "array", "items": {"type": "string", "default": "x"}}),
            json!([null, "y"]),
            json!(["x", "y"]),
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "object", "properties": {"p": {"type": "boolean", "default": false}}}}),
            json!({"k": {}, "l": null}),
            json!({"k": {"p": false}}),
        ),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            json!({"k": null}),
            json!({"k": null}),
        ),
    ];
    for (schema, object, expected) in cases {
        let mut document = json!({"metadata": {"labels": null}, "spec": object});
        spec(&schema).apply_defaults(&mut document);
        assert_eq!(
            document,
            json!({"metadata": {"labels": null}, "spec": expected}),
            "{schema}"
        );
    }
}

#[test]
fn nulls_can_be_left_for_validation() {
    let schema = spec(&json!({"type": "object", "properties": {
        "plain": {"type": "string"},
        "preset": {"type": "string", "default": "d"},
    }}));
    let with_nulls = json!({"spec": {"plain": null, "preset": null}});
    let mut dropped = with_nulls.clone();
    schema.apply_defaults(&mut dropped);
    assert_eq!(dropped, json!({"spec": {"preset": "d"}}));
    let mut kept = with_nulls;
    schema.fill_defaults(&mut kept);
    assert_eq!(kept, json!({"spec": {"plain": null, "preset": "d"}}));
}

#[test]
fn whole_numbers_are_integers() {
    let mut value = json!({"a": 4.0, "b": [0.5, -1.0, 1e300], "c": 7});
    crate::schema::write_whole_numbers(&mut value);
    assert_eq!(value, json!({"a": 4, "b": [0.5, -1, 1e300], "c": 7}));
}
