use serde_json::{Value, json};

use crate::patch::{MAX_COPIED_BYTES, MAX_OPERATIONS, PatchError, json_patch};
use crate::strict_json::MAX_DEPTH;

#[test]
fn operations_do_what_they_say() {
    let words = json!({"foo": ["all", "grass", "cows", "eat"]});
    let cases = [
        (
            json!({"a": 1}),
            json!([{"op": "add", "path": "/b", "value": 2}]),
            json!({"a": 1, "b": 2}),
        ),
        (
            json!({"a": 1}),
            json!([{"op": "add", "path": "/a", "value": 2}]),
            json!({"a": 2}),
        ),
        (
            json!({"a": 1}),
            json!([{"op": "add", "path": "/b", "value": null}]),
            json!({"a": 1, "b": null}),
        ),
        (
            json!({"a": 1}),
            json!([{"op": "add", "path": "/b"}]),
            json!({"a": 1, "b": null}),
        ),
        (
            json!({"l": [1, 3]}),
            json!([{"op": "add", "path": "/l/1", "value": 2}]),
            json!({"l": [1, 2, 3]}),
        ),
        (
            json!({"l": [1]}),
            json!([{"op": "add", "path": "/l/1", "value": 2}]),
            json!({"l": [1, 2]}),
        ),
        (
            json!({"l": [1]}),
            json!([{"op": "add", "path": "/l/-", "value": [2]}]),
            json!({"l": [1, [2]]}),
        ),
        (
            json!({"l": [1]}),
            json!([{"op": "add", "path": "/l/-1", "value": 2}]),
            json!({"l": [1, 2]}),
        ),
        (
            json!({"l": []}),
            json!([{"op": "add", "path": "/l/-1", "value": 2}]),
            json!({"l": [2]}),
        ),
        (
            json!({"a": 1, "b": null}),
            json!([{"op": "remove", "path": "/b"}]),
            json!({"a": 1}),
        ),
        (
            json!({"l": [1, 2, 3]}),
            json!([{"op": "remove", "path": "/l/1"}]),
            json!({"l": [1, 3]}),
        ),
        (
            json!({"l": [1, 2, 3]}),
            json!([{"op": "remove", "path": "/l/-2"}]),
            json!({"l": [1, 3]}),
        ),
        (
            json!({"a": 1}),
            json!([{"op": "replace", "path": "/a", "value": {"b": 2}}]),
            json!({"a": {"b": 2}}),
        ),
        (
            json!({"a": 1}),
            json!([{"op": "replace", "path": "/new", "value": 2}]),
            json!({"a": 1, "new": 2}),
        ),
        (
            json!({"l": [null]}),
            json!([{"op": "replace", "path": "/l/0", "value": 1}]),
            json!({"l": [1]}),
        ),
        (
            json!({"l": [1, 2]}),
            json!([{"op": "replace", "path": "/l/-1", "value": 3}]),
            json!({"l": [1, 3]}),
        ),
        (
            json!({"a": 1}),
            json!([{"op": "replace", "path": "", "value": {"b": 1}}]),
            json!({"b": 1}),
        ),
        (
            json!({"a": {"x": 1, "y": 2}, "b": {}}),
            json!([{"op": "move", "from": "/a/x", "path": "/b/z"}]),
            json!({"a": {"y": 2}, "b": {"z": 1}}),
        ),
        (
            words.clone(),
            json!([{"op": "move", "from": "/foo/1", "path": "/foo/3"}]),
            json!({"foo": ["all", "cows", "eat", "grass"]}),
        ),
        (
            words,
            json!([{"op": "move", "from": "/foo/1", "path": "/foo/2"}]),
            json!({"foo": ["all", "cows", "grass", "eat"]}),
        ),
        (
            json!([{"l": [1, 2], "m": [3]}]),
            json!([{"op": "copy", "from": "/0/l/0", "path": "/0/m/0"}]),
            json!([{"l": [1, 2], "m": [1, 3]}]),
        ),
        (
            json!({"l": [1]}),
            json!([{"op": "copy", "from": "/l", "path": "/l/0"}]),
            json!({"l": [[1], 1]}),
        ),
        (
            json!({}),
            json!([{"op": "copy", "from": "/missing", "path": "/x"}]),
            json!({"x": null}),
        ),
        (
            json!({"a/b": 1, "c~d": 2, "~1": 3}),
            json!([{"op": "remove", "path": "/a~1b"}, {"op": "remove", "path": "/c~0d"}, {"op": "remove", "path": "/~01"}]),
            json!({}),
        ),
        (
            json!({"": {"": 1}}),
            json!([{"op": "replace", "path": "//", "value": 2}]),
            json!({"": {"": 2}}),
        ),
        (json!({"a": 1}), json!([]), json!({"a": 1})),
    ];
    for (document, patch, expected) in cases {
        assert_eq!(
            json_patch(&document, &patch),
            Ok(expected),
            "{patch} on {document}"
        );
    }
}

