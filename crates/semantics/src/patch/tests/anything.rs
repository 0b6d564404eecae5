//! No document and no patch makes a patch panic, and some laws hold for all of them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::strategic;
use crate::patch::{json_patch, merge_patch, strategic_merge};

/// Documents over few names, so that patches meet them, and with directives in unlikely places.
fn document() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "a",
        "b",
        "name",
        "keyed",
        "set",
        "atomic",
        "map",
        "child",
        "0",
        "-",
        "$patch",
        "$retainKeys",
        "$setElementOrder/keyed",
        "$setElementOrder/set",
        "$deleteFromPrimitiveList/set",
        "$deleteFromPrimitiveList",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        prop::sample::select(vec!["a", "b", "name", "replace", "delete", "merge"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn operation() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test"]);
    let path = prop::sample::select(vec![
        "",
        "/",
        "/a",
        "/a/b",
        "/a/0",
        "/a/-",
        "/a/-1",
        "/keyed/0/name",
        "a",
        "/~01~1",
    ]);
    (kind, path.clone(), path, document())
        .prop_map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
}

proptest! {
    #[test]
    fn strategic_merge_never_panics(document in document(), patch in document()) {
        let schema = strategic::schema();
        if let Ok(merged) = strategic_merge(&document, &patch, &schema) {
            prop_assert_eq!(strategic_merge(&merged, &json!({}), &schema), Ok(merged));
        }
    }

    #[test]
    fn json_patch_never_panics(document in document(), patch in prop::collection::vec(operation(), 0..6)) {
        let _ = json_patch(&document, &Value::Array(patch));
    }

    #[test]
    fn merging_twice_changes_nothing_more(mut document in document(), patch in document()) {
        merge_patch(&mut document, &patch);
        let once = document.clone();
        merge_patch(&mut document, &patch);
        prop_assert_eq!(document, once);
    }
}
