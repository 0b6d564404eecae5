//! The facts about built-in kinds: names, scope, schema. Data, not code: the server has no handler per kind.
//!
//! The names are in [`kinds`](all), the schemas in the crate's `data` folder, and they are inflated only when asked
//! for. What a kind *does* (a namespace's deletion, a CRD's registration) is never decided here.

mod events;
mod kinds;
mod openapi;
mod selectable;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::naming::NameRule;
use crate::schema::Schema;

pub use events::{event_from_core, event_to_core};
pub use kinds::{all, reviews};
pub use selectable::selectable_value;

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
    /// Field selectors beyond `metadata.name` and `metadata.namespace`, by label. Most labels are dotted paths;
    /// [`selectable_value`] knows the others.
    pub selectable: &'static [&'static str],
    /// Name of its type in the OpenAPI document (`io.k8s.api.core.v1.ConfigMap`).
    pub type_name: &'static str,
}

impl Builtin {
    /// `v1` or `apps/v1`, as it stands in a document.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// The schema of one, read on first use and kept.
#[must_use]
pub fn schema(builtin: &Builtin) -> Arc<Schema> {
    static SCHEMAS: OnceLock<BTreeMap<&'static str, OnceLock<Arc<Schema>>>> = OnceLock::new();
    let schemas = SCHEMAS.get_or_init(|| {
        all()
            .iter()
            .chain(reviews())
            .map(|kind| (kind.type_name, OnceLock::new()))
            .collect()
    });
    let read = || {
        let components = openapi::reachable(builtin.group, builtin.version, builtin.type_name);
        Arc::new(Schema::from_openapi(
            &components,
            builtin.type_name,
            crate::proto::omitted_fields,
        ))
    };
    match schemas.get(builtin.type_name) {
        Some(cell) => cell.get_or_init(read).clone(),
        None => read(),
    }
}

/// The `components.schemas` of a group version's OpenAPI v3 document, with all that they refer to; empty for a group
/// version without built-in kinds.
#[must_use]
pub fn openapi_components(group: &str, version: &str) -> serde_json::Map<String, Value> {
    openapi::components(group, version)
}

#[cfg(test)]
mod tests;
