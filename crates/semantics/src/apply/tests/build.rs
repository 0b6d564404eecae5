//! Schemas for tests.

use serde_json::Value;

use crate::schema::Schema;

/// Reads a schema as a CRD has it.
pub(super) fn schema(json: &Value) -> Schema {
    Schema::from_crd(json, "schema").unwrap()
}
