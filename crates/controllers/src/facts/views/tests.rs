use serde_json::json;

use super::*;

#[test]
fn all_who_look_at_a_template_share_what_was_read_of_it() {
    let object = json!({
        "metadata": {"name": "vpc", "namespace": "shared", "labels": {marks::SANDBOX: "true"}},
        "spec": {
            "sharedWith": ["team"],
            "template": {"spec": {"forProvider": {"source": "Inline", "module": "a = \"${name}\"\n"}}},
        },
    });
    let view = template(serde_json::from_value(object).unwrap()).unwrap();
    let (one, other) = (view.seen("shared"), view.seen("shared"));
    assert_eq!(one, other);
    assert_eq!(one.shared_with, ["team"]);
    assert_eq!(one.sandbox.as_deref(), Some("true"));
    let (one, other) = (one.spec.unwrap(), other.spec.unwrap());
    assert!(Arc::ptr_eq(&one, &other) && Arc::ptr_eq(&one, &view.template));
}