#[test]
fn tests_compare() {
    for (document, test, passes) in [
        (
            json!({"a": {"b": [1, {"c": null}]}}),
            json!({"path": "/a", "value": {"b": [1, {"c": null}]}}),
            true,
        ),
        (json!({"a": [1, 2]}), json!({"path": "/a/1", "value": 2}), true),
        (json!({"a": [1, 2]}), json!({"path": "/a/1", "value": 1}), false),
        (json!({"a": 1}), json!({"path": "/b", "value": 1}), false),
        (json!({"a": 1}), json!({"path": "/b", "value": null}), true),
        (json!({"a": 1}), json!({"path": "/b"}), true),
        (json!({"a": null}), json!({"path": "/a", "value": null}), true),
        (json!({"a": {}}), json!({"path": "/a", "value": null}), false),
        (json!({"a": []}), json!({"path": "/a", "value": null}), false),
        (json!({"a": []}), json!({"path": "/a"}), false),
        (json!({"a/b": 1}), json!({"path": "/a~1b", "value": 1}), true),
        (json!({"a": 1}), json!({"path": "", "value": {"a": 1}}), true),
        (json!({"a": 1}), json!({"path": "", "value": {"a": 2}}), false),
    ] {
        let mut operation = test.clone();
        operation["op"] = json!("test");
        let result = json_patch(&document, &json!([operation]));
        assert_eq!(result.is_ok(), passes, "{test} on {document}: {result:?}");
    }
}

