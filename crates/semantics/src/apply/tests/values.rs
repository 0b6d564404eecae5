//! Walking values by a schema: which paths they set, merging, comparing, removing, checking.

use serde_json::{Value, json};

use super::super::check::check;
use super::super::compare::compare;
use super::super::fields_v1::{decode, encode};
use super::super::fieldset::fieldset;
use super::super::merge::merge;
use super::super::remove::{drop_nulls, reconcile, remove};
use super::super::types::Type;
use super::build;
use crate::schema::Schema;

fn schema() -> Schema {
    let list = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key", "id"],
        "items": {"type": "object", "required": ["key", "id"], "properties": {
            "key": {"type": "string"}, "id": {"type": "integer"}, "bv": {"type": "boolean"}, "nv": {"type": "number"},
            "value": {"type": "object", "additionalProperties": {"type": "string"}},
        }},
    });
    let set = |of: &str| json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": of}});
    build::schema(&json!({"type": "object", "properties": {
        "numeric": {"type": "number"}, "string": {"type": "string"}, "bool": {"type": "boolean"},
        "setStr": set("string"), "setBool": set("boolean"), "setNumeric": set("number"),
        "color": {"type": "object", "x-kubernetes-map-type": "atomic",
            "properties": {"R": {"type": "integer"}, "G": {"type": "integer"}}},
        "args": {"type": "array", "items": {"type": "string"}},
        "list": list,
        "map": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": true}},
        "struct": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "nullable": true}}},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "port": {"x-kubernetes-int-or-string": true},
        "defaulted": {"type": "string", "default": "x"},
    }}))
}

