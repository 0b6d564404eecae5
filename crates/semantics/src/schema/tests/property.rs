//! Nothing panics on any input, and doing things twice changes nothing.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::Schema;

/// Values with the names that the schemas below know.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z:.é-]{0,6}".prop_map(Value::from),
        prop_oneof!["object", "array", "string", "integer", "map", "set"].prop_map(Value::from),
    ];
    let key = prop_oneof![
        prop_oneof![
            "spec",
            "name",
            "items",
            "labels",
            "count",
            "metadata",
            "embedded",
            "rule",
            "time",
            "[a-z]{1,3}"
        ],
        prop_oneof![
            Just("type".to_owned()),
            Just("properties".to_owned()),
            Just("additionalProperties".to_owned()),
            Just("anyOf".to_owned()),
            Just("default".to_owned()),
            Just("pattern".to_owned()),
            Just("enum".to_owned()),
            Just("x-kubernetes-list-type".to_owned()),
            Just("x-kubernetes-list-map-keys".to_owned()),
            Just("x-kubernetes-validations".to_owned()),
            Just("x-kubernetes-preserve-unknown-fields".to_owned()),
        ],
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(key.clone(), inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn rich() -> Schema {
    let name = json!({"type": "string", "maxLength": 3, "default": "x", "pattern": "^[a-z]"});
    let item = json!({
        "type": "object",
        "required": ["name"],
        "properties": {"name": name, "count": {"type": "integer", "minimum": 1, "multipleOf": 2}},
        "x-kubernetes-validations": [{"rule": "!has(self.count) || self.count > oldSelf.count"}],
    });
    super::spec(&json!({
        "type": "object",
        "properties": {
            "name": name,
            "count": {"x-kubernetes-int-or-string": true},
            "time": {"type": "string", "format": "date-time"},
            "labels": {"type": "object", "additionalProperties": {"type": "string", "enum": ["a", "b"]}},
            "embedded": {
                "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
            },
            "items": {
                "type": "array", "items": item,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            },
        },
        "anyOf": [{"required": ["name"]}, {"properties": {"items": {"minItems": 1}}}],
        "x-kubernetes-validations": [
            {"rule": "self.items.all(i, i.name in self.labels) && self.time < timestamp('2024-01-01T00:00:00Z')"},
            {"rule": "self.items == oldSelf.items", "messageExpression": "'no: ' + self.name"},
        ],
    }))
}

fn document(spec: &Value) -> Value {
    json!({"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}, "spec": spec})
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_schema_is_read_or_refused(schema in any_json(), object in any_json()) {
        let whole = json!({"type": "object", "properties": {"spec": schema}});
        for schema in [schema, whole] {
            if let Ok(schema) = Schema::from_crd(&schema, "f") {
                let mut object = document(&object);
                schema.prune(&mut object);
                schema.apply_defaults(&mut object);
                let _ = schema.validate(&object, None);
            }
        }
    }

    #[test]
    fn any_rule_is_compiled_or_refused(rule in "[a-z.()\\[\\]'\"?:&|=!<>+0-9 -]{0,20}") {
        let schema = json!({
            "type": "object",
            "properties": {"spec": {"type": "object"}},
            "x-kubernetes-validations": [{"rule": rule, "message": "m"}],
        });
        if let Ok(schema) = Schema::from_crd(&schema, "f") {
            let _ = schema.validate(&document(&json!({})), None);
        }
    }

    #[test]
    fn any_pattern_is_compiled_or_refused(pattern in "[a-z.()\\[\\]{}^$*+?|\\\\dwsQEpx0-9,&:-]{0,12}") {
        let _ = super::super::pattern::compile(&pattern);
    }

    #[test]
    fn shaping_twice_is_shaping_once(spec in any_json(), old in any_json()) {
        let schema = rich();
        let mut once = document(&spec);
        schema.prune(&mut once);
        schema.apply_defaults(&mut once);
        let mut twice = once.clone();
        prop_assert!(schema.prune(&mut twice).is_empty());
        schema.apply_defaults(&mut twice);
        prop_assert_eq!(&once, &twice);

        let _ = schema.validate(&once, None);
        let _ = schema.validate(&once, Some(&document(&old)));
    }
}
