//! A rendering as decisions see it: the spec as JSON, and the facts that safety rules ask for.

use capt_api::foreign::{forprovider::ForProvider, workspace::ManagementPolicy};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::location;
use crate::render::{RenderedSpec, Rendering};

/// A rendering.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rendered {
    /// Spec of the Workspace without management policies.
    pub spec: Value,
    /// Hash of it, which an approval names.
    pub hash: String,
    /// Hash of everything in it whose change may replace infrastructure.
    pub guarded_hash: String,
    /// Revision of the template.
    pub revision: String,
    /// The template forbids to destroy.
    pub retain: bool,
    /// The template's own management policies. What the Workspace is allowed never goes beyond them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<Vec<ManagementPolicy>>,
    /// What in the module says where state lives; none if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// References that lead to other namespaces and are not refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<String>,
}

impl From<&Rendering> for Rendered {
    fn from(rendering: &Rendering) -> Self {
        Self {
            spec: serde_json::to_value(&rendering.spec).unwrap_or_default(),
            hash: rendering.hash.clone(),
            guarded_hash: rendering.guarded_hash.clone(),
            revision: rendering.template_revision.clone(),
            retain: rendering.facts.retain,
            policies: rendering.facts.management_policies.clone(),
            backend: location::backend_of_module(for_provider(&rendering.spec)),
            elsewhere: rendering
                .facts
                .foreign
                .iter()
                .map(|reference| format!("{} ({})", reference.namespace, reference.path))
                .collect(),
        }
    }
}

fn for_provider(spec: &RenderedSpec) -> &ForProvider {
    match spec {
        RenderedSpec::Namespaced(spec) => &spec.for_provider,
        RenderedSpec::ClusterScoped(spec) => &spec.for_provider,
    }
}
