use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn found(path: &str, document: &Value) -> Value {
    let path = JsonPath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let found = path.find(document);
    assert_eq!(path.first(document), found.first().copied(), "{path:?}");
    found.into_iter().cloned().collect()
}

#[test]
fn paths_find() {
    let points = json!([
        {"id": "i1", "x": 4, "y": -5},
        {"id": "i2", "x": -2, "y": -5, "z": 1},
        {"id": "i3", "x": null, "y": 3.5},
        {"id": "i4", "on": true, "deep": {"on": false}},
    ]);
    let nodes = json!({
        "kind": "List",
        "items": [
            {"metadata": {"name": "a", "labels": {"kubernetes.io/hostname": "h1"}}, "ready": true, "caps": {"cpu": "4"}},
            {"metadata": {"name": "b"}, "ready": false, "caps": {"cpu": "8"}},
        ],
        "users": [{"name": "e2e", "pass": "s)e\"cret"}, {"name": "it's"}],
        "numbers": [0, 1, 2, 3, 4],
        "nothing": null,
        "empty": [],
    });
    for (path, expected) in [
        ("{.kind}", json!(["List"])),
        (".kind", json!(["List"])),
        ("kind", json!(["List"])),
        ("$.kind", json!(["List"])),
        (" {$.kind } ", json!(["List"])),
        (".missing", json!([])),
        (".missing.deeper[0]", json!([])),
        (".kind.deeper", json!([])),
        (".nothing", json!([null])),
        (".nothing.deeper", json!([])),
        (".nothing[0]", json!([])),
        (".items[*].metadata.name", json!(["a", "b"])),
        (".items[0].metadata.name", json!(["a"])),
        (".items[-1].metadata.name", json!(["b"])),
        (".items[2].metadata.name", json!([])),
        (
            ".items[0].metadata.labels.kubernetes\\.io/hostname",
            json!(["h1"]),
        ),
        (
            ".items[0].metadata.labels['kubernetes\\.io/hostname']",
            json!(["h1"]),
        ),
        (".items[0]['metadata.name']", json!(["a"])),
        (".items[0]['metadata']['name']", json!(["a"])),
        (
            ".items[?(@.metadata.labels.kubernetes\\.io/hostname==\"h1\")].metadata.name",
            json!(["a"]),
        ),
        (".items[?(@.ready==true)].metadata.name", json!(["a"])),
        (".items[?(@.ready!=true)].metadata.name", json!(["b"])),
        (".items[?( @.metadata.name == 'b' )].caps.cpu", json!(["8"])),
        (".items[?(@.metadata.name>=\"b\")].metadata.name", json!(["b"])),
        (".items[?(@.metadata.labels)].metadata.name", json!(["a"])),
        (".items[?(@..cpu==\"8\")].metadata.name", json!(["b"])),
        (
            ".items[*]['metadata.name', 'caps']",
            json!(["a", {"cpu": "4"}, "b", {"cpu": "8"}]),
        ),
        (
            ".items[0].metadata.*",
            json!([{"kubernetes.io/hostname": "h1"}, "a"]),
        ),
        (".users[?(@.pass=='s)e\\\"cret')].name", json!(["e2e"])),
        (".users[?(@.name==\"it's\")].name", json!(["it's"])),
        (".numbers[1,3]", json!([1, 3])),
        (".numbers[:2]", json!([0, 1])),
        (".numbers[3:]", json!([3, 4])),
        (".numbers[1:3]", json!([1, 2])),
        (".numbers[1:-1]", json!([1, 2, 3])),
        (".numbers[::2]", json!([0, 2, 4])),
        (".numbers[1::2]", json!([1, 3])),
        (".numbers[-2:]", json!([3, 4])),
        (".numbers[0:0]", json!([])),
        (".numbers[:9]", json!([])),
        (".numbers[-1:0]", json!([])),
        (".numbers[::0]", json!([])),
        (".numbers[?(@>2)]", json!([3, 4])),
        (".numbers[?(@<=1)]", json!([0, 1])),
        (".numbers[?(@<\"x\")]", json!([])),
        (".empty[*]", json!([])),
        (".kind[0]", json!([])),
        (".kind[?(@.x)]", json!([])),
        ("..name", json!(["a", "b", "e2e", "it's"])),
        ("...cpu", json!(["4", "8"])),
        ("..caps.cpu", json!(["4", "8"])),
    ] {
        assert_eq!(found(path, &nodes), expected, "{path}");
    }
    for (path, expected) in [
        ("{[?(@.z)].id}", json!(["i2"])),
        ("{[0]['id']}", json!(["i1"])),
        ("[2].x", json!([null])),
        ("[?(@.x>-3)].id", json!([])),
        ("[?(@.y<0)].id", json!(["i1", "i2"])),
        ("[?(@.y==3.5)].id", json!(["i3"])),
        ("[?(@.on==true)].id", json!(["i4"])),
        ("[?(@.on<true)].id", json!([])),
        ("[?(@..on==true)].id", json!([])),
        ("[?(@.id==@.id)].id", json!(["i1", "i2", "i3", "i4"])),
    ] {
        assert_eq!(found(path, &points), expected, "{path}");
    }
}

#[test]
fn bad_paths_say_why() {
    for (path, error) in [
        (".a[", "unterminated array"),
        (".a[x]", "invalid array index x"),
        (".a[\"x\"]", "invalid array index \"x\""),
        (".a[1:2:3:4]", "invalid array index 1:2:3:4"),
        (".a[-]", "array index - is not a number"),
        (".a[?(@.b==1]", "unterminated filter"),
        (".a[?(@.b==\"x)]", "unterminated filter"),
        (".a[?(@.b==1)", "unclosed array expect ]"),
        (".a[?(@.b<>1)]", "unrecognized filter operator <>"),
        (".a[?(@.b==1.2.3)]", "cannot parse number 1.2.3"),
        (".a[?(@.b=='\\q')]", "unquote string \\q error invalid syntax"),
        ("......a", "invalid multiple recursive descent"),
        (".a}", "unrecognized character in action: U+007D '}'"),
        ("%", "unrecognized character in action: U+0025 '%'"),
    ] {
        assert_eq!(JsonPath::parse(path).unwrap_err(), error, "{path}");
    }
}

#[test]
fn greedy_paths_give_up() {
    let mut document = json!(1);
    for _ in 0..100 {
        document = json!({"a": document});
    }
    let path = JsonPath::parse("..a..a..a..a..a..a..x").unwrap();
    assert!(path.find(&document).is_empty());
}

proptest! {
    #[test]
    fn no_path_panics(text in "[.\\[\\]()?@$*:,'\"\\\\a-c0-3=<!{} ä-]{0,24}") {
        let document = json!({"a": [{"b": 1, "c": "x"}, {"b": null}, [1, 2, 3]], "b": {"a": {"b": ["ä"]}}});
        if let Ok(path) = JsonPath::parse(&text) {
            prop_assert_eq!(path.first(&document), path.find(&document).first().copied());
        }
    }
}
