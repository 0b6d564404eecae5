//! Conflicts, and how they are told to people.

use super::path::PathElement;

/// A field that another manager owns with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager: `"name"` of one that applies, `"name" using v1` of one that updates, with
    /// ` with subresource "status"` after the name if it wrote through one.
    pub manager: String,
    /// The field, as `.spec.replicas`.
    pub field: String,
}

impl Conflict {
    /// The message of the `FieldManagerConflict` cause.
    #[must_use]
    pub fn cause_message(&self) -> String {
        format!("conflict with {}", self.manager)
    }
}

/// A conflict with its path, for those who have to decide about it.
pub(super) struct ConflictAt {
    /// What is told.
    pub(super) conflict: Conflict,
    /// Where it is.
    pub(super) path: Vec<PathElement>,
}

/// Why an apply was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ApplyError {
    /// Other managers own some of the fields. Sorted by manager. Kubernetes answers 409.
    #[error("{}", conflict_message(.0))]
    Conflicts(Vec<Conflict>),
    /// The request is wrong whatever the schema says (it brings `managedFields`, or another version). Kubernetes
    /// answers 400.
    #[error("{0}")]
    Invalid(String),
    /// The configuration does not fit the schema: undeclared fields, wrong types, a map list without its key,
    /// duplicates in a set. Kubernetes answers 500, without a reason.
    #[error("failed to create typed patch object ({object}): {problem}")]
    NotTyped {
        /// `namespace/name; group/version, Kind=kind`.
        object: String,
        /// What is wrong, with paths.
        problem: String,
    },
    /// The live object cannot be merged: its `managedFields` are unreadable or its lists have items without keys.
    #[error("{0}")]
    BrokenLive(String),
}

impl ApplyError {
    /// The message of the answer's `Status`.
    #[must_use]
    pub fn status_message(&self) -> String {
        self.to_string()
    }
}

fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            only.manager, only.field
        );
    }
    let mut lines = Vec::new();
    let mut group = None;
    for conflict in conflicts {
        if group != Some(&conflict.manager) {
            lines.push(format!("conflicts with {}:", conflict.manager));
            group = Some(&conflict.manager);
        }
        lines.push(format!("- {}", conflict.field));
    }
    format!(
        "Apply failed with {} conflicts: {}",
        conflicts.len(),
        lines.join("\n")
    )
}
