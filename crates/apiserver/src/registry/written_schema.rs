//! A custom kind's schema as its definition writes it, read when it is first needed.
//!
//! Reading one compiles patterns and rules, which takes longer than everything else about a definition. A server with
//! many definitions is ready at once this way, and kinds that nobody uses cost nothing.

use std::sync::{Arc, OnceLock};

use apiary_semantics::schema::Schema;
use bytes::Bytes;
use serde_json::Value;

/// The schema, as text and, once used, compiled.
#[derive(Debug, Clone)]
pub struct WrittenSchema {
    text: Bytes,
    compiled: Arc<OnceLock<Arc<Schema>>>,
}

impl WrittenSchema {
    pub(super) fn new(written: &Value) -> Self {
        Self {
            text: written.to_string().into(),
            compiled: Arc::default(),
        }
    }

    /// The document, for OpenAPI.
    #[must_use]
    pub fn document(&self) -> Value {
        // It was a document when it was written.
        serde_json::from_slice(&self.text).unwrap_or_default()
    }

    /// The compiled schema.
    #[must_use]
    pub fn compiled(&self) -> Arc<Schema> {
        self.compiled.get_or_init(|| Arc::new(self.compile())).clone()
    }

    fn compile(&self) -> Schema {
        // Admission has checked it; one that fails here was stored by another version of this program.
        Schema::from_crd(&self.document(), "spec.versions").unwrap_or_else(|errors| {
            let first = errors.first().map(ToString::to_string).unwrap_or_default();
            tracing::error!(first, "a stored schema cannot be read; its kind is not checked");
            Schema::anything()
        })
    }
}
