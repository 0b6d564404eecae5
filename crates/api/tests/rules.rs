//! The admission rules, tried on every case of `testdata/refusals` as far as they are CEL; shapes, bounds and lists
//! are tried on servers.

#![allow(clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};

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
                    rule["message"]
                        .as_str()
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

#[test]
fn every_case_gets_the_answer_it_names() {
    let schemas = schemas();
    let validator = kube_cel::Validator::new();
    let mut wrong = Vec::new();
    for case in refusals::cases().expect("the cases can be read") {
        let schema = &schemas[case.changed["kind"].as_str().expect("an object has a kind")];
        let mut rules = Vec::new();
        messages(schema, &mut rules);
        let by_rule = case
            .message
            .as_ref()
            .is_none_or(|part| rules.iter().any(|rule| rule.contains(part)));
        if !by_rule {
            continue;
        }
        let old = (case.verb == Verb::Update).then(|| {
            let mut old = case.base.clone();
            if let Some(status) = &case.status {
                old["status"] = status.clone();
            }
            old
        });
        let mut new = case.changed.clone();
        if let Some(status) = &case.status {
            new["status"] = status.clone();
        }
        let answer = match validator.validate(schema, &new, old.as_ref()) {
            Ok(()) => String::new(),
            Err(errors) => format!("{errors:?}"),
        };
        let expected = match &case.message {
            Some(part) => answer.contains(part.as_str()),
            None => answer.is_empty(),
        };
        if !expected {
            wrong.push(format!("{}: wanted {:?}, got {answer}", case.name, case.message));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