#[test]
fn fieldsets() {
    let a1 = r#"k:{"id":1,"key":"a"}"#;
    let a2 = r#"k:{"id":2,"key":"a"}"#;
    let cases = [
        (
            json!({"numeric": 3.5, "bool": false}),
            json!({"f:numeric": {}, "f:bool": {}}),
        ),
        (json!({"string": null}), json!({"f:string": {}})),
        (
            json!({"setStr": ["a", "b", "a"]}),
            json!({"f:setStr": {r#"v:"a""#: {}, r#"v:"b""#: {}}}),
        ),
        (
            json!({"setBool": [true, false]}),
            json!({"f:setBool": {"v:true": {}, "v:false": {}}}),
        ),
        (
            json!({"setNumeric": [1, 3.5]}),
            json!({"f:setNumeric": {"v:1": {}, "v:3.5": {}}}),
        ),
        (json!({"color": {}}), json!({"f:color": {}})),
        (json!({"color": {"R": 255}}), json!({"f:color": {}})),
        (json!({"args": []}), json!({"f:args": {}})),
        (json!({"args": ["a", "a"]}), json!({"f:args": {}})),
        (json!({"list": []}), json!({})),
        (json!({"list": null}), json!({"f:list": {}})),
        (
            json!({"list": [{"key": "a", "id": 1, "value": {"x": "y"}}]}),
            json!({"f:list": {a1: {".": {}, "f:key": {}, "f:id": {}, "f:value": {"f:x": {}}}}}),
        ),
        // Items that share a key are one piece.
        (
            json!({"list": [{"key": "a", "id": 1}, {"key": "a", "id": 2, "nv": 3}, {"key": "a", "id": 2, "bv": true}]}),
            json!({"f:list": {a1: {".": {}, "f:key": {}, "f:id": {}}, a2: {}}}),
        ),
        (
            json!({"map": {"k": {"deep": {"er": 1}}}}),
            json!({"f:map": {"f:k": {".": {}, "f:deep": {".": {}, "f:er": {}}}}}),
        ),
        (json!({"struct": {"a": "x"}}), json!({"f:struct": {"f:a": {}}})),
        (json!({"struct": {}}), json!({"f:struct": {}})),
        (
            json!({"any": {"x": [1], "y": {}}}),
            json!({"f:any": {"f:x": {}, "f:y": {}}}),
        ),
        (json!({"any": [1]}), json!({"f:any": {}})),
        (json!({"port": "10%"}), json!({"f:port": {}})),
    ];
    let schema = schema();
    for (value, expected) in cases {
        assert_eq!(
            encode(&fieldset(&value, Type::document(&schema))),
            expected,
            "{value}"
        );
    }
}

fn merged(left: &Value, right: &Value) -> Value {
    let schema = schema();
    merge(left, right, Type::document(&schema)).unwrap()
}

#[test]
fn merging_prefers_the_configuration_and_removes_nothing() {
    for (left, right, expected) in [
        (
            json!({"numeric": 1}),
            json!({"numeric": 3.5}),
            json!({"numeric": 3.5}),
        ),
        (
            json!({"string": "a"}),
            json!({"bool": true}),
            json!({"string": "a", "bool": true}),
        ),
        (
            json!({"args": ["a", "a"]}),
            json!({"args": null}),
            json!({"args": null}),
        ),
        (
            json!({"args": ["a", "b"]}),
            json!({"args": []}),
            json!({"args": []}),
        ),
        (json!({}), json!({"struct": {}}), json!({"struct": {}})),
        (json!({}), json!({"struct": null}), json!({"struct": null})),
        (
            json!({"struct": null}),
            json!({"struct": {}}),
            json!({"struct": {}}),
        ),
        (
            json!({"struct": {}}),
            json!({"struct": null}),
            json!({"struct": null}),
        ),
        (
            json!({"struct": {"a": "x"}}),
            json!({"struct": null}),
            json!({"struct": {"a": "x"}}),
        ),
        (
            json!({"color": {"R": 1}}),
            json!({"color": {"G": 1}}),
            json!({"color": {"G": 1}}),
        ),
        (
            json!({"any": 1}),
            json!({"any": {"a": 1}}),
            json!({"any": {"a": 1}}),
        ),
        (
            json!({"any": {"a": 1}}),
            json!({"any": {"b": 1}}),
            json!({"any": {"a": 1, "b": 1}}),
        ),
        (json!({"any": {"a": 1}}), json!({"any": "x"}), json!({"any": "x"})),
    ] {
        assert_eq!(merged(&left, &right), expected, "{left} and {right}");
    }
}

#[test]
fn merging_sets_keeps_both_orders_where_they_agree() {
    for (left, right, expected) in [
        ("abc", "ab", "abc"),
        ("ab", "abc", "abc"),
        ("abc", "", "abc"),
        ("", "abc", "abc"),
        ("ab", "ba", "ba"),
        ("abc", "def", "abcdef"),
        ("abc", "cdef", "abcdef"),
        ("abcgf", "cdef", "abcgdef"),
        ("cdef", "ace", "acdef"),
        ("abcxyz", "def", "abcxyzdef"),
        ("abcxyz", "defxyz", "abcdefxyz"),
        ("cagf", "cfag", "cfag"),
        ("abcd", "defa", "bcdefa"),
        ("cdefghij", "2h3e4kl", "cdfg2hij3e4kl"),
        ("abcdefghij", "1b2h3e4kl", "a1bcdfg2hij3e4kl"),
        // The live object may have duplicates.
        ("abb", "c", "abbc"),
        ("abb", "b", "ab"),
        ("abb", "a", "abb"),
        ("abcdec", "1b2ed", "a1bc2ecd"),
        ("abcdec", "1b2ced", "a1b2ced"),
        ("aabb", "bcd", "aabcd"),
        ("aabb", "", "aabb"),
        ("cagfca", "cfag", "cfag"),
    ] {
        let list = |text: &str| json!({"setStr": text.chars().map(String::from).collect::<Vec<_>>()});
        assert_eq!(
            merged(&list(left), &list(right)),
            list(expected),
            "{left} and {right}"
        );
    }
}

#[test]
fn merging_map_lists_merges_items_of_the_same_key() {
    let item = |key: &str, id: i64| json!({"key": key, "id": id});
    let list = |items: &[Value]| json!({"list": items});
    for (left, right, expected) in [
        (
            vec![item("a", 1)],
            vec![item("a", 2)],
            vec![item("a", 1), item("a", 2)],
        ),
        (
            vec![item("b", 2)],
            vec![item("a", 1), item("b", 2)],
            vec![item("a", 1), item("b", 2)],
        ),
        (
            vec![item("a", 1), item("b", 2), item("c", 3)],
            vec![item("c", 3), item("a", 1)],
            vec![item("b", 2), item("c", 3), item("a", 1)],
        ),
        (
            vec![json!({"key": "a", "id": 1, "nv": 1})],
            vec![json!({"key": "a", "id": 1, "bv": true})],
            vec![json!({"key": "a", "id": 1, "nv": 1, "bv": true})],
        ),
        // Duplicates are replaced, not merged.
        (
            vec![
                json!({"key": "a", "id": 1, "bv": true}),
                item("b", 2),
                json!({"key": "a", "id": 1, "nv": 2}),
            ],
            vec![json!({"key": "a", "id": 1, "nv": 3}), item("c", 3), item("b", 2)],
            vec![json!({"key": "a", "id": 1, "nv": 3}), item("c", 3), item("b", 2)],
        ),
    ] {
        assert_eq!(merged(&list(&left), &list(&right)), list(&expected));
    }
}

#[test]
fn comparing() {
    let a = r#"k:{"id":1,"key":"a"}"#;
    let none = || json!({});
    let cases = [
        (
            json!({"string": "a"}),
            json!({"string": "a"}),
            none(),
            none(),
            none(),
        ),
        (
            json!({"numeric": 1}),
            json!({"numeric": 1.0}),
            none(),
            none(),
            none(),
        ),
        (
            json!({"string": "a"}),
            json!({"bool": true}),
            json!({"f:string": {}}),
            none(),
            json!({"f:bool": {}}),
        ),
        (
            json!({"string": "a"}),
            json!({"string": "b"}),
            none(),
            json!({"f:string": {}}),
            none(),
        ),
        (
            json!({}),
            json!({"struct": {}}),
            none(),
            none(),
            json!({"f:struct": {}}),
        ),
        (
            json!({"struct": null}),
            json!({"struct": {}}),
            none(),
            json!({"f:struct": {}}),
            none(),
        ),
        (
            json!({"struct": null}),
            json!({"struct": {"a": "x"}}),
            none(),
            none(),
            json!({"f:struct": {"f:a": {}}}),
        ),
        (
            json!({"struct": {"a": "x"}}),
            json!({"struct": {}}),
            json!({"f:struct": {"f:a": {}}}),
            none(),
            none(),
        ),
        (
            json!({}),
            json!({"struct": {"a": "x"}}),
            none(),
            none(),
            json!({"f:struct": {".": {}, "f:a": {}}}),
        ),
        (
            json!({"any": 1}),
            json!({"any": {"a": 1}}),
            none(),
            json!({"f:any": {}}),
            json!({"f:any": {"f:a": {}}}),
        ),
        (
            json!({"any": {"a": 1}}),
            json!({"any": 1}),
            json!({"f:any": {"f:a": {}}}),
            json!({"f:any": {}}),
            none(),
        ),
        (
            json!({"any": null}),
            json!({"any": {"a": 1}}),
            none(),
            none(),
            json!({"f:any": {"f:a": {}}}),
        ),
        (
            json!({"setStr": ["a", "b"]}),
            json!({"setStr": ["b", "c"]}),
            json!({"f:setStr": {r#"v:"a""#: {}}}),
            none(),
            json!({"f:setStr": {r#"v:"c""#: {}}}),
        ),
        (
            json!({"setStr": ["a", "b"]}),
            json!({"setStr": ["b", "a"]}),
            none(),
            none(),
            none(),
        ),
        (
            json!({"args": ["a", "b"]}),
            json!({"args": ["b", "a"]}),
            none(),
            json!({"f:args": {}}),
            none(),
        ),
        (
            json!({"list": [{"key": "a", "id": 1, "nv": 1}]}),
            json!({"list": [{"key": "a", "id": 1, "nv": 2}]}),
            none(),
            json!({"f:list": {a: {"f:nv": {}}}}),
            none(),
        ),
        // Into duplicates, out of them, and between them.
        (
            json!({"list": [{"key": "a", "id": 1}]}),
            json!({"list": [{"key": "a", "id": 1}, {"key": "a", "id": 1}]}),
            json!({"f:list": {a: {".": {}, "f:key": {}, "f:id": {}}}}),
            none(),
            json!({"f:list": {a: {}}}),
        ),
        (
            json!({"list": [{"key": "a", "id": 1}, {"key": "a", "id": 1}]}),
            json!({"list": [{"key": "a", "id": 1}]}),
            json!({"f:list": {a: {}}}),
            none(),
            json!({"f:list": {a: {".": {}, "f:key": {}, "f:id": {}}}}),
        ),
        (
            json!({"setStr": ["a", "a"]}),
            json!({"setStr": ["a", "a", "a"]}),
            none(),
            json!({"f:setStr": {r#"v:"a""#: {}}}),
            none(),
        ),
        (
            json!({"setStr": ["a", "a"]}),
            json!({}),
            json!({"f:setStr": {".": {}, r#"v:"a""#: {}}}),
            none(),
            none(),
        ),
    ];
    let schema = schema();
    for (old, new, removed, modified, added) in cases {
        let got = compare(&old, &new, Type::document(&schema)).unwrap();
        let got = (encode(&got.removed), encode(&got.modified), encode(&got.added));
        assert_eq!(got, (removed, modified, added), "{old} to {new}");
    }
}

#[test]
fn removing() {
    let a = r#"k:{"id":1,"key":"a"}"#;
    let whole = json!({"list": [{"key": "a", "id": 1, "nv": 1}, {"key": "b", "id": 2}], "string": "x"});
    for (value, set, expected) in [
        (whole.clone(), json!({}), whole.clone()),
        (whole.clone(), json!({"f:list": {}}), json!({"string": "x"})),
        (
            whole.clone(),
            json!({"f:list": {a: {}}}),
            json!({"list": [{"key": "b", "id": 2}], "string": "x"}),
        ),
        (
            whole,
            json!({"f:list": {a: {"f:nv": {}}}}),
            json!({"list": [{"key": "a", "id": 1}, {"key": "b", "id": 2}], "string": "x"}),
        ),
        (
            json!({"struct": {"a": "x"}}),
            json!({"f:struct": {"f:a": {}}}),
            json!({"struct": null}),
        ),
        (
            json!({"setStr": ["a"]}),
            json!({"f:setStr": {r#"v:"a""#: {}}}),
            json!({"setStr": null}),
        ),
        (
            json!({"setStr": ["a", "b"]}),
            json!({"f:setStr": {r#"v:"a""#: {}}}),
            json!({"setStr": ["b"]}),
        ),
        (json!({"string": "x"}), json!({"f:string": {}}), json!({})),
        (
            json!({"args": ["a"], "string": "x"}),
            json!({"f:args": {"i:0": {}}}),
            json!({"args": null, "string": "x"}),
        ),
    ] {
        let schema = schema();
        assert_eq!(
            remove(&value, &decode(&set).unwrap(), Type::document(&schema)),
            expected,
            "{set}"
        );
    }
}

#[test]
fn nulls_stay_where_they_are_allowed_or_defaulted() {
    let schema = schema();
    let mut value = json!({
        "string": null, "struct": {"a": null, "b": null}, "defaulted": null, "list": [{"key": null, "id": 1}],
        "map": {"x": null, "y": {"z": null}},
    });
    drop_nulls(&mut value, Type::document(&schema));
    assert_eq!(
        value,
        json!({"struct": {"b": null}, "defaulted": null, "list": [{"id": 1}], "map": {"y": {"z": null}}})
    );
}

#[test]
fn owners_of_parts_own_the_whole_once_it_is_one_piece() {
    let schema = schema();
    let mut set = decode(&json!({
        "f:color": {"f:R": {}}, "f:args": {".": {}, "i:0": {}}, "f:struct": {"f:a": {}},
        "f:any": {"f:x": {"f:y": {}}}, "f:gone": {"f:x": {}},
    }))
    .unwrap();
    reconcile(&mut set, Type::document(&schema));
    assert_eq!(
        encode(&set),
        json!({
            "f:color": {}, "f:args": {}, "f:struct": {"f:a": {}}, "f:any": {"f:x": {"f:y": {}}}, "f:gone": {"f:x": {}},
        })
    );
}

#[test]
fn configurations_are_checked() {
    let cases = [
        (
            json!({"string": "x", "numeric": 1, "bool": true, "any": [{}], "port": 1, "map": {"a": {"b": 1}}}),
            "",
        ),
        (json!({"string": null, "list": null, "struct": null}), ""),
        (json!({"nope": 1}), ".nope: field not declared in schema"),
        (
            json!({"struct": {"c": 1}}),
            ".struct.c: field not declared in schema",
        ),
        (
            json!({"string": 1}),
            ".string: expected string, got &value.valueUnstructured{Value:1}",
        ),
        (
            json!({"numeric": "1"}),
            ".numeric: expected numeric (int or float), got string",
        ),
        (json!({"bool": "yes"}), ".bool: expected boolean, got &{yes}"),
        (json!({"struct": "x"}), ".struct: expected map, got &{x}"),
        (json!({"list": {"a": 1}}), ".list: expected list, got &{map[a:1]}"),
        (
            json!({"setStr": ["a", "a"]}),
            r#".setStr: duplicate entries for key [="a"]"#,
        ),
        (
            json!({"setStr": [null]}),
            ".setStr: element 0: associative list without keys has an element that's an explicit null",
        ),
        (
            json!({"list": [{"nv": 1}]}),
            r#".list: element 0: associative list with keys has an element that omits all key fields ["key" "id"] (and doesn't have default values for any key fields)"#,
        ),
        (
            json!({"list": [{"key": "a", "id": 1, "nv": "x"}]}),
            r#".list[id=1,key="a"].nv: expected numeric (int or float), got string"#,
        ),
        (
            json!({"numeric": "1", "struct": {"c": 1}}),
            "errors:\n  .numeric: expected numeric (int or float), got string\n  .struct.c: field not declared in schema",
        ),
    ];
    let schema = schema();
    for (value, expected) in cases {
        assert_eq!(
            check(&value, Type::document(&schema)).err().unwrap_or_default(),
            expected,
            "{value}"
        );
    }
}
