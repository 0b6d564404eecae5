//! Structural schemas: what a kind's documents look like, and what becomes of one that does not.

mod node;

use serde_json::Value;

use crate::FieldError;

pub use node::{Additional, Cursor, JsonType, ListType, MapType, Node, NodeId, PatchHints, Schema};

/// Rules about a value that do not change its shape: `enum`, `pattern`, bounds, `format`, value-only `allOf`…, CEL.
#[derive(Debug, Clone, Default)]
pub struct ValueRules {}

impl Schema {
    /// Reads `spec.versions[*].schema.openAPIV3Schema` of a CRD, refusing what is not structural.
    /// `field` is the path of the schema in the CRD, for error messages.
    pub fn from_crd(_schema: &Value, _field: &str) -> Result<Self, Vec<FieldError>> {
        todo!()
    }

    /// Reads one named type of an OpenAPI v3 document's `components.schemas`, following `$ref`.
    #[must_use]
    pub fn from_openapi(_components: &serde_json::Map<String, Value>, _name: &str) -> Self {
        todo!()
    }

    /// Removes fields the schema does not know; returns their paths (`spec.foo`, `spec.items[0].bar`), sorted.
    /// `apiVersion`, `kind` and `metadata` at the root are always known.
    pub fn prune(&self, _object: &mut Value) -> Vec<String> {
        todo!()
    }

    /// Fills in defaults, dropping first a `null` that is not nullable and has a default.
    pub fn apply_defaults(&self, _object: &mut Value) {
        todo!()
    }

    /// Checks a document: types, value rules, list uniqueness, CEL. With `old`, unchanged parts that were
    /// already wrong pass (ratcheting) and transition rules see `oldSelf`.
    #[must_use]
    pub fn validate(&self, _object: &Value, _old: Option<&Value>) -> Vec<FieldError> {
        todo!()
    }
}
