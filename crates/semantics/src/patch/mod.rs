//! The three patch formats that are not server-side apply.
//!
//! All of them keep to [`crate::strict_json::MAX_DEPTH`]: documents and patches that obey it give results that do.

mod json;
mod merge;
mod strategic;
#[cfg(test)]
mod tests;

pub use json::{MAX_COPIED_BYTES, MAX_OPERATIONS, json_patch};
pub use merge::merge_patch;
pub use strategic::strategic_merge;

/// Why a patch could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself is malformed: answered with 400.
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit this document: answered with 422.
    #[error("{0}")]
    Unprocessable(String),
    /// Upstream has no answer of its own for this fault: answered with 500.
    #[error("{0}")]
    Unforeseen(String),
    /// More operations than allowed: answered with 413.
    #[error("The allowed maximum operations in a JSON patch is {limit}, got {got}")]
    TooManyOperations {
        /// The limit.
        limit: usize,
        /// What the patch has.
        got: usize,
    },
}
