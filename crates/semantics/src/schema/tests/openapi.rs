//! Built-in types.

use serde_json::{Map, Value, json};

use super::super::{ListType, MapType, Schema};

fn components() -> Map<String, Value> {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let Value::Object(components) = json!({
        "Pod": {
            "type": "object",
            "required": ["spec"],
            "properties": {
                "metadata": {"allOf": [reference("Meta")], "default": {}},
                "spec": {"allOf": [reference("Spec")], "default": {}, "description": "x"},
            },
        },
        "Meta": {"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}}}},
        "Spec": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "default": ""},
                "replicas": {"type": "integer", "format": "int32", "default": 0},
                "strategy": {"allOf": [reference("Strategy")], "default": {}, "x-kubernetes-patch-strategy": "retainKeys"},
                "selector": reference("Selector"),
                "child": {"allOf": [reference("Spec")], "default": {}},
                "atomicChild": {"allOf": [reference("Spec")], "x-kubernetes-map-type": "atomic"},
                "cpu": reference("io.k8s.apimachinery.pkg.api.resource.Quantity"),
                "port": reference("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
                "any": reference("JSON"),
                "raw": reference("Raw"),
                "gone": reference("Missing"),
                "ports": {
                    "type": "array",
                    "items": {"allOf": [reference("Port")], "default": {}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
                    "x-kubernetes-patch-merge-key": "containerPort",
                    "x-kubernetes-patch-strategy": "merge",
                },
                "volumes": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge,retainKeys"},
            },
        },
        "Strategy": {"type": "object", "properties": {"type": {"type": "string"}}},
        "Selector": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
        "Port": {
            "type": "object",
            "required": ["containerPort"],
            "properties": {
                "containerPort": {"type": "integer", "format": "int32", "default": 0},
                "protocol": {"type": "string", "default": "TCP"},
            },
        },
        "JSON": {"description": "anything"},
        "Raw": {"type": "object"},
        "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    }) else {
        unreachable!()
    };
    components
}

#[test]
fn shape() {
    let schema = Schema::from_openapi(&components(), "Pod", |_| Vec::new());
    let spec = schema.cursor().property("spec").unwrap();
    let node = |name: &str| spec.property(name).unwrap().node();

    assert!(spec.node().default.is_none());
    assert!(node("strategy").patch.retain_keys && !node("strategy").patch.merge);
    assert!(!node("strategy").properties.is_empty());
    assert_eq!(node("selector").map_type, MapType::Atomic);
    assert_eq!(node("atomicChild").map_type, MapType::Atomic);
    assert!(node("atomicChild").properties.contains_key("child"));
    assert_eq!(node("child").map_type, MapType::Granular);
    assert!(node("port").int_or_string);
    assert!(node("any").preserve_unknown && node("raw").preserve_unknown && node("gone").preserve_unknown);
    assert_eq!(
        node("ports").list_type,
        ListType::Map(vec!["containerPort".into(), "protocol".into()])
    );
    assert_eq!(node("ports").patch.merge_key.as_deref(), Some("containerPort"));
    assert!(node("volumes").patch.merge && node("volumes").patch.retain_keys);
    // Recursion ends in the same node.
    let deeper = spec
        .property("child")
        .and_then(|child| child.property("child"))
        .unwrap();
    assert!(std::ptr::eq(
        deeper.node(),
        spec.property("child").unwrap().node()
    ));
}

#[test]
fn only_real_defaults() {
    let schema = Schema::from_openapi(&components(), "Pod", |_| Vec::new());
    let mut object =
        json!({"spec": {"ports": [{"containerPort": 1}], "child": {}, "any": null, "name": null}});
    schema.apply_defaults(&mut object);
    assert_eq!(
        object,
        json!({"spec": {"ports": [{"containerPort": 1, "protocol": "TCP"}], "child": {}, "any": null}})
    );
}

#[test]
fn values() {
    let schema = Schema::from_openapi(&components(), "Pod", |_| Vec::new());
    let good = json!({"spec": {
        "cpu": 1.5, "port": "http", "any": [{"x": null}], "raw": {"y": {}}, "child": {"child": {"cpu": "100m", "port": 80}},
        // Built-in kinds judge duplicates themselves.
        "ports": [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "protocol": "TCP"}],
    }});
    assert_eq!(schema.validate(&good, None), []);
    let mut pruned = good.clone();
    assert!(schema.prune(&mut pruned).is_empty());
    assert_eq!(pruned, good);

    let bad = json!({"spec": {"cpu": {}, "replicas": 3_000_000_000_u64, "child": {"ports": [{}]}}});
    let texts: Vec<_> = schema
        .validate(&bad, None)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        texts,
        [
            "spec.child.ports[0].containerPort: Required value",
            "spec.cpu: Invalid value: \"object\": spec.cpu in body must be of type string,number,integer: \"object\"",
            "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec.replicas",
        ]
    );
}

#[test]
fn unknown_fields_of_a_nested_type() {
    let schema = Schema::from_openapi(&components(), "Pod", |_| Vec::new());
    let mut object = json!({"spec": {"child": {"nope": 1}, "ports": [{"x": 1}]}, "nope": 2});
    assert_eq!(
        schema.prune(&mut object),
        ["nope", "spec.child.nope", "spec.ports[0].x"]
    );
}
