//! Where Terraform state lives is decided once.
//!
//! A Workspace that is pointed at another place finds no state there and makes everything a second time. So a rendering
//! that would move it is refused, and a provider configuration that was edited so stops the Workspace.

use capt_api::{
    foreign::{
        forprovider::{FileFormat, ForProvider, ModuleSource},
        providerconfig::TerraformConfig,
    },
    marks,
};
use hcl_edit::structure::{Body, Structure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    rendered::Rendered,
    snapshot::{Snapshot, WorkspaceSeen},
};
use crate::{names, render::WorkspaceGroup};

/// Where the state of a Workspace lives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateLocation {
    /// The API group of the Workspace.
    pub group: String,
    /// The Terraform workspace.
    pub external_name: String,
    /// Kind and name of the provider configuration.
    pub provider_config: String,
    /// What the module says about its backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// What the provider configuration says about the backend, if that was known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_backend: Option<String>,
}

/// Whether state would move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// It stays where it is.
    No,
    /// The rendering would move it: the last one stays.
    ByRendering(String),
    /// The provider configuration was edited: nothing may run.
    ByProviderConfig(String),
}

/// The location that a rendering leads to.
pub(super) fn of(
    snapshot: &Snapshot,
    rendered: &Rendered,
    group: WorkspaceGroup,
    external_name: String,
) -> StateLocation {
    StateLocation {
        group: group.name().to_owned(),
        external_name,
        provider_config: provider_config(&rendered.spec, group),
        backend: rendered.backend.clone(),
        config_backend: snapshot
            .readable_config()
            .and_then(|config| config.backend.clone()),
    }
}

/// Compares where state lives with where a rendering would look for it.
pub(super) fn moved(snapshot: &Snapshot, kept: &StateLocation, wanted: Option<&StateLocation>) -> Moved {
    let config_backend = snapshot
        .readable_config()
        .and_then(|config| config.backend.as_ref());
    let is_same_config = wanted.is_none_or(|wanted| wanted.provider_config == kept.provider_config);
    // A configuration that is not there cannot lead anywhere, and one that was never seen cannot be compared.
    if is_same_config
        && snapshot.readable_config().is_some()
        && kept.config_backend.is_some()
        && kept.config_backend.as_ref() != config_backend
    {
        return Moved::ByProviderConfig(format!(
            "The backend in the provider configuration {} was changed, but the state is in the old place. Undo \
             that, or move the state by hand and delete this object's Secret {}",
            kept.provider_config,
            names::last_rendering(snapshot.wta.metadata.name.as_deref().unwrap_or_default()).parted(),
        ));
    }
    let Some(wanted) = wanted else { return Moved::No };
    let mut changes = Vec::new();
    for (what, old, new) in [
        (
            "provider configuration",
            &kept.provider_config,
            &wanted.provider_config,
        ),
        ("API group", &kept.group, &wanted.group),
        ("external name", &kept.external_name, &wanted.external_name),
    ] {
        if old != new && !old.is_empty() {
            changes.push(format!("{what} from {old} to {new}"));
        }
    }
    if kept.backend != wanted.backend {
        changes.push("backend of the module".to_owned());
    }
    if changes.is_empty() {
        Moved::No
    } else {
        Moved::ByRendering(format!(
            "State exists, so that its place cannot be changed: {}. Undo that, or make another \
             WorkspaceTemplateApply",
            changes.join(", ")
        ))
    }
}

/// The name that state is kept under: what the Workspace has, what is remembered, or a new one.
pub(super) fn external_name(snapshot: &Snapshot, workspace: Option<&WorkspaceSeen>, name: &str) -> String {
    let kept = snapshot
        .kept
        .as_ref()
        .and_then(|seen| seen.kept.as_ref())
        .map(|kept| kept.location.external_name.clone())
        .filter(|name| !name.is_empty());
    kept.or_else(|| workspace.map(present_external_name))
        .unwrap_or_else(|| {
            let namespace = snapshot.wta.metadata.namespace.as_deref().unwrap_or_default();
            names::external_name(namespace, name)
        })
}

/// provider-terraform takes the object's name where it finds no other.
fn present_external_name(workspace: &WorkspaceSeen) -> String {
    let name = workspace.annotations.get(capt_api::foreign::marks::EXTERNAL_NAME);
    name.unwrap_or(&workspace.name).clone()
}

/// Kind and name of the provider configuration, with what is meant where they are left out.
fn provider_config(spec: &Value, group: WorkspaceGroup) -> String {
    let reference = spec.get("providerConfigRef");
    let field = |name| {
        reference
            .and_then(|reference| reference.get(name))
            .and_then(Value::as_str)
    };
    let name = field("name").unwrap_or("default");
    match group {
        WorkspaceGroup::Namespaced => {
            let kind = field("kind").unwrap_or("ClusterProviderConfig");
            format!("{kind}/{name}")
        }
        WorkspaceGroup::ClusterScoped => name.to_owned(),
    }
}

