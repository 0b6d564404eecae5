//! Comparison with answers recorded from Kubernetes 1.36.3 (`testdata/schema.json`).
//!
//! Each group has a schema and cases: an object to create, or one to replace `old`; `rule` is added to the
//! `x-kubernetes-validations` of `spec`. `errors` is what upstream said, sorted, with `f` for the schema's path.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::Schema;

#[derive(Deserialize)]
struct Group {
    schema: Value,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    rule: Option<Value>,
    object: Option<Value>,
    old: Option<Value>,
    errors: Vec<String>,
}

fn document(mut object: Value) -> Value {
    object["apiVersion"] = json!("example.com/v1");
    object["kind"] = json!("Foo");
    object["metadata"] = json!({"name": "foo", "namespace": "ns", "resourceVersion": "1"});
    object
}

fn answer(schema: &Value, case: &Case) -> Vec<String> {
    let mut schema = schema.clone();
    if let Some(rule) = &case.rule {
        schema["properties"]["spec"]["x-kubernetes-validations"] = json!([rule]);
    }
    let errors = match (Schema::from_crd(&schema, "f"), &case.object) {
        (Err(errors), _) => errors,
        (Ok(_), None) => Vec::new(),
        (Ok(schema), Some(object)) => {
            let old = case.old.clone().map(document);
            schema.validate(&document(object.clone()), old.as_ref())
        }
    };
    let mut texts: Vec<_> = errors
        .iter()
        .map(|error| comparable(&error.to_string()))
        .collect();
    texts.sort();
    texts
}

/// Upstream prints a rule as a Go struct, and the words of its CEL parser and regular expressions are its own.
fn comparable(text: &str) -> String {
    let mut text = text.to_owned();
    if let (Some(start), Some(end)) = (text.find(": Invalid value: {"), text.find("}: "))
        && text.contains("x-kubernetes-validations")
    {
        text.replace_range(start + 17..=end, "RULE");
    }
    for (marker, replacement) in [
        ("Syntax error", "Syntax error"),
        ("error parsing regexp: ", "regexp"),
    ] {
        if let Some(at) = text.find(marker) {
            let start = text[..at].rfind("<input>").unwrap_or(at);
            text.replace_range(start.., replacement);
        }
    }
    text
}

#[test]
fn answers_are_those_of_kubernetes() {
    let groups: Vec<Group> = serde_json::from_str(include_str!("../../../testdata/schema.json")).unwrap();
    let mut differences = Vec::new();
    let mut total = 0;
    for group in &groups {
        for case in &group.cases {
            total += 1;
            let mut expected: Vec<_> = case.errors.iter().map(|text| comparable(text)).collect();
            expected.sort();
            let found = answer(&group.schema, case);
            if found != expected {
                let what = case
                    .rule
                    .clone()
                    .unwrap_or_else(|| group.schema["properties"]["spec"].clone());
                differences.push(format!(
                    "{what}\n  object: {:?}\n  old: {:?}\n  upstream: {expected:#?}\n  ours: {found:#?}",
                    case.object.as_ref().map(ToString::to_string),
                    case.old.as_ref().map(ToString::to_string),
                ));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {total} differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}