fn refusal(document: &Value, operation: &Value) -> String {
    match json_patch(document, &json!([operation])) {
        Err(PatchError::Unprocessable(text)) => text,
        other => panic!("{operation} on {document}: {other:?}"),
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    for (document, operation, text) in [
        (
            json!({"a": 1}),
            json!({"op": "add", "path": "/b/c", "value": 1}),
            "add operation does not apply: doc is missing path: \"/b/c\": missing value",
        ),
        (
            json!({"a": 1}),
            json!({"op": "add", "path": "/a/c", "value": 1}),
            "add operation does not apply: doc is missing path: \"/a/c\": missing value",
        ),
        (
            json!({"a": 1}),
            json!({"op": "add", "path": "", "value": 1}),
            "add operation does not apply: doc is missing path: \"\": missing value",
        ),
        (
            json!({}),
            json!({"op": "add", "pathz": "/b"}),
            "add operation failed to decode path: missing value",
        ),
        (
            json!({}),
            json!({"op": "add", "path": null}),
            "add operation failed to decode path: missing value",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "add", "path": "/l/2", "value": 1}),
            "error in add for path: '/l/2': Unable to access invalid index: 2: invalid index referenced",
        ),
        (
            json!({"l": [1, 2]}),
            json!({"op": "add", "path": "/l/-4", "value": 1}),
            "error in add for path: '/l/-4': Unable to access invalid index: -4: invalid index referenced",
        ),
        (
            json!({"l": []}),
            json!({"op": "add", "path": "/l/x", "value": 1}),
            "error in add for path: '/l/x': value was not a proper array index: 'x': invalid syntax",
        ),
        (
            json!({"a": {"b": {}}}),
            json!({"op": "remove", "path": "/a/b/c"}),
            "error in remove for path: '/a/b/c': Unable to remove nonexistent key: c: missing value",
        ),
        (
            json!({}),
            json!({"op": "remove", "path": "/a/b"}),
            "remove operation does not apply: doc is missing path: \"/a/b\": missing value",
        ),
        (
            json!({"l": []}),
            json!({"op": "remove", "path": "/l/-1"}),
            "error in remove for path: '/l/-1': Unable to access invalid index: -1: invalid index referenced",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "replace", "path": "/l/1", "value": 1}),
            "replace operation does not apply: doc is missing key: /l/1: missing value",
        ),
        (
            json!({}),
            json!({"op": "replace", "path": "/a/b", "value": 1}),
            "replace operation does not apply: doc is missing path: /a/b: missing value",
        ),
        (
            json!({}),
            json!({"op": "replace", "path": "", "value": 1}),
            "replace operation value must be object or array",
        ),
        (
            json!({"a": {}}),
            json!({"op": "move", "from": "/a/b", "path": "/a/c"}),
            "error in move for path: '/a/b': Unable to remove nonexistent key: b: missing value",
        ),
        (
            json!({"l": [1, 2]}),
            json!({"op": "move", "from": "/l/0", "path": "/l/2"}),
            "error in move for path: '/l/2': Unable to access invalid index: 2: invalid index referenced",
        ),
        (
            json!({}),
            json!({"op": "copy", "from": null}),
            "copy operation failed to decode from: missing value",
        ),
        (
            json!({"l": [1]}),
            json!({"op": "copy", "from": "/l/0", "path": "/l/6666666666"}),
            "error while adding value during copy: Unable to access invalid index: 6666666666: invalid index referenced",
        ),
        (
            json!({}),
            json!({"op": "sing", "path": "/a"}),
            "Unexpected kind: sing",
        ),
        (
            json!({}),
            json!({"op": null, "path": ""}),
            "Unexpected kind: unknown",
        ),
        (
            json!({"a": 1}),
            json!({"op": "test", "path": "/a", "value": 2}),
            "testing value /a failed: test failed",
        ),
        (
            json!({}),
            json!({"op": "test", "path": "/a/b", "value": null}),
            "test operation does not apply: is missing path: /a/b: missing value",
        ),
    ] {
        assert_eq!(refusal(&document, &operation), text);
    }
}

#[test]
fn malformed_patches_are_refused() {
    for patch in [json!({}), json!(null), json!("x"), json!([1]), json!([[]])] {
        assert!(
            matches!(json_patch(&json!({}), &patch), Err(PatchError::Malformed(_))),
            "{patch}"
        );
    }
}

#[test]
fn patches_cannot_exhaust_the_server() {
    let operation = json!({"op": "test", "path": "/a"});
    let patch = Value::Array(vec![operation; MAX_OPERATIONS + 1]);
    assert_eq!(
        json_patch(&json!({}), &patch),
        Err(PatchError::TooManyOperations {
            limit: MAX_OPERATIONS,
            got: MAX_OPERATIONS + 1
        })
    );

    let doubling = Value::Array(vec![json!({"op": "copy", "from": "/a", "path": "/a/-"}); 64]);
    let document = json!({"a": ["x".repeat(MAX_COPIED_BYTES / 1000)]});
    let error = json_patch(&document, &doubling).unwrap_err().to_string();
    assert!(error.contains("exceed"), "{error}");

    let deepening = Value::Array(vec![
        json!({"op": "copy", "from": "/a", "path": "/a/b"});
        MAX_DEPTH + 1
    ]);
    let error = json_patch(&json!({"a": {}}), &deepening).unwrap_err().to_string();
    assert!(error.contains("exceed"), "{error}");
}
