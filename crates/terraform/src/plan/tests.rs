use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::stream::{Line, parse_line};

fn events(ndjson: &str) -> Vec<Event> {
    ndjson
        .lines()
        .map(|line| match parse_line(line.as_bytes()) {
            Line::Event(event) => *event,
            other => panic!("{other:?}"),
        })
        .collect()
}

fn show(json: &Value) -> Plan {
    parse_show(json.to_string().as_bytes()).unwrap()
}

fn shown(change: &Value) -> Plan {
    show(&json!({"format_version": "1.2", "resource_changes": [change]}))
}

const MIXED: &[u8] = include_bytes!("../../tests/fixtures/show-plan-mixed.json");
const MIXED_EVENTS: &str = include_str!("../../tests/fixtures/plan-mixed.ndjson");

#[test]
fn both_sources_tell_the_same() {
    let mut bare = parse_show(MIXED).unwrap();
    for change in &mut bare.changes {
        (change.id, change.paths, change.replace_paths) = (None, Vec::new(), Vec::new());
        change.values.clear();
    }
    assert_eq!(bare, Plan::from_events(&events(MIXED_EVENTS)));
}

#[test]
fn counts_and_judges() {
    let plan = parse_show(MIXED).unwrap();
    let summary = plan.summary();
    assert_eq!(
        summary,
        Summary {
            add: 1,
            change: 1,
            replace: 2,
            destroy: 1,
            moved: 1,
            tainted: 1,
            ..Summary::default()
        }
    );
    assert_eq!(
        summary.to_string(),
        "1 to add, 1 to change, 2 to replace, 1 to destroy, 1 to move (1 tainted)"
    );
    let destroyed: Vec<&str> = plan.destroyed().map(|change| change.address.as_str()).collect();
    assert_eq!(
        destroyed,
        ["terraform_data.each[\"a\"]", "terraform_data.replaced"]
    );
    assert!(plan.is_destructive());
}

#[test]
fn reads_well() {
    let mut plan = parse_show(MIXED).unwrap();
    plan.changes
        .iter_mut()
        .for_each(|change| change.id = change.id.take().map(|_| "x".to_owned()));
    let text = plan.text(100);
    let (_, changes) = text.split_once('\n').unwrap();
    assert_eq!(
        changes,
        "  - terraform_data.each[\"a\"] [id=x]: will be destroyed (delete because each key)\n\
         \u{20} ± terraform_data.replaced [id=x]: must be replaced (triggers_replace)\n\
         \u{20} + terraform_data.each[\"c\"]\n\
         \u{20} ± terraform_data.flaky [id=x]: must be replaced (tainted)\n\
         \u{20} > terraform_data.new, until now terraform_data.old [id=x]\n\
         \u{20} ~ terraform_data.updated [id=x] (input, output)\n"
    );
    assert!(plan.text(2).ends_with("… and 4 more\n"));
}

#[test]
fn a_plan_for_nothing_is_empty() {
    let plan = Plan::from_events(&events(include_str!("../../tests/fixtures/plan-noop.ndjson")));
    assert!(plan.is_empty() && !plan.is_destructive());
    assert_eq!(plan.summary().to_string(), "no changes");
}

#[test]
fn a_first_plan_only_adds() {
    let plan = parse_show(include_bytes!("../../tests/fixtures/show-plan.json")).unwrap();
    assert_eq!(
        plan.summary(),
        Summary {
            add: 5,
            outputs: 5,
            ..Summary::default()
        }
    );
    assert!(!plan.is_destructive());
    assert!(!serde_json::to_string(&plan).unwrap().contains("s3cr3t"));
}

#[test]
fn what_destroys() {
    let cases = [
        (json!({"address": "a.b", "change": {"actions": ["delete"]}}), true),
        (
            json!({"address": "a.b", "change": {"actions": ["create", "delete"]}}),
            true,
        ),
        (
            json!({"address": "a.b", "change": {"actions": ["forget", "create"]}}),
            true,
        ),
        (
            json!({"address": "a.b", "action_reason": "replace_because_tainted", "change": {"actions": ["delete", "create"]}}),
            false,
        ),
        (
            json!({"address": "a.b", "action_reason": "tainted", "deposed": "1234", "change": {"actions": ["delete"]}}),
            true,
        ),
        (
            json!({"address": "a.b", "deposed": "1234", "change": {"actions": ["delete"]}}),
            true,
        ),
        (
            json!({"address": "a.b", "change": {"actions": ["update"]}}),
            false,
        ),
        (
            json!({"address": "a.b", "change": {"actions": ["forget"]}}),
            false,
        ),
        (json!({"address": "a.b", "change": {"actions": ["read"]}}), false),
    ];
    for (change, expected) in cases {
        assert_eq!(shown(&change).is_destructive(), expected, "{change}");
    }
}

