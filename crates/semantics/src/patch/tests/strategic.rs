use serde_json::{Value, json};

use crate::patch::{PatchError, strategic_merge};
use crate::schema::{Additional, JsonType, Node, NodeId, PatchHints, Schema};

/// A schema whose root has lists and maps of all strategies, and whose keyed items look like the root again.
pub(super) fn schema() -> Schema {
    const ROOT: NodeId = 0;
    const TEXT: NodeId = 1;
    const NUMBER: NodeId = 2;
    let mut nodes = vec![
        object(),
        Node {
            json_type: Some(JsonType::String),
            ..Node::default()
        },
        Node {
            json_type: Some(JsonType::Integer),
            ..Node::default()
        },
    ];
    let keyed = PatchHints {
        merge: true,
        merge_key: Some("name".to_owned()),
        retain_keys: false,
    };
    let fields = [
        ("keyed", list(ROOT, keyed.clone())),
        (
            "keyedRetaining",
            list(
                ROOT,
                PatchHints {
                    retain_keys: true,
                    ..keyed
                },
            ),
        ),
        ("atomic", list(ROOT, PatchHints::default())),
        (
            "set",
            list(
                NUMBER,
                PatchHints {
                    merge: true,
                    ..PatchHints::default()
                },
            ),
        ),
        ("atomicSet", list(NUMBER, PatchHints::default())),
        (
            "keyless",
            list(
                ROOT,
                PatchHints {
                    merge: true,
                    ..PatchHints::default()
                },
            ),
        ),
        (
            "map",
            Node {
                additional: Additional::Node(TEXT),
                ..object()
            },
        ),
    ];
    for (name, node) in fields {
        let id = NodeId::try_from(nodes.len()).unwrap();
        nodes.push(node);
        nodes[0].properties.insert(name.to_owned(), id);
    }
    for name in ["name", "value", "other"] {
        nodes[0].properties.insert(name.to_owned(), TEXT);
    }
    for name in ["child", "retaining"] {
        nodes[0].properties.insert(name.to_owned(), ROOT);
    }
    Schema {
        nodes,
        root: ROOT,
        typed: true,
    }
}

fn object() -> Node {
    Node {
        json_type: Some(JsonType::Object),
        ..Node::default()
    }
}

fn list(items: NodeId, patch: PatchHints) -> Node {
    Node {
        json_type: Some(JsonType::Array),
        items: Some(items),
        patch,
        ..Node::default()
    }
}

fn check(cases: impl IntoIterator<Item = (Value, Value, Value)>) {
    let schema = schema();
    for (document, patch, expected) in cases {
        assert_eq!(
            strategic_merge(&document, &patch, &schema),
            Ok(expected),
            "{patch} on {document}"
        );
    }
}

/// A keyed list with items of these names.
fn names(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name})).collect()
}

#[test]
fn objects_merge_and_lists_follow_their_strategy() {
    check([
        (json!({}), json!({"name": "a"}), json!({"name": "a"})),
        (
            json!({"name": "a", "value": "b"}),
            json!({"value": null}),
            json!({"name": "a"}),
        ),
        (
            json!({"name": "a"}),
            json!({"value": null, "child": {"x": null}}),
            json!({"name": "a", "child": {}}),
        ),
        (
            json!({"map": {"a": "1", "b": "2"}}),
            json!({"map": {"b": "3", "a": null}}),
            json!({"map": {"b": "3"}}),
        ),
        (json!({"map": {"a": "1"}}), json!({"map": 1}), json!({"map": 1})),
        (
            json!({"child": {"set": [1]}}),
            json!({"child": {"set": [2]}}),
            json!({"child": {"set": [2, 1]}}),
        ),
        (
            json!({"set": [1, 2]}),
            json!({"set": [2, 3]}),
            json!({"set": [1, 2, 3]}),
        ),
        (json!({"set": [1, 2]}), json!({"set": []}), json!({"set": [1, 2]})),
        (json!({"set": []}), json!({"set": []}), json!({"set": []})),
        (
            json!({"atomicSet": [1, 2]}),
            json!({"atomicSet": [2, 3]}),
            json!({"atomicSet": [2, 3]}),
        ),
        (
            json!({"atomic": [{"name": "a", "value": "x"}]}),
            json!({"atomic": [{"name": "a", "other": null}]}),
            json!({"atomic": [{"name": "a"}]}),
        ),
        (
            json!({"keyed": [{"name": "a", "value": "x"}, {"name": "b"}]}),
            json!({"keyed": [{"name": "a", "other": "y"}, {"name": "c", "value": null}]}),
            json!({"keyed": [{"name": "a", "value": "x", "other": "y"}, {"name": "c"}, {"name": "b"}]}),
        ),
        (
            json!({"unknown": [{"a": 1}]}),
            json!({"unknown": [{"b": 1}]}),
            json!({"unknown": [{"b": 1}]}),
        ),
        (
            json!({"unknown": {"a": 1}}),
            json!({"unknown": {"b": 1}}),
            json!({"unknown": {"a": 1, "b": 1}}),
        ),
        (
            json!({"keyed": [{"name": "a", "keyed": [{"name": "x"}]}]}),
            json!({"keyed": [{"name": "a", "keyed": [{"name": "y"}], "set": [1]}]}),
            json!({"keyed": [{"name": "a", "keyed": [{"name": "y"}, {"name": "x"}], "set": [1]}]}),
        ),
    ]);
}

