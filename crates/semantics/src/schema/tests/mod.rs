mod crd;
mod openapi;
mod property;
mod shape;
mod upstream;

use serde_json::{Value, json};

use super::Schema;

/// A CRD schema whose `spec` is the given one.
pub(super) fn spec(schema: &Value) -> Schema {
    let whole = json!({"type": "object", "properties": {"spec": schema}});
    Schema::from_crd(&whole, "schema").unwrap_or_else(|errors| panic!("{errors:?}"))
}

#[test]
fn schemas_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Schema>();
}
