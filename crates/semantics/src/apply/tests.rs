//! Whole applies and updates.

mod build;
mod recorded;

use serde_json::{Value, json};

use super::{Writer, apply, track_update};
use crate::schema::Schema;

fn writer(manager: &str) -> Writer<'_> {
    Writer {
        manager,
        api_version: "example.com/v1",
        subresource: "",
        now: "2026-01-02T03:04:05Z",
    }
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "uid": "u"}, "spec": spec})
}

#[test]
fn a_create_owns_everything_but_the_identity() {
    let mut new = object(&json!({"size": 1, "tags": ["x"]}));
    track_update(&Schema::anything(), None, &mut new, writer("me"), &["status"]);
    assert_eq!(
        new["metadata"]["managedFields"],
        json!([{
            "manager": "me", "operation": "Update", "apiVersion": "example.com/v1", "time": "2026-01-02T03:04:05Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {".": {}, "f:size": {}, "f:tags": {}}},
        }])
    );
}

#[test]
fn an_apply_prunes_what_it_no_longer_has() {
    let schema = Schema::anything();
    let one = apply(
        &schema,
        None,
        &object(&json!({"a": 1, "b": 2})),
        writer("me"),
        false,
        &[],
    )
    .unwrap();
    let two = apply(
        &schema,
        Some(&one),
        &object(&json!({"a": 1})),
        writer("me"),
        false,
        &[],
    )
    .unwrap();
    assert_eq!(two["spec"], json!({"a": 1}));
}
