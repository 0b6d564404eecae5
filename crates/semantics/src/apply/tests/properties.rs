//! What holds for any configurations.

use std::sync::LazyLock;

use proptest::collection::btree_map;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::{Map, Value, json};

use super::super::fields_v1::{decode, encode};
use super::super::fieldset::fieldset;
use super::super::types::Type;
use super::super::{Writer, apply, track_update};
use super::build;
use crate::schema::Schema;

const V1: &str = "example.com/v1";

/// Built once: every case needs it.
fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> =
        LazyLock::new(|| build::schema(&serde_json::from_str(include_str!("thing.schema.json")).unwrap()));
    &SCHEMA
}

fn writer<'a>(manager: &'a str, now: &'a str) -> Writer<'a> {
    Writer {
        manager,
        api_version: V1,
        subresource: "",
        now,
    }
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": V1, "kind": "Thing", "metadata": {"name": "t"}, "spec": spec})
}

fn word() -> impl Strategy<Value = String> {
    "[a-c]"
}

/// A spec in which every map key and list item has the prefix, so that two specs of different prefixes are disjoint.
fn spec(prefix: &'static str) -> impl Strategy<Value = Value> {
    let names = move || subsequence(vec!["a", "b", "c", "d"], 0..4).prop_shuffle();
    let tags =
        names().prop_map(move |names| names.iter().map(|n| format!("{prefix}{n}")).collect::<Vec<_>>());
    let items =
        (names(), proptest::collection::vec((of(word()), of(0..3i64)), 4)).prop_map(move |(names, rest)| {
            let items = names.iter().zip(rest).map(|(name, (value, x))| {
                let mut item = json!({"name": format!("{prefix}{name}")});
                if let Some(value) = value {
                    item["value"] = json!(value);
                }
                if let Some(x) = x {
                    item["inner"] = json!({"x": x});
                }
                item
            });
            items.collect::<Vec<_>>()
        });
    let labels = btree_map(word().prop_map(move |w| format!("{prefix}{w}")), word(), 0..3);
    let free = btree_map(word().prop_map(move |w| format!("{prefix}{w}")), 0..3i64, 0..3);
    (of(tags), of(items), of(labels), of(free)).prop_map(move |(tags, items, labels, free)| {
        // Empty containers are owned as such, so that two specs would share them.
        let mut spec = Map::from_iter([("structs".to_owned(), json!({prefix: {"x": 1}}))]);
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value.filter(|v| *v != json!([]) && *v != json!({})) {
                spec.insert(name.to_owned(), value);
            }
        };
        put("tags", tags.map(|v| json!(v)));
        put("items", items.map(|v| json!(v)));
        put("labels", labels.map(|v| json!(v)));
        put("free", free.map(|v| json!(v)));
        Value::Object(spec)
    })
}

/// Sets and map lists have no order of their own.
fn unordered(mut object: Value) -> Value {
    for name in ["tags", "items"] {
        if let Some(Value::Array(items)) = object["spec"].get_mut(name) {
            items.sort_by_key(Value::to_string);
        }
    }
    object
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn applying_twice_is_applying_once(first in spec(""), second in spec("")) {
        let schema = schema();
        let one = apply(schema, None, &object(&first), writer("a", "2026-01-01T00:00:00Z"), false, &[]).unwrap();
        let two = apply(schema, Some(&one), &object(&second), writer("b", "2026-01-01T00:00:01Z"), true, &[]).unwrap();
        let three = apply(schema, Some(&two), &object(&second), writer("b", "2026-01-01T00:00:02Z"), false, &[]).unwrap();
        prop_assert_eq!(two, three);
    }

    #[test]
    fn what_one_manager_adds_it_can_take_back(base in spec("x"), added in spec("y")) {
        let schema = schema();
        let mut base = object(&base);
        track_update(schema, None, &mut base, writer("base", "2026-01-01T00:00:00Z"), &[]);
        base["metadata"]["uid"] = json!("u");
        let with = apply(schema, Some(&base), &object(&added), writer("a", "2026-01-01T00:00:01Z"), false, &[]).unwrap();
        let config = json!({"apiVersion": V1, "kind": "Thing", "metadata": {"name": "t"}});
        let without = apply(schema, Some(&with), &config, writer("a", "2026-01-01T00:00:02Z"), false, &[]).unwrap();
        prop_assert_eq!(without, base);
    }

    #[test]
    fn managers_of_different_things_do_not_depend_on_order(left in spec("x"), right in spec("y")) {
        let schema = schema();
        let now = "2026-01-01T00:00:00Z";
        let run = |order: [(&str, &Value); 2]| {
            let mut live = None;
            for (manager, spec) in order {
                live = Some(apply(schema, live.as_ref(), &object(spec), writer(manager, now), false, &[]).unwrap());
            }
            unordered(live.unwrap())
        };
        prop_assert_eq!(run([("l", &left), ("r", &right)]), run([("r", &right), ("l", &left)]));
    }

    #[test]
    fn an_update_back_and_forth_owns_only_what_differs(first in spec(""), second in spec("")) {
        let schema = schema();
        let mut one = object(&first);
        track_update(schema, None, &mut one, writer("a", "2026-01-01T00:00:00Z"), &[]);
        one["metadata"]["uid"] = json!("u");
        let mut two = object(&second);
        two["metadata"]["uid"] = json!("u");
        track_update(schema, Some(&one), &mut two, writer("a", "2026-01-01T00:00:01Z"), &[]);
        let mut fresh = object(&second);
        track_update(schema, None, &mut fresh, writer("a", "2026-01-01T00:00:01Z"), &[]);
        // One manager alone owns everything, whatever happened before.
        prop_assert_eq!(
            &two["metadata"]["managedFields"][0]["fieldsV1"],
            &fresh["metadata"]["managedFields"][0]["fieldsV1"]
        );
    }

    #[test]
    fn sets_survive_the_wire(value in spec("\"é\\")) {
        let schema = schema();
        let set = fieldset(&object(&value), Type::document(schema));
        prop_assert_eq!(decode(&encode(&set)).unwrap(), set);
    }
}
