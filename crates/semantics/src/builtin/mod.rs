//! The facts about built-in kinds: names, scope, schema. Data, not code: the server has no handler per kind.

use std::sync::Arc;

use serde_json::Value;

use crate::naming::NameRule;
use crate::schema::Schema;

/// One built-in resource.
#[derive(Debug)]
pub struct Builtin {
    /// `""` for the core group.
    pub group: &'static str,
    /// `v1`
    pub version: &'static str,
    /// `configmaps`
    pub plural: &'static str,
    /// `configmap`
    pub singular: &'static str,
    /// `ConfigMap`
    pub kind: &'static str,
    /// Short names.
    pub short_names: &'static [&'static str],
    /// Categories (`all`).
    pub categories: &'static [&'static str],
    /// Namespaced or cluster-wide.
    pub namespaced: bool,
    /// Whether `/status` exists.
    pub has_status: bool,
    /// Whether `metadata.generation` is kept.
    pub has_generation: bool,
    /// How names are checked.
    pub name_rule: NameRule,
    /// Field selectors beyond `metadata.name` and `metadata.namespace`, as dotted paths.
    pub selectable: &'static [&'static str],
    /// Name of its type in the OpenAPI document (`io.k8s.api.core.v1.ConfigMap`).
    pub type_name: &'static str,
}

/// All built-in resources that are stored (reviews are not).
#[must_use]
pub fn all() -> &'static [Builtin] {
    todo!()
}

/// The schema of one.
#[must_use]
pub fn schema(_builtin: &Builtin) -> Arc<Schema> {
    todo!()
}

/// The `components.schemas` of a group version's OpenAPI v3 document, with all that they refer to.
#[must_use]
pub fn openapi_components(_group: &str, _version: &str) -> serde_json::Map<String, Value> {
    todo!()
}
