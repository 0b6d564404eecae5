//! Names, labels and annotations: what Kubernetes accepts, in its words.

use serde_json::Value;

use crate::FieldError;

/// How a kind's object names are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// Lower-case letters, digits, `-` and `.`; at most 253.
    DnsSubdomain,
    /// Lower-case letters, digits and `-`; at most 63.
    DnsLabel,
    /// Anything that fits one path segment (RBAC kinds).
    PathSegment,
}

/// Checks a name; each text is what upstream says after `Invalid value: "…": `.
#[must_use]
pub fn name_errors(_rule: NameRule, _name: &str) -> Vec<String> {
    todo!()
}

/// Checks `metadata.{name,generateName,labels,annotations,finalizers,ownerReferences,managedFields}` of a document.
#[must_use]
pub fn metadata_errors(_rule: NameRule, _object: &Value) -> Vec<FieldError> {
    todo!()
}
