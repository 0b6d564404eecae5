//! The three patch formats that are not server-side apply.

use serde_json::Value;

use crate::schema::Schema;

/// Why a patch could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself is malformed: answered with 400.
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit this document: answered with 422.
    #[error("{0}")]
    Unprocessable(String),
    /// More operations than allowed: answered with 413.
    #[error("the allowed maximum operations in a JSON patch is {limit}, got {got}")]
    TooManyOperations {
        /// The limit.
        limit: usize,
        /// What the patch has.
        got: usize,
    },
}

/// RFC 6902, with the two habits of Kubernetes' implementation: `test` for null passes on a missing path, and
/// `remove` of a missing path is an error.
pub fn json_patch(_document: &Value, _patch: &Value) -> Result<Value, PatchError> {
    todo!()
}

/// RFC 7386.
pub fn merge_patch(_document: &mut Value, _patch: &Value) {
    todo!()
}

/// Strategic merge, by the built-in kind's patch hints.
pub fn strategic_merge(_document: &Value, _patch: &Value, _schema: &Schema) -> Result<Value, PatchError> {
    todo!()
}
