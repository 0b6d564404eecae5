//! Server-side apply: who owns which field, and what a new configuration changes.

use serde_json::Value;

use crate::schema::Schema;

/// Who writes, through what, and when.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// The field manager's name.
    pub manager: &'a str,
    /// The version the request was made in.
    pub api_version: &'a str,
    /// `""` for the object itself, else `status`, `scale`…
    pub subresource: &'a str,
    /// RFC 3339, second precision; stamped on entries that change.
    pub now: &'a str,
}

/// A field that another manager owns with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager, as upstream prints it: `"name"`, or `"name" with subresource "status" using v1`.
    pub manager: String,
    /// The field, as `.spec.replicas`.
    pub field: String,
}

/// Why an apply was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ApplyError {
    /// Other managers own some of the fields.
    #[error("Apply failed with {} conflict{}", .0.len(), if .0.len() == 1 { "" } else { "s" })]
    Conflicts(Vec<Conflict>),
    /// The configuration does not fit the schema (a map list without its key, duplicates in a set…).
    #[error("{0}")]
    Invalid(String),
}

/// Applies `config` on `live` (or on nothing) and returns the new object with its `managedFields`.
/// `reset` names top-level fields this endpoint must ignore (`status` on the main one; all but `status` on it).
pub fn apply(
    _schema: &Schema,
    _live: Option<&Value>,
    _config: &Value,
    _writer: Writer<'_>,
    _force: bool,
    _reset: &[&str],
) -> Result<Value, ApplyError> {
    todo!()
}

/// Records who changed what by a write that was no apply: `new` (already merged by the caller) replaces `live`.
/// Rewrites `metadata.managedFields` of `new`.
pub fn track_update(_schema: &Schema, _live: Option<&Value>, _new: &mut Value, _writer: Writer<'_>, _reset: &[&str]) {
    todo!()
}
