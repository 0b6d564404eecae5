use serde_json::json;

use super::*;

fn masked(mask: &mut Mask, step: &str, mut value: Value) -> Value {
    mask.enter(step);
    mask.document(&mut value);
    value
}

#[test]
fn a_value_keeps_the_name_of_the_step_that_first_showed_it() {
    let mut mask = Mask::default();
    let object = json!({"metadata": {
        "uid": "0f6d2a3e-27c1-4c3f-8a05-1f0d0f0a3b11", "resourceVersion": "41",
        "creationTimestamp": "2026-03-04T05:06:07Z",
    }});
    let expected = json!({"metadata": {
        "uid": "<uid of create>", "resourceVersion": "<version of create>", "creationTimestamp": "<time>",
    }});
    assert_eq!(masked(&mut mask, "create", object.clone()), expected);
    assert_eq!(masked(&mut mask, "read", object), expected);
}

#[test]
fn lists_bookmarks_and_generated_names_lose_what_chance_decided() {
    let cases = [
        (
            json!({"items": [], "metadata": {"resourceVersion": "7", "continue": "abc"}}),
            json!({"items": [], "metadata": {"resourceVersion": "<list>", "continue": "<continue>"}}),
        ),
        (
            json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}}),
            json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "<bookmark>"}}}),
        ),
        (
            json!({"metadata": {"generateName": "a-", "name": "a-x7k2p"}}),
            json!({"metadata": {"generateName": "a-", "name": "a-?????"}}),
        ),
        (
            json!({"rows": [{"cells": ["a", "3m4s"]}]}),
            json!({"rows": [{"cells": ["a", "<age>"]}]}),
        ),
        (
            json!("2001-01-01T00:00:00.000000Z"),
            json!("2001-01-01T00:00:00.000000Z"),
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(masked(&mut Mask::default(), "step", given), expected);
    }
}

#[test]
fn kubectl_output_loses_ages_and_widths() {
    let cases = [
        ("NAME      DATA   AGE", "NAME  DATA  AGE"),
        ("settings  1      12s", "settings  1  <age>"),
        (
            "  resourceVersion: \"12\"",
            "  resourceVersion: \"<version of step>\"",
        ),
    ];
    for (given, expected) in cases {
        let mut mask = Mask::default();
        mask.enter("step");
        assert_eq!(mask.output(given), [expected]);
    }
}
