//! Generates objects from the schema of their kind, so that a new field is covered without a new line here.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use proptest::{collection, option, prelude::*, sample};
use serde_json::{Map, Value, json};

/// Objects of a kind. Fields with a default are always there, as a server leaves no object without them.
pub(crate) fn object(crd: &CustomResourceDefinition) -> BoxedStrategy<Value> {
    let version = &crd.spec.versions[0];
    let schema = version
        .schema
        .as_ref()
        .and_then(|schema| schema.open_api_v3_schema.as_ref());
    let schema = serde_json::to_value(schema).expect("a schema is JSON");
    let api_version = format!("{}/{}", crd.spec.group, version.name);
    let kind = crd.spec.names.kind.clone();
    (value(&schema), metadata())
        .prop_map(move |(mut object, metadata)| {
            object["apiVersion"] = json!(api_version);
            object["kind"] = json!(kind);
            object["metadata"] = metadata;
            object
        })
        .boxed()
}

fn metadata() -> BoxedStrategy<Value> {
    let schema = json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "namespace": {"type": "string"},
            "uid": {"type": "string"},
            "resourceVersion": {"type": "string"},
            "generation": {"type": "integer", "format": "int64"},
            "creationTimestamp": {"type": "string", "format": "date-time"},
            "deletionTimestamp": {"type": "string", "format": "date-time"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
            "finalizers": {"type": "array", "items": {"type": "string"}},
        },
    });
    value(&schema)
}

fn value(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"].as_array() {
        return sample::select(values.clone()).boxed();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return prop_oneof![integer(schema), text(schema)].boxed();
    }
    match schema["type"].as_str() {
        Some("object") => map_or_struct(schema),
        Some("array") => array(schema),
        Some("string") if schema["format"] == "date-time" => time(),
        Some("string") => text(schema),
        Some("integer") => integer(schema),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        _ => anything(),
    }
}

fn map_or_struct(schema: &Value) -> BoxedStrategy<Value> {
    let keeps_unknown = schema["x-kubernetes-preserve-unknown-fields"] == true;
    if let Some(properties) = schema["properties"].as_object() {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let fields: Vec<BoxedStrategy<Option<(String, Value)>>> = properties
            .iter()
            .map(|(name, schema)| {
                let field = (Just(name.clone()), value(schema));
                if required.contains(&json!(name)) || schema.get("default").is_some() {
                    field.prop_map(Some).boxed()
                } else {
                    option::of(field).boxed()
                }
            })
            .collect();
        let unknown = if keeps_unknown {
            collection::vec(unknown_field(), 0..3).boxed()
        } else {
            Just(Vec::new()).boxed()
        };
        return (fields, unknown)
            .prop_map(|(fields, unknown)| {
                Value::Object(fields.into_iter().flatten().chain(unknown).collect())
            })
            .boxed();
    }
    let values = match schema.get("additionalProperties") {
        Some(schema @ Value::Object(_)) => value(schema),
        _ => anything(),
    };
    collection::btree_map(any_key(), values, 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
        .boxed()
}

fn unknown_field() -> impl Strategy<Value = (String, Value)> {
    ("x-[a-z]{1,5}", anything())
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z0-9._/-]{0,10}", ".{0,4}"]
}

fn array(schema: &Value) -> BoxedStrategy<Value> {
    let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
    collection::vec(value(&schema["items"]), least..least + 3)
        .prop_map(Value::Array)
        .boxed()
}

fn text(schema: &Value) -> BoxedStrategy<Value> {
    let least = schema["minLength"].as_u64().unwrap_or(0) as usize;
    let character = prop_oneof![proptest::char::range(' ', '~'), any::<char>()];
    collection::vec(character, least..least + 8)
        .prop_map(|characters| Value::String(characters.into_iter().collect()))
        .boxed()
}

fn integer(schema: &Value) -> BoxedStrategy<Value> {
    let (least, most) = match schema["format"].as_str() {
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let least = schema["minimum"].as_f64().map_or(least, |bound| bound as i64);
    let most = schema["maximum"].as_f64().map_or(most, |bound| bound as i64);
    (least..=most).prop_map(Value::from).boxed()
}

/// Kubernetes writes times in UTC and to the second.
fn time() -> BoxedStrategy<Value> {
    (1970..2100, 1..=12, 1..=28, 0..24, 0..60, 0..60)
        .prop_map(|(year, month, day, hour, minute, second)| {
            json!(format!(
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
            ))
        })
        .boxed()
}

fn anything() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1.0e9..1.0e9).prop_map(|number: f64| json!(number)),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            collection::btree_map(any_key(), inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
    .boxed()
}