#[test]
fn directives_replace_and_delete() {
    check([
        (json!({"name": "a"}), json!({"$patch": "replace"}), json!({})),
        (
            json!({"name": "a"}),
            json!({"$patch": "replace", "other": "b", "value": null}),
            json!({"other": "b"}),
        ),
        (json!({"name": "a"}), json!({"$patch": "delete"}), json!({})),
        (
            json!({"name": "a"}),
            json!({"$patch": "merge", "value": "b"}),
            json!({"name": "a", "value": "b"}),
        ),
        (
            json!({"map": {"a": "1"}}),
            json!({"map": {"$patch": "delete"}}),
            json!({"map": {}}),
        ),
        (
            json!({"map": {"a": "1"}}),
            json!({"map": {"$patch": "replace", "b": "2"}}),
            json!({"map": {"b": "2"}}),
        ),
        // A directive where nothing is has nothing to say.
        (
            json!({}),
            json!({"map": {"$patch": "replace", "b": "2"}}),
            json!({}),
        ),
        (
            json!({}),
            json!({"keyed": [{"name": "a"}, {"name": "b", "$patch": "delete"}]}),
            json!({"keyed": names(&["a"])}),
        ),
        (
            json!({"keyed": names(&["a", "b"])}),
            json!({"keyed": [{"$patch": "replace"}]}),
            json!({"keyed": []}),
        ),
        (
            json!({"keyed": names(&["a", "b"])}),
            json!({"keyed": [{"name": "c"}, {"$patch": "replace"}, {"name": "a"}]}),
            json!({"keyed": names(&["c", "a"])}),
        ),
        (
            json!({"keyed": names(&["a", "b", "a", "c"])}),
            json!({"keyed": [{"name": "a", "$patch": "delete"}, {"name": "x", "$patch": "delete"}]}),
            json!({"keyed": names(&["b", "c"])}),
        ),
        (
            json!({"keyed": [{"name": "a", "child": {"value": "x"}}]}),
            json!({"keyed": [{"name": "a", "child": {"$patch": "replace", "other": "y"}}]}),
            json!({"keyed": [{"name": "a", "child": {"other": "y"}}]}),
        ),
    ]);
}

#[test]
fn keys_not_retained_go() {
    check([
        (
            json!({"retaining": {"name": "a", "value": "b"}}),
            json!({"retaining": {"$retainKeys": ["other", "name"], "other": "c"}}),
            json!({"retaining": {"name": "a", "other": "c"}}),
        ),
        (
            json!({"retaining": {"name": "a", "value": "b"}}),
            json!({"retaining": {"$retainKeys": ["name"], "value": null}}),
            json!({"retaining": {"name": "a"}}),
        ),
        (
            json!({"retaining": {"name": "a"}}),
            json!({"retaining": {"$retainKeys": ["name", "value"], "value": "b"}}),
            json!({"retaining": {"name": "a", "value": "b"}}),
        ),
        (
            json!({"keyedRetaining": [{"name": "a", "value": "b"}]}),
            json!({"keyedRetaining": [{"name": "a", "$retainKeys": ["name", "other"], "other": "c"}]}),
            json!({"keyedRetaining": [{"name": "a", "other": "c"}]}),
        ),
        // Where the object is new, the directive goes and the members stay.
        (
            json!({}),
            json!({"retaining": {"$retainKeys": ["name"], "name": "a"}}),
            json!({"retaining": {"name": "a"}}),
        ),
        (
            json!({"set": [1, 2, 3], "value": "x"}),
            json!({"$retainKeys": ["set"], "$deleteFromPrimitiveList/set": [2], "$setElementOrder/set": [3, 1]}),
            json!({"set": [3, 1]}),
        ),
    ]);
}

#[test]
fn scalars_are_deleted_by_the_parallel_list() {
    check([
        (
            json!({"set": [1, 2, 3, 2]}),
            json!({"$deleteFromPrimitiveList/set": [2, 9]}),
            json!({"set": [1, 3]}),
        ),
        (
            json!({"set": [1, 2]}),
            json!({"$deleteFromPrimitiveList/set": [1], "set": [3]}),
            json!({"set": [3, 2]}),
        ),
        (json!({}), json!({"$deleteFromPrimitiveList/set": [1]}), json!({})),
        (
            json!({"atomicSet": [1, 2]}),
            json!({"$deleteFromPrimitiveList/atomicSet": [1]}),
            json!({"atomicSet": [2]}),
        ),
        (
            json!({"set": [1, 2, 3]}),
            json!({"$deleteFromPrimitiveList/set": [2], "$setElementOrder/set": [4, 3, 1], "set": [4]}),
            json!({"set": [4, 3, 1]}),
        ),
    ]);
}

