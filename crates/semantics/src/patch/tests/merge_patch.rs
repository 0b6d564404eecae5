use serde_json::json;

use crate::patch::merge_patch;

#[test]
fn patches_merge() {
    for (mut document, patch, expected) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        ),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a": "b"}), json!(["c"]), json!(["c"])),
        (json!({"a": "foo"}), json!(null), json!(null)),
        (json!({"a": "foo"}), json!("bar"), json!("bar")),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
        (
            json!({}),
            json!({"a": {"bb": {"ccc": null}}}),
            json!({"a": {"bb": {}}}),
        ),
        (
            json!({"a": 1}),
            json!({"a": {"b": null, "c": {"d": null, "e": 1}}}),
            json!({"a": {"c": {"e": 1}}}),
        ),
        (
            json!({}),
            json!({"l": [null, {"a": null, "b": 1}]}),
            json!({"l": [null, {"b": 1}]}),
        ),
        (
            json!({"l": [0]}),
            json!({"l": [null, {"a": null, "b": 1}]}),
            json!({"l": [null, {"b": 1}]}),
        ),
        (json!({"a": {"b": 1}}), json!({"a": {}}), json!({"a": {"b": 1}})),
    ] {
        let shown = format!("{patch} on {document}");
        merge_patch(&mut document, &patch);
        assert_eq!(document, expected, "{shown}");
    }
}
