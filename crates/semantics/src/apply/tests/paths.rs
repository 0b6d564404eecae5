//! Path elements, sets of paths and their wire form.

use serde_json::{Value, json};

use super::super::path::{self, PathElement};
use super::super::set::Set;
use super::super::types::Type;
use super::super::{fields_v1, scalar};
use super::build;

fn field(name: &str) -> PathElement {
    PathElement::Field(name.to_owned())
}

fn key(fields: &[(&str, Value)]) -> PathElement {
    PathElement::Key(
        fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
    )
}

fn value(value: impl Into<Value>) -> PathElement {
    PathElement::Value(value.into())
}

#[expect(clippy::needless_pass_by_value, reason = "call sites read better with json!")]
fn set(fields: Value) -> Set {
    fields_v1::decode(&fields).unwrap()
}

#[test]
fn path_elements_are_ordered_by_kind_then_content() {
    let ascending = [
        field("anteater"),
        field("zebra"),
        key(&[("goat", json!(1))]),
        key(&[("goat", json!(2))]),
        key(&[("jay", json!(1))]),
        key(&[("kite", json!(1))]),
        key(&[("kite", json!(1)), ("kite-2", json!(1))]),
        value(1),
        value(1.5),
        value(2),
        value("a"),
        value(false),
        value(true),
        value(json!([1])),
        value(json!({"a": 1})),
        value(Value::Null),
        PathElement::Index(1),
        PathElement::Index(2),
    ];
    for (i, left) in ascending.iter().enumerate() {
        for (j, right) in ascending.iter().enumerate() {
            assert_eq!(left.cmp(right), i.cmp(&j), "{left} and {right}");
        }
    }
    assert_eq!(value(1), value(1.0));
}

#[test]
fn whole_values_are_ordered_too() {
    assert!(scalar::compare(&json!([1, 2]), &json!([1, 3])).is_lt());
    assert!(scalar::compare(&json!([1]), &json!([1, 3])).is_lt());
    assert!(scalar::compare(&json!({"a": 1}), &json!({"a": 2})).is_lt());
    assert!(scalar::compare(&json!({"a": 1}), &json!({"b": 0})).is_lt());
    assert!(scalar::same(
        &json!({"a": [1, {"b": 2.0}]}),
        &json!({"a": [1.0, {"b": 2}]})
    ));
    assert!(!scalar::same(&json!({"a": null}), &json!({})));
    assert!(scalar::compare(&json!(u64::MAX), &json!(i64::MAX)).is_gt());
}

#[test]
fn paths_print_as_in_conflict_messages() {
    let cases = [
        (vec![field("foo"), PathElement::Index(1)], ".foo[1]"),
        (
            vec![field("foo"), field("bar"), PathElement::Index(1), field("baz")],
            ".foo.bar[1].baz",
        ),
        (
            vec![
                field("foo"),
                key(&[
                    ("a", json!("b")),
                    ("c", json!(1)),
                    ("d", json!(1.5)),
                    ("e", json!(true)),
                ]),
            ],
            r#".foo[a="b",c=1,d=1.5,e=true]"#,
        ),
        (
            vec![field("foo"), value("b"), value(5), value(false), value(3.25)],
            r#".foo[="b"][=5][=false][=3.25]"#,
        ),
        (vec![field("spec"), field("with space")], ".spec.with space"),
        (
            vec![field("a"), value("with \"quotes\"")],
            r#".a[="with \"quotes\""]"#,
        ),
        (
            vec![field("a"), key(&[("name", json!("app-🚀"))])],
            r#".a[name="app-🚀"]"#,
        ),
    ];
    for (elements, expected) in cases {
        assert_eq!(path::display(&elements.iter().collect::<Vec<_>>()), expected);
    }
}