#[test]
fn lists_are_ordered_as_told() {
    let keyed = |list: &[&str]| json!({"keyed": names(list)});
    check([
        // Without an order, what the patch names stands in its order and the rest keeps its place.
        (
            keyed(&["a", "b", "c"]),
            keyed(&["c", "a"]),
            keyed(&["b", "c", "a"]),
        ),
        (
            json!({"set": [1, 2, 3]}),
            json!({"set": [3, 1]}),
            json!({"set": [2, 3, 1]}),
        ),
        (
            keyed(&["a", "b"]),
            json!({"$setElementOrder/keyed": names(&["b", "a"])}),
            keyed(&["b", "a"]),
        ),
        (
            keyed(&["1", "2", "3"]),
            json!({"$setElementOrder/keyed": names(&["4", "2", "1"]), "keyed": names(&["4"])}),
            keyed(&["4", "2", "1", "3"]),
        ),
        // An item only the server knows stays in front of those it preceded.
        (
            keyed(&["1", "server", "2", "3"]),
            json!({"$setElementOrder/keyed": names(&["3", "1", "2"])}),
            keyed(&["server", "3", "1", "2"]),
        ),
        (
            keyed(&["1", "server", "2"]),
            json!({
                "$setElementOrder/keyed": names(&["1", "3"]),
                "keyed": [{"name": "3", "value": "x"}, {"name": "2", "$patch": "delete"}],
            }),
            json!({"keyed": [{"name": "1"}, {"name": "3", "value": "x"}, {"name": "server"}]}),
        ),
        (
            json!({"set": [1, 2, 3]}),
            json!({"$setElementOrder/set": [3, 4, 1], "set": [4]}),
            json!({"set": [2, 3, 4, 1]}),
        ),
        (
            json!({}),
            json!({"$setElementOrder/set": [2, 1], "set": [2]}),
            json!({"set": [2]}),
        ),
        (json!({}), json!({"$setElementOrder/set": [2, 1]}), json!({})),
        (
            json!({"set": []}),
            json!({"$setElementOrder/set": []}),
            json!({"set": []}),
        ),
        (
            json!({"keyed": [{"name": "a", "keyed": names(&["x", "y"])}]}),
            json!({
                "$setElementOrder/keyed": names(&["a"]),
                "keyed": [{"name": "a", "$setElementOrder/keyed": names(&["y", "x"])}],
            }),
            json!({"keyed": [{"name": "a", "keyed": names(&["y", "x"])}]}),
        ),
    ]);
}

#[test]
fn bad_patches_are_refused() {
    let schema = schema();
    let refuse = |document: Value, patch: Value| match strategic_merge(&document, &patch, &schema) {
        Err(error) => error,
        Ok(result) => panic!("{patch} on {document} gave {result}"),
    };
    for (document, patch) in [
        (json!({}), json!([])),
        (json!(1), json!({})),
        (json!({"map": {}}), json!({"map": {"$retainKeys": 1}})),
        (
            json!({"map": {}}),
            json!({"map": {"$retainKeys": ["a"], "b": "c"}}),
        ),
        (json!({"set": [1]}), json!({"$setElementOrder": [1]})),
        (json!({"set": [1]}), json!({"$setElementOrder/set": 1})),
        (json!({"set": [1]}), json!({"$deleteFromPrimitiveList": [1]})),
    ] {
        let error = refuse(document, patch.clone());
        assert!(matches!(error, PatchError::Malformed(_)), "{patch}: {error:?}");
    }
    for (document, patch, text) in [
        (
            json!({"set": [1]}),
            json!({"$setElementOrder/set": [1, 2], "set": [3]}),
            "The order in patch list:\n[3]\n doesn't match $setElementOrder list:\n[1 2]\n",
        ),
        (
            json!({"set": [1]}),
            json!({"$setElementOrder/set": [1, 2], "set": [2, 1]}),
            "The order in patch list:\n[2 1]\n doesn't match $setElementOrder list:\n[1 2]\n",
        ),
        (
            json!({"map": {}}),
            json!({"map": {"$patch": "sing"}}),
            "unknown patch type: sing in map: map[$patch:sing]",
        ),
        (
            json!({"keyed": names(&["a"])}),
            json!({"keyed": [{"value": "x"}]}),
            "map: map[value:x] does not contain declared merge key: name",
        ),
        (
            json!({"keyed": names(&["a"])}),
            json!({"keyed": [{"$patch": "delete"}]}),
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            json!({"keyed": names(&["a"])}),
            json!({"keyed": [{"$patch": "merge", "name": "a"}]}),
            "merging lists cannot yet be specified in the patch",
        ),
        (
            json!({"keyless": names(&["a"])}),
            json!({"keyless": names(&["b"])}),
            "cannot merge lists without merge key",
        ),
        (
            json!({"set": [1]}),
            json!({"set": ["a"]}),
            "list element types are not identical",
        ),
    ] {
        assert_eq!(refuse(document, patch), PatchError::Unforeseen(text.to_owned()));
    }
    assert_eq!(
        refuse(json!({"set": [[1]]}), json!({"set": [[2]]})),
        PatchError::Unprocessable("lists of lists are not supported".to_owned())
    );
}
