//! What rendering promises, one file per promise.

mod fields;
mod group;
mod hashes;
mod hcl;
mod json_module;
mod mutated;
mod properties;
mod template;

use std::collections::BTreeMap;

use capt_api::workspacetemplate::WorkspaceTemplateSpec;
use serde_json::{Value, json};

use super::*;

/// A template whose Workspace has this spec.
fn template(spec: &Value) -> WorkspaceTemplateSpec {
    serde_json::from_value(json!({"template": {"spec": spec}})).unwrap()
}

/// A template with this inline module.
fn inline(format: &str, module: &str) -> WorkspaceTemplateSpec {
    template(&json!({"forProvider": {"source": "Inline", "inlineFormat": format, "module": module}}))
}

fn variables(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn input<'a>(
    template: &'a WorkspaceTemplateSpec,
    variables: &'a BTreeMap<String, String>,
) -> RenderInput<'a> {
    RenderInput {
        template,
        variables,
        workspace_name: "demo-vpc",
        namespace: "team",
        group: WorkspaceGroup::Namespaced,
        connection_secret: None,
        foreign_namespaces: ForeignNamespaces::Refuse,
    }
}

fn rendered(template: &WorkspaceTemplateSpec, given: &[(&str, &str)]) -> Value {
    let rendering = render(&input(template, &variables(given))).unwrap();
    serde_json::to_value(rendering.spec).unwrap()
}

/// The rendered text of an inline module.
fn module(format: &str, text: &str, given: &[(&str, &str)]) -> String {
    let spec = rendered(&inline(format, text), given);
    spec["forProvider"]["module"].as_str().unwrap().to_owned()
}

fn problems(template: &WorkspaceTemplateSpec, given: &[(&str, &str)]) -> Vec<String> {
    let problems = render(&input(template, &variables(given))).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}