#[test]
fn path_elements_survive_the_wire() {
    let cases = [
        (r#"i:0"#, PathElement::Index(0)),
        (r#"i:1234"#, PathElement::Index(1234)),
        (r#"f:"#, field("")),
        (r#"f:spec"#, field("spec")),
        (r#"f: string-with-spaces   "#, field(" string-with-spaces   ")),
        (r#"f:spec-\n"#, field("spec-\\n")),
        (
            r#"k:{"name":"my-container"}"#,
            key(&[("name", json!("my-container"))]),
        ),
        (
            r#"k:{"port":"8080","protocol":"TCP"}"#,
            key(&[("port", json!("8080")), ("protocol", json!("TCP"))]),
        ),
        (
            r#"k:{"optionalField":null}"#,
            key(&[("optionalField", Value::Null)]),
        ),
        (r#"k:{"list":["1","2"]}"#, key(&[("list", json!(["1", "2"]))])),
        (
            r#"k:{"json":{"A":1,"B":null}}"#,
            key(&[("json", json!({"A": 1, "B": null}))]),
        ),
        (r#"k:{"name":"你好世界"}"#, key(&[("name", json!("你好世界"))])),
        (r#"v:null"#, value(Value::Null)),
        (r#"v:"some-string""#, value("some-string")),
        (r#"v:1234"#, value(1234)),
        (
            r#"v:{"some":" some  with spaces  "}"#,
            value(json!({"some": " some  with spaces  "})),
        ),
    ];
    for (text, element) in cases {
        let decoded = set(json!({text: {}}));
        assert_eq!(decoded.nodes().len(), 1, "{text}");
        assert_eq!(decoded.nodes()[0].element, element, "{text}");
        assert_eq!(fields_v1::encode(&decoded), json!({text: {}}));
    }
}

#[test]
fn other_spellings_of_the_same_element_are_read() {
    let cases = [
        (r#"v: {"some":"json"}"#, value(json!({"some": "json"}))),
        (
            r#"k: {"name":"my-container"} "#,
            key(&[("name", json!("my-container"))]),
        ),
        (
            r#"k:{"port":443, "a":1}"#,
            key(&[("a", json!(1)), ("port", json!(443))]),
        ),
        (r#"k:{"name\u002dx":"\u4e16"}"#, key(&[("name-x", json!("世"))])),
        (r#"v:"value-\ud83d\ude80""#, value("value-🚀")),
    ];
    for (text, element) in cases {
        assert_eq!(set(json!({text: {}})).nodes()[0].element, element, "{text}");
    }
}

#[test]
fn what_is_no_path_element_is_refused() {
    for text in [
        "",
        ":",
        "x",
        "no-colon",
        "i:index",
        "i:1.23",
        "i:",
        "v:invalid json",
        "v:",
        "k:invalid json",
        r#"k:{"name":invalid}"#,
        "v",
        r#"v:{"a":"b""#,
        r#"k:{"a":"b""#,
        "i: 0",
        "i:0 ",
        r#"v:{"some":"json"} {"other":"json"}"#,
        r#"k:{"name":"x"} garbage"#,
        "k:[]",
        "k:1",
    ] {
        assert!(fields_v1::decode(&json!({text: {}})).is_err(), "{text}");
    }
    for fields in [
        json!([]),
        json!(42),
        json!("hi"),
        json!({"f:a": 1}),
        json!({"f:a": []}),
    ] {
        assert!(fields_v1::decode(&fields).is_err(), "{fields}");
    }
    assert!(set(Value::Null).is_empty());
}

#[test]
fn elements_of_an_unknown_kind_are_dropped() {
    assert_eq!(
        fields_v1::encode(&set(json!({"f:aaa": {}, "r:aab": {}}))),
        json!({"f:aaa": {}})
    );
    assert_eq!(
        fields_v1::encode(&set(json!({"f:aaa": {"r:aab": {}}}))),
        json!({"f:aaa": {}})
    );
}

#[test]
fn membership_and_what_is_below_are_told_apart() {
    let fields = json!({"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {".": {}}}});
    let decoded = set(fields);
    let (a, b, c, d) = (field("a"), field("b"), field("c"), field("d"));
    assert!(decoded.has(&[&a]) && decoded.has(&[&a, &b]) && decoded.has(&[&c, &d]));
    assert!(!decoded.has(&[&c]) && !decoded.has(&[]) && !decoded.has(&[&d]));
    assert_eq!(
        fields_v1::encode(&decoded),
        json!({"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {}}})
    );
    let mut paths = Vec::new();
    decoded.for_each(&mut |at| paths.push(path::display(at)));
    assert_eq!(paths, [".a", ".a.b", ".c.d"]);
}

#[test]
fn union_takes_either() {
    let left = set(json!({
        "f:foo": {"i:0": {}, "i:1": {}}, "f:bar": {"f:baz": {}}, "f:qux": {r#"k:{"name":"first"}"#: {}},
        "f:parent": {"f:child": {"f:grandchild": {}}},
    }));
    let right = set(json!({
        "f:foo": {".": {}, "i:1": {}}, "f:bar": {}, "f:qux": {r#"k:{"name":"second"}"#: {}},
        "f:parent": {"f:child": {}},
    }));
    let both = json!({
        "f:foo": {".": {}, "i:0": {}, "i:1": {}}, "f:bar": {".": {}, "f:baz": {}},
        "f:qux": {r#"k:{"name":"first"}"#: {}, r#"k:{"name":"second"}"#: {}},
        "f:parent": {"f:child": {".": {}, "f:grandchild": {}}},
    });
    assert_eq!(fields_v1::encode(&left.clone().union(right.clone())), both);
    assert_eq!(fields_v1::encode(&right.union(left)), both);
}

#[test]
fn intersection_and_difference_look_at_members_only() {
    let first = r#"k:{"name":"first"}"#;
    let left = set(json!({
        "f:a0": {}, "f:a1": {}, "f:foo": {"i:0": {}, "i:1": {}}, "f:b0": {first: {}}, "f:b1": {first: {}},
        "f:bar": {"f:c0": {}}, "f:cp": {first: {"f:child": {}}},
    }));
    let right = set(json!({
        "f:a1": {}, "f:a2": {}, "f:foo": {"i:1": {}, "i:2": {}}, "f:b1": {first: {}}, "f:b2": {first: {}},
        "f:bar": {"f:c2": {}}, "f:cp": {first: {}},
    }));
    let common = json!({"f:a1": {}, "f:foo": {"i:1": {}}, "f:b1": {first: {}}});
    assert_eq!(fields_v1::encode(&left.intersection(&right)), common);
    assert_eq!(
        fields_v1::encode(&left.clone().difference(&right)),
        json!({"f:a0": {}, "f:foo": {"i:0": {}}, "f:b0": {first: {}}, "f:bar": {"f:c0": {}},
            "f:cp": {first: {"f:child": {}}}})
    );
    assert_eq!(
        fields_v1::encode(&right.clone().difference(&left)),
        json!({"f:a2": {}, "f:foo": {"i:2": {}}, "f:b2": {first: {}}, "f:bar": {"f:c2": {}}, "f:cp": {first: {}}})
    );
    let either = left
        .clone()
        .difference(&right)
        .union(right.clone().difference(&left));
    assert_eq!(fields_v1::encode(&left.union(right).difference(&either)), common);
}

#[test]
fn named_fields_count_as_members_but_keys_of_maps_do_not() {
    let schema = build::schema(&json!({"type": "object", "properties": {
        "named": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "object", "additionalProperties": true}}}},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "inner": {"type": "object"}}}},
    }}));
    let item = r#"k:{"name":"a"}"#;
    let given =
        set(json!({"f:named": {"f:key": {"f:x": {"f:y": {}}}}, "f:list": {item: {"f:inner": {"f:z": {}}}}}));
    assert_eq!(
        fields_v1::encode(&given.with_named_fields(Type::document(&schema))),
        json!({
            "f:named": {".": {}, "f:key": {"f:x": {".": {}, "f:y": {}}}},
            "f:list": {".": {}, item: {"f:inner": {".": {}, "f:z": {}}}},
        })
    );
}
