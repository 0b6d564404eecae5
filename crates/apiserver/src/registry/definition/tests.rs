//! What is refused in a definition, and what becomes of its names.

use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-01-02T03:04:05Z";

fn definition() -> Value {
    json!({
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing", "shortNames": ["th"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"a": {"type": "string"}, "o": {"type": "object"}}},
                }}},
            }],
        },
    })
}

fn settled(mut definition: Value, others: &[Value]) -> Value {
    complete(&mut definition, None);
    settle(&mut definition, others, NOW);
    definition
}

fn condition<'a>(definition: &'a Value, kind: &str) -> &'a Value {
    list(&definition["status"]["conditions"])
        .iter()
        .find(|condition| condition["type"] == kind)
        .unwrap()
}

#[test]
fn a_good_definition_is_completed_and_established() {
    let settled = settled(definition(), &[]);
    assert_eq!(check(&settled, None), []);
    assert!(is_established(&settled));
    assert_eq!(
        settled["status"]["acceptedNames"],
        json!({"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList", "shortNames": ["th"]})
    );
    assert_eq!(settled["status"]["storedVersions"], json!(["v1"]));
}

#[test]
fn each_fault_is_reported_where_it_is() {
    let cases = [
        ("/spec/group", json!("word"), "spec.group"),
        ("/spec/scope", json!("Galaxy"), "spec.scope"),
        ("/spec/names/plural", json!("Things"), "spec.names.plural"),
        ("/spec/names/shortNames", json!(["X"]), "spec.names.shortNames[0]"),
        ("/spec/versions/0/name", json!("V"), "spec.versions[0].name"),
        ("/spec/versions/0/storage", json!(false), "spec.versions"),
        (
            "/spec/versions/0/schema/openAPIV3Schema/type",
            json!("string"),
            "spec.validation.openAPIV3Schema.type",
        ),
    ];
    for (place, value, field) in cases {
        let mut bad = definition();
        *bad.pointer_mut(place).unwrap() = value;
        let errors = check(&settled(bad, &[]), None);
        assert!(
            errors.iter().any(|error| error.field == field),
            "{place}: {errors:?}"
        );
    }
}

#[test]
fn additions_to_a_version_are_checked() {
    let cases = [
        (
            "additionalPrinterColumns",
            json!([{"name": "A", "type": "text", "jsonPath": ".spec.a"}]),
            "spec.additionalPrinterColumns[0].type",
        ),
        (
            "selectableFields",
            json!([{"jsonPath": ".spec.o"}]),
            "spec.selectableFields[0].jsonPath",
        ),
        (
            "selectableFields",
            json!([{"jsonPath": ".spec.nothing"}]),
            "spec.selectableFields[0].jsonPath",
        ),
        (
            "subresources",
            json!({"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".spec.n"}}),
            "spec.subresources.scale.statusReplicasPath",
        ),
        (
            "deprecationWarning",
            json!("old"),
            "spec.versions[0].deprecationWarning",
        ),
    ];
    for (name, value, field) in cases {
        let mut bad = definition();
        bad["spec"]["versions"][0][name] = value;
        let errors = check(&settled(bad, &[]), None);
        let fields: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, [field], "{name}");
    }
}

#[test]
fn what_versions_do_not_share_is_reported_in_each() {
    let mut bad = definition();
    let mut second = bad["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    second["schema"]["openAPIV3Schema"]["type"] = json!("string");
    bad["spec"]["versions"].as_array_mut().unwrap().push(second);
    let errors = check(&settled(bad, &[]), None);
    assert_eq!(errors[0].field, "spec.versions[1].schema.openAPIV3Schema.type");
}

#[test]
fn a_name_that_is_taken_keeps_a_definition_from_being_served() {
    let first = settled(definition(), &[]);
    let mut other = definition();
    other["metadata"]["name"] = json!("others.example.com");
    other["spec"]["names"] = json!({"plural": "others", "kind": "Other", "shortNames": ["th"]});
    let second = settled(other.clone(), std::slice::from_ref(&first));
    assert!(!is_established(&second));
    assert_eq!(
        condition(&second, "NamesAccepted")["reason"],
        "ShortNamesConflict"
    );
    assert_eq!(
        condition(&second, "NamesAccepted")["message"],
        "\"th\" is already in use"
    );
    other["spec"]["names"]["kind"] = json!("Thing");
    let third = settled(other, &[first]);
    assert_eq!(condition(&third, "NamesAccepted")["reason"], "ListKindConflict");
}

#[test]
fn identity_is_fixed_and_the_rest_may_change() {
    let old = settled(definition(), &[]);
    for place in [
        "/spec/group",
        "/spec/scope",
        "/spec/names/kind",
        "/spec/names/plural",
    ] {
        let mut new = old.clone();
        *new.pointer_mut(place).unwrap() = json!("Cluster");
        let field = place.trim_start_matches('/').replace('/', ".");
        let errors = check(&new, Some(&old));
        let is_fixed = |error: &apiary_semantics::FieldError| {
            error.field == field && error.detail == "field is immutable"
        };
        assert!(errors.iter().any(is_fixed), "{place}: {errors:?}");
    }
}

#[test]
fn only_new_unknown_formats_are_told() {
    let mut odd = definition();
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a";
    odd.pointer_mut(place).unwrap()["format"] = json!("frobnicate");
    assert_eq!(warnings(&odd, None), ["unrecognized format \"frobnicate\""]);
    assert!(warnings(&odd, Some(&odd)).is_empty());
}

#[test]
fn what_says_nothing_is_dropped_from_schemas() {
    let mut schema = json!({
        "type": "object", "description": "", "nullable": false, "properties": {
            "a": {"type": "object", "properties": {}, "default": null},
            "b": {"x-kubernetes-preserve-unknown-fields": false, "default": false},
            "c": {"type": "array", "items": {"enum": []}},
        },
    });
    tidy::schema(&mut schema);
    assert_eq!(
        schema,
        json!({"type": "object", "properties": {
            "a": {"type": "object"},
            "b": {"x-kubernetes-preserve-unknown-fields": false, "default": false},
            "c": {"type": "array", "items": {}},
        }})
    );
}