/// What is known about where a Workspace that was made by somebody else keeps its state.
pub(super) fn of_workspace(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> StateLocation {
    let for_provider = workspace
        .spec
        .get("forProvider")
        .and_then(|fields| serde_json::from_value::<ForProvider>(fields.clone()).ok());
    let rendered = Rendered {
        spec: workspace.spec.clone(),
        backend: for_provider.as_ref().and_then(backend_of_module),
        ..Rendered::default()
    };
    let group = workspace.group.unwrap_or(WorkspaceGroup::Namespaced);
    of(snapshot, &rendered, group, present_external_name(workspace))
}

/// The part of an inline module that says where its state lives: its backend, or nothing.
#[must_use]
pub fn backend_of_module(for_provider: &ForProvider) -> Option<String> {
    match (for_provider.source, for_provider.inline_format) {
        (ModuleSource::Inline, Some(FileFormat::JSON)) => backend_of_json(&for_provider.module),
        (ModuleSource::Inline, _) => backend_of_hcl(&for_provider.module),
        _ => None,
    }
}

/// The part of a provider configuration that says where state lives: its backend with the settings for it, or nothing.
#[must_use]
pub fn backend_of_config(config: &TerraformConfig) -> Option<String> {
    let backend = config.configuration.as_deref().and_then(backend_of_hcl);
    let settings = config
        .backend_file
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty());
    match (backend, settings) {
        (Some(backend), Some(settings)) => Some(format!("{backend}\n{settings}")),
        (Some(backend), None) => Some(backend),
        // Settings alone belong to a backend that the module names.
        (None, settings) => settings.map(str::to_owned),
    }
}

fn backend_of_hcl(text: &str) -> Option<String> {
    // Names of blocks are written as they are, so that most texts need not be parsed.
    if !["backend", "cloud"].iter().any(|name| text.contains(name)) {
        return None;
    }
    let body: Body = text.parse().ok()?;
    let mut found: Vec<String> = blocks(&body, "terraform")
        .flat_map(|terraform| {
            blocks(&terraform.body, "backend")
                .chain(blocks(&terraform.body, "cloud"))
                .map(|block| words(&Structure::Block(block.clone())))
        })
        .collect();
    found.sort();
    (!found.is_empty()).then(|| found.join("\n"))
}

fn blocks<'a>(body: &'a Body, name: &'a str) -> impl Iterator<Item = &'a hcl_edit::structure::Block> {
    body.blocks().filter(move |block| block.ident.as_str() == name)
}

/// The text of a block with its white space evened out, so that reformatting it moves nothing.
fn words(block: &Structure) -> String {
    let mut body = Body::new();
    body.push(block.clone());
    body.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn backend_of_json(text: &str) -> Option<String> {
    let module: Value = serde_json::from_str(text).ok()?;
    let terraform = module.get("terraform")?;
    let parts: Vec<&Value> = match terraform {
        Value::Array(parts) => parts.iter().collect(),
        other => vec![other],
    };
    let found: Vec<String> = parts
        .iter()
        .flat_map(|part| ["backend", "cloud"].into_iter().filter_map(|key| part.get(key)))
        .map(Value::to_string)
        .collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

/// The namespace of the Secrets that hold the state, if that is not the object's own: what is moved to another management
/// cluster does not take them along. A backend that names its API server itself is reached from there too.
pub(super) fn other_namespace(snapshot: &Snapshot, workspace: Option<&WorkspaceSeen>) -> Option<String> {
    let own = snapshot.wta.metadata.namespace.as_deref().unwrap_or_default();
    let home = workspace.and_then(|workspace| workspace.annotations.get(marks::STATE_HOME));
    let in_secrets = match home {
        Some(home) => home
            .strip_prefix("secret/")
            .and_then(|place| place.split_once('/'))
            .map(|(namespace, _)| namespace.to_owned()),
        None => {
            let kept = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref());
            let places = kept.map(|kept| &kept.location).into_iter();
            let texts = places
                .flat_map(|place| [&place.backend, &place.config_backend])
                .flatten()
                .map(String::as_str);
            let config = snapshot
                .readable_config()
                .and_then(|config| config.backend.as_deref());
            namespace_of_backend(&texts.chain(config).collect::<Vec<_>>().join("\n"))
        }
    };
    in_secrets.filter(|namespace| namespace != own)
}

/// The namespace of a `kubernetes` backend that uses the API server that it runs on.
fn namespace_of_backend(text: &str) -> Option<String> {
    const ELSEWHERE: [&str; 4] = ["host", "config_path", "config_paths", "config_context"];
    let tokens: Vec<&str> = text
        .split(|letter: char| letter.is_whitespace() || "\"{}:=,[]".contains(letter))
        .filter(|token| !token.is_empty())
        .collect();
    let is_named = tokens.first() == Some(&"kubernetes")
        || tokens.windows(2).any(|two| two == ["backend", "kubernetes"]);
    if !is_named || tokens.iter().any(|token| ELSEWHERE.contains(token)) {
        return None;
    }
    let place = tokens.iter().position(|token| *token == "namespace");
    let named = place.and_then(|place| tokens.get(place + 1));
    Some(named.map_or("default", |name| *name).to_owned())
}

/// Whether the object ever had a Workspace, so that there may be state.
pub(super) fn may_have_state(snapshot: &Snapshot, workspace: Option<&WorkspaceSeen>) -> bool {
    let annotations = snapshot.wta.metadata.annotations.as_ref();
    workspace.is_some() || annotations.is_some_and(|marked| marked.contains_key(marks::WORKSPACE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_of_a_backend_is_read_from_whatever_form_it_has() {
        for (text, expected) in [
            (
                r#"backend "kubernetes" { secret_suffix = "s" namespace = "tf" }"#,
                Some("tf"),
            ),
            (
                r#"{"kubernetes":{"secret_suffix":"s","namespace":"tf"}}"#,
                Some("tf"),
            ),
            (
                r#"backend "kubernetes" { in_cluster_config = true }"#,
                Some("default"),
            ),
            ("backend \"kubernetes\" { }\nnamespace = \"tf\"", Some("tf")),
            (
                r#"backend "kubernetes" { namespace = "tf" config_path = "/x" }"#,
                None,
            ),
            (
                r#"backend "s3" { bucket = "namespace" key = "kubernetes" }"#,
                None,
            ),
            ("", None),
        ] {
            assert_eq!(namespace_of_backend(text).as_deref(), expected, "{text}");
        }
    }
}
