use std::collections::BTreeSet;

use super::*;

#[test]
fn names_are_consistent() {
    let mut seen = BTreeSet::new();
    for kind in all().iter().chain(reviews()) {
        assert_eq!(kind.singular, kind.kind.to_lowercase());
        assert!(
            kind.type_name
                .ends_with(&format!(".{}.{}", kind.version, kind.kind)),
            "{}",
            kind.type_name
        );
        assert!(seen.insert((kind.group, kind.plural)), "{} twice", kind.plural);
    }
}

#[test]
fn every_kind_has_a_schema_with_all_it_refers_to() {
    for kind in all().iter().chain(reviews()) {
        let components = openapi::reachable(kind.group, kind.version, kind.type_name);
        let Some(schema) = components.get(kind.type_name) else {
            panic!("no schema for {}", kind.type_name)
        };
        let names = &schema["x-kubernetes-group-version-kind"][0];
        assert_eq!(
            (names["group"].as_str(), names["kind"].as_str()),
            (Some(kind.group), Some(kind.kind))
        );
        assert_eq!(
            schema["properties"].get("status").is_some(),
            kind.has_status || is_review(kind),
            "{}",
            kind.kind
        );
        for name in referenced(&components) {
            assert!(
                components.contains_key(&name),
                "{} refers to {name}",
                kind.type_name
            );
        }
    }
}

#[test]
fn documents_are_complete_and_keep_what_clients_read() {
    let core = openapi_components("", "v1");
    for name in referenced(&core) {
        assert!(core.contains_key(&name), "{name}");
    }
    assert!(core.contains_key("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"));
    let containers = &core["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert!(containers["description"].is_string());
    assert_eq!(containers["x-kubernetes-list-map-keys"][0], "name");
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert!(openapi_components("example.org", "v1").is_empty());
}

fn is_review(kind: &Builtin) -> bool {
    reviews().iter().any(|review| std::ptr::eq(review, kind))
}

fn referenced(components: &serde_json::Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    components
        .values()
        .for_each(|schema| openapi::references(schema, &mut found));
    found
}
