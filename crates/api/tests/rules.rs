//! What admission refuses, and what not, tried on every case of `testdata/refusals`.

#![allow(clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};

use apiary_semantics::schema::Schema;
use capt_api::refusals::{self, Verb};
use serde_json::Value;

fn schemas() -> BTreeMap<String, Value> {
    capt_api::crds()
        .into_iter()
        .map(|crd| {
            let schema = crd.spec.versions[0]
                .schema
                .as_ref()
                .and_then(|schema| schema.open_api_v3_schema.as_ref());
            (
                crd.spec.names.kind.clone(),
                serde_json::to_value(schema).expect("a schema is JSON"),
            )
        })
        .collect()
}

fn messages(schema: &Value, into: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for rule in fields
                .get("x-kubernetes-validations")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                into.push(
                    rule.get("message")
                        .or_else(|| rule.get("messageExpression"))
                        .and_then(Value::as_str)
                        .expect("every rule has a message")
                        .to_owned(),
                );
            }
            fields.values().for_each(|value| messages(value, into));
        }
        Value::Array(items) => items.iter().for_each(|value| messages(value, into)),
        _ => {}
    }
}

/// The object as a server would look at it: with defaults, and with the status that a server does not let go.
fn as_stored(schema: &Schema, object: &Value, status: Option<&Value>) -> Value {
    let mut object = object.clone();
    if let Some(status) = status {
        object["status"] = status.clone();
    }
    schema.apply_defaults(&mut object);
    object
}

#[test]
fn every_case_gets_the_answer_it_names() {
    let schemas: BTreeMap<String, Schema> = schemas()
        .into_iter()
        .map(|(kind, schema)| {
            (
                kind,
                Schema::from_crd(&schema, "schema").expect("the schema is structural"),
            )
        })
        .collect();
    let mut wrong = Vec::new();
    for case in refusals::cases().expect("the cases can be read") {
        let schema = &schemas[case.changed["kind"].as_str().expect("an object has a kind")];
        let status = case.status.as_ref();
        let old = (case.verb == Verb::Update).then(|| as_stored(schema, &case.base, status));
        let mut new = as_stored(schema, &case.changed, status);
        let unknown = schema.prune(&mut new);
        assert!(unknown.is_empty(), "{}: {unknown:?}", case.name);

        let errors = schema.validate(&new, old.as_ref());
        let answer: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let right = match &case.message {
            Some(part) => answer.iter().any(|error| error.contains(part.as_str())),
            None => answer.is_empty(),
        };
        if !right {
            wrong.push(format!(
                "{}: wanted {:?}, got {answer:?}",
                case.name, case.message
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An object that was stored before a rule existed stays editable where it is not wrong.
#[test]
fn what_is_wrong_already_does_not_stop_other_changes() {
    let schema =
        Schema::from_crd(&schemas()["CAPTControlPlane"], "schema").expect("the schema is structural");
    let mut old = serde_json::json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1",
        "kind": "CAPTControlPlane",
        "metadata": {"name": "old"},
        "spec": {
            "version": "1.31",
            "workspaceTemplateRef": {"name": "eks"},
            "controlPlaneEndpoint": {"host": "https://abc.eks.amazonaws.com", "port": 443},
        },
    });
    assert_eq!(schema.validate(&old, None).len(), 1);
    let mut new = old.clone();
    new["spec"]["version"] = "1.32".into();
    assert_eq!(schema.validate(&new, Some(&old)), []);
    old["spec"]["controlPlaneEndpoint"]["host"] = "https://other.eks.amazonaws.com".into();
    assert_eq!(schema.validate(&new, Some(&old)).len(), 1);
}

#[test]
fn the_cases_are_many_distinct_and_try_every_rule() {
    let cases = refusals::cases().expect("the cases can be read");
    let refused = cases.iter().filter(|case| case.message.is_some()).count();
    assert!(refused >= 50, "only {refused}");
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len(), "a name is used twice");

    let tried: Vec<&str> = cases.iter().filter_map(|case| case.message.as_deref()).collect();
    let mut untried = BTreeSet::new();
    for schema in schemas().values() {
        let mut rules = Vec::new();
        messages(schema, &mut rules);
        untried.extend(
            rules
                .into_iter()
                .filter(|rule| !tried.iter().any(|part| rule.contains(part))),
        );
    }
    assert!(
        untried.is_empty(),
        "no case is refused by these rules: {untried:#?}"
    );
}