#[test]
fn names_attributes_but_not_below_secrets() {
    let plan = shown(&json!({"address": "a.b", "change": {
        "actions": ["update"],
        "before": {"id": "i-1", "same": 1, "tags": {"a": 1, "x y": 1}, "list": [1, 2], "grown": [1], "map": {"key-is-secret": 1}},
        "after": {"id": "i-1", "same": 1, "tags": {"a": 2, "x y": 2}, "list": [1, 3], "grown": [1, 2], "map": {}},
        "after_unknown": {"arn": true, "nested": [{"ip": true}]},
        "before_sensitive": {"map": true},
        "after_sensitive": false,
    }}));
    let change = &plan.changes[0];
    assert_eq!(
        change.paths,
        [
            "arn",
            "grown",
            "list[1]",
            "map",
            "nested",
            "tags.a",
            "tags[\"x y\"]"
        ]
    );
    assert_eq!(change.id.as_deref(), Some("i-1"));
}

/// Values in one line each, as they are before anything is redacted.
fn told(values: &[AttributeChange]) -> Vec<String> {
    let words = |shown: &Shown| match shown {
        Shown::Nothing => "nothing".to_owned(),
        Shown::Text(text) => format!("{text:?}"),
        Shown::Other(text) => text.clone(),
        Shown::Sensitive => SENSITIVE.to_owned(),
        Shown::Unknown => UNKNOWN.to_owned(),
        Shown::Long(bytes) => format!("({bytes} bytes)"),
    };
    let line = |value: &AttributeChange| {
        let mark = if value.forces_replacement { "!" } else { "" };
        let (before, after) = (words(&value.before), words(&value.after));
        format!("{mark}{}: {before} -> {after}", value.path)
    };
    values.iter().map(line).collect()
}

#[test]
fn values_are_told_as_far_as_anybody_may_see_them() {
    let plan = shown(&json!({"address": "a.b", "change": {
        "actions": ["delete", "create"],
        "before": {
            "id": "i-1", "same": 1, "size": 3, "zone": {"name": "a"}, "gone": "g", "text": "x", "was_secret": "s3cr3t-old",
            "token": "s3cr3t-1", "map": {"key-is-secret": "s3cr3t-2"}, "list": [{"user": "u", "pass": "s3cr3t-3"}],
        },
        "after": {
            "same": 1, "size": 4, "zone": {"name": "b"}, "text": "y".repeat(20_000), "new": [1, null], "was_secret": "s3cr3t-old2",
            "token": "s3cr3t-4", "map": {"other-secret-key": "s3cr3t-5"},
            "list": [{"user": "u", "pass": "s3cr3t-6"}, {"user": "v", "pass": "s3cr3t-7"}],
        },
        "after_unknown": {"id": true, "list": [{}, {"arn": true}], "nested": [{"ip": true}]},
        "before_sensitive": {"token": true, "map": true, "list": [{"pass": true}], "was_secret": true},
        "after_sensitive": {"token": true, "list": [{"pass": true}, {"pass": true}]},
        "replace_paths": [["zone"], ["list", 0, "user"]],
    }}));
    let values = &plan.changes[0].values;
    assert_eq!(
        told(values),
        [
            "!list: [{\"pass\": (sensitive value), \"user\": \"u\"}] -> [{\"pass\": (sensitive value), \"user\": \"u\"}, \
             {\"pass\": (sensitive value), \"user\": \"v\", \"arn\": (known after apply)}]",
            "!zone.name: \"a\" -> \"b\"",
            "gone: \"g\" -> nothing",
            "id: \"i-1\" -> (known after apply)",
            "map: (sensitive value) -> (sensitive value)",
            "nested: nothing -> (known after apply)",
            "new: nothing -> [1, null]",
            "size: 3 -> 4",
            "text: \"x\" -> (20000 bytes)",
            "token: (sensitive value) -> (sensitive value)",
            "was_secret: (sensitive value) -> (sensitive value)",
        ]
    );
    let plan = serde_json::to_string(&plan).unwrap();
    assert!(!plan.contains("s3cr3t") && !plan.contains("secret-key"), "{plan}");
}

#[test]
fn copies_of_what_is_sensitive_are_hidden_also_where_there_is_no_mark() {
    let change = json!({
        "actions": ["update"],
        "before": {"input": {"pin": "q7", "list": ["0-q7"]}, "output": {"pin": "q7", "list": ["0-q7"]}, "count": 17, "size": 3},
        "after": {"input": {"pin": "q8", "list": ["0-q8"]}, "count": 18, "size": 4},
        "after_unknown": {"output": true},
        "before_sensitive": {"input": {"pin": true, "list": [true]}},
        "after_sensitive": {"input": {"pin": true, "list": [true]}},
    });
    let plan = show(&json!({
        "format_version": "1.2",
        "variables": {"retries": {"value": 17}, "size": {"value": 3}},
        "configuration": {"root_module": {"variables": {"retries": {"sensitive": true}, "size": {}}}},
        "resource_changes": [{"address": "a.b", "change": change}],
        "output_changes": {"pin": {"actions": ["create"], "after": "q8"}},
    }));
    assert_eq!(
        told(&plan.changes[0].values),
        [
            "count: (sensitive value) -> 18",
            "input.list[0]: (sensitive value) -> (sensitive value)",
            "input.pin: (sensitive value) -> (sensitive value)",
            "output: {\"list\": [(sensitive value)], \"pin\": (sensitive value)} -> (known after apply)",
            "size: 3 -> 4",
        ]
    );
    assert_eq!(told(&plan.output_values), ["pin: nothing -> (sensitive value)"]);
}

#[test]
fn of_what_is_made_is_told_what_is_known() {
    let change = |sensitive: Value| {
        json!({"address": "a.b", "change": {
            "actions": ["create"], "before": null,
            "after": {"name": "n", "empty": [], "none": null, "tags": {"a": "s3cr3t"}, "on": true},
            "after_unknown": {"id": true, "tags": {"b": true}},
            "before_sensitive": false, "after_sensitive": sensitive,
        }})
    };
    let plan = shown(&change(json!({"tags": {"a": true}})));
    assert_eq!(
        told(&plan.changes[0].values),
        [
            "name: nothing -> \"n\"",
            "on: nothing -> true",
            "tags: nothing -> {\"a\": (sensitive value), \"b\": (known after apply)}",
        ]
    );
    assert_eq!(shown(&change(json!(true))).changes[0].values, []);
    let gone = shown(
        &json!({"address": "a.b", "change": {"actions": ["delete"], "before": {"a": 1}, "after": null}}),
    );
    assert_eq!(gone.changes[0].values, []);
}

#[test]
fn outputs_are_told_unless_they_are_secret() {
    let plan = show(&json!({"format_version": "1.2", "output_changes": {
        "same": {"actions": ["no-op"], "before": 1, "after": 1},
        "name": {"actions": ["update"], "before": "a", "after": "b"},
        "later": {"actions": ["create"], "after_unknown": true},
        "password": {
            "actions": ["update"], "before": "s3cr3t", "after": "s3cr3t2", "before_sensitive": false, "after_sensitive": true,
        },
    }}));
    assert_eq!(
        told(&plan.output_values),
        [
            "later: nothing -> (known after apply)",
            "name: \"a\" -> \"b\"",
            "password: (sensitive value) -> (sensitive value)",
        ]
    );
}

#[test]
fn values_take_no_part_in_the_name_of_a_plan() {
    let plan = shown(
        &json!({"address": "a.b", "change": {"actions": ["update"], "before": {"x": 1}, "after": {"x": 2}}}),
    );
    let mut bare = plan.clone();
    bare.changes[0].values.clear();
    assert!(plan != bare);
    assert_eq!(plan.id(), bare.id());
}

#[test]
fn ids_name_what_is_done_and_to_what() {
    let base = json!({"address": "a.b", "change": {"actions": ["delete", "create"], "before": {"id": "1", "x": 1}, "after": {"x": 2}}});
    let same = json!({"address": "a.b", "change": {"actions": ["delete", "create"], "before": {"id": "1", "x": 7}, "after": {"x": 9}}});
    let differences = [
        json!({"address": "a.c", "change": base["change"]}),
        json!({"address": "a.b", "change": {"actions": ["delete"], "before": {"id": "1"}}}),
        json!({"address": "a.b", "change": {"actions": ["delete", "create"], "before": {"id": "2", "x": 1}, "after": {"x": 2}}}),
        json!({"address": "a.b", "change": {"actions": ["delete", "create"], "before": {"id": "1", "y": 1}, "after": {"y": 2}}}),
        json!({"address": "a.b", "action_reason": "replace_because_tainted", "change": base["change"]}),
    ];
    assert_eq!(shown(&base).id(), shown(&same).id());
    for other in differences {
        assert_ne!(shown(&base).id(), shown(&other).id(), "{other}");
    }
    assert_eq!(shown(&base).id().as_str().len(), 20);
    // A value that was written into objects by an earlier release must go on meaning the same plan.
    assert_eq!(Plan::default().id().as_str(), "ead9e5c484fa5eeda6e9");
}

#[test]
fn refuses_what_is_not_a_plan() {
    assert!(matches!(parse_show(b""), Err(PlanError::Json(_))));
    assert!(matches!(parse_show(b"{}"), Err(PlanError::Json(_))));
    assert!(matches!(
        parse_show(br#"{"format_version":"2.0"}"#),
        Err(PlanError::Format(_))
    ));
}

#[test]
fn says_when_planning_failed() {
    let plan = show(&json!({"format_version": "1.2", "errored": true}));
    assert!(plan.errored && plan.text(1).contains("failed"));
    let failed = include_str!("../../tests/fixtures/plan-precondition-failed.ndjson");
    assert!(Plan::from_events(&events(failed)).errored);
}

#[test]
fn what_waits_for_what() {
    let found = dependencies(include_bytes!("../../tests/fixtures/show-plan.json")).unwrap();
    assert_eq!(found["terraform_data.vpc"], Vec::<String>::new());
    assert_eq!(found["terraform_data.subnet"], ["terraform_data.vpc"]);
    assert_eq!(found["terraform_data.cluster"], ["terraform_data.subnet"]);
}

#[test]
fn dependencies_go_through_modules() {
    let refer = |names: &[&str]| json!({"references": names});
    let plan = json!({"configuration": {"root_module": {
        "resources": [
            {"address": "a.first"},
            {"address": "a.last", "expressions": {"x": [{"y": refer(&["module.m.out", "each.key"])}], "z": {"constant_value": ["a.first"]}}},
            {"address": "a.all", "depends_on": ["module.m"]},
            {"address": "a.self", "expressions": {"x": refer(&["a.self.id", "a.self", "local.unknown", "var.top"])}},
        ],
        "module_calls": {"m": {
            "expressions": {"input": refer(&["a.first.id", "a.first"]), "loop": refer(&["module.m.loop", "module.m"])},
            "depends_on": ["data.d.gate"],
            "module": {
                "outputs": {"out": {"expression": refer(&["b.inner.id", "b.inner"])}, "loop": {"expression": refer(&["var.loop"])}},
                "resources": [
                    {"address": "b.inner", "expressions": {"x": refer(&["var.input"])}},
                    {"address": "b.looped", "expressions": {"x": refer(&["var.loop"])}},
                ],
            },
        }},
    }}});
    let found = dependencies(plan.to_string().as_bytes()).unwrap();
    assert_eq!(found["module.m.b.inner"], ["a.first"]);
    assert_eq!(found["a.last"], ["module.m.b.inner"]);
    assert_eq!(found["a.all"], ["module.m.b.inner", "module.m.b.looped"]);
    assert_eq!(found["a.self"], Vec::<String>::new());
    assert!(found.contains_key("module.m.b.looped"));
    assert!(dependencies(b"{}").unwrap().is_empty());
    assert!(dependencies(b"").is_err());
}

proptest! {
    #[test]
    fn the_order_of_events_does_not_matter(seed in proptest::collection::vec(any::<u32>(), 40)) {
        let mut events = events(MIXED_EVENTS);
        let expected = Plan::from_events(&events);
        let mut keyed: Vec<(u32, Event)> = seed.into_iter().cycle().zip(events.drain(..)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        let shuffled: Vec<Event> = keyed.into_iter().map(|(_, event)| event).collect();
        prop_assert_eq!(Plan::from_events(&shuffled).id(), expected.id());
    }

    #[test]
    fn a_damaged_plan_never_panics(at in 0..MIXED.len(), with in any::<u8>()) {
        let mut bytes = MIXED.to_vec();
        bytes[at] = with;
        if let Ok(plan) = parse_show(&bytes) {
            let _ = plan.text(3);
        }
        let _ = parse_show(&bytes[..at]);
    }
}
