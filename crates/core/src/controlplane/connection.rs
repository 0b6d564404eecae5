//! The Secret that the facts about an EKS cluster are in, and the outputs of its module, wherever they stand.

use capt_api::{captcontrolplane::CAPTControlPlaneSpec, workspacetemplate::WorkspaceTemplateSpec};
use serde_json::Value;

use super::snapshot::{SecretSeen, Snapshot};
use crate::{
    names,
    owned::{OutputProblem, OwnedSeen},
};

/// The name that the first documents used for every cluster. It is read only if no other is there.
pub const FIXED_NAME: &str = "eks-connection";

/// The name that a WorkspaceTemplateApply is told, if it is told any: what the spec says, what it has, or, where the
/// template names none, what its Workspace has that outlived it (`left`), or a derived one. What it has is given up if that
/// turned out to be somebody else's; `secret` is the one that the facts are read from.
#[must_use]
pub fn wanted_name(
    spec: &CAPTControlPlaneSpec,
    control_plane: &str,
    template: Option<&WorkspaceTemplateSpec>,
    seen: Option<&OwnedSeen>,
    left: Option<&str>,
    secret: Option<&SecretSeen>,
) -> Option<String> {
    if let Some(name) = &spec.connection_secret_name {
        return Some(name.clone());
    }
    let has = seen.and_then(|seen| seen.wta.spec.write_connection_secret_to_ref.as_ref());
    let has = has.map(|reference| reference.name.as_str());
    let derived = names::eks_connection(control_plane);
    // A derived one stays, or it would be chosen anew for ever.
    let is_derived = has == Some(derived.preferred()) || has == Some(derived.parted());
    let taken =
        secret.filter(|secret| !is_derived && has == Some(secret.name.as_str()) && is_taken(seen, secret));
    if let (Some(name), None) = (has, taken) {
        return Some(name.to_owned());
    }
    match template.and_then(template_name) {
        Some(_) => None,
        None => Some(left.unwrap_or(derived.preferred()).to_owned()),
    }
}

/// Whether a Secret is somebody else's.
fn is_taken(seen: Option<&OwnedSeen>, secret: &SecretSeen) -> bool {
    let controller = secret.controller.as_ref();
    let controller = controller.and_then(|(owner, _)| owner.split_once('/'));
    seen.is_some_and(|seen| seen.cannot_write_to(&secret.type_, controller))
}

/// The names under which the Secret is looked for, in this order. The last is only to be used if it belongs to no other
/// cluster (see [`super::vpc::belongs_to`]).
#[must_use]
pub fn secret_names(
    spec: &CAPTControlPlaneSpec,
    control_plane: &str,
    template: Option<&WorkspaceTemplateSpec>,
    seen: Option<&OwnedSeen>,
) -> Vec<String> {
    let written = seen
        .and_then(|seen| seen.wta.spec.write_connection_secret_to_ref.as_ref())
        .map(|reference| reference.name.clone());
    let by_template = template.and_then(template_name).map(|name| filled(name, seen));
    let derived = names::eks_connection(control_plane);
    let known = [
        spec.connection_secret_name.clone(),
        written,
        by_template,
        Some(derived.preferred().to_owned()),
        Some(FIXED_NAME.to_owned()),
    ];
    let mut all = Vec::new();
    for name in known.into_iter().flatten() {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The Secret that a template itself names, with its holes.
#[must_use]
pub fn template_name(template: &WorkspaceTemplateSpec) -> Option<&str> {
    let inner = template.template.spec.write_connection_secret_to_ref.as_ref();
    let outer = template.write_connection_secret_to_ref.as_ref();
    outer.or(inner).map(|reference| reference.name.as_str())
}

/// A name with its holes filled, as rendering does.
fn filled(name: &str, seen: Option<&OwnedSeen>) -> String {
    let Some(seen) = seen else {
        return name.to_owned();
    };
    let mut name = name.to_owned();
    if let Some(workspace) = seen.told_workspace() {
        name = name.replace("${WORKSPACE_NAME}", workspace);
    }
    for (variable, value) in seen.wta.spec.variables.iter().flatten() {
        name = name.replace(&format!("${{{variable}}}"), value);
    }
    name
}

/// An output that is a text: from what Terraform reports, or, if it is sensitive, from the connection Secret.
///
/// # Errors
///
/// It is in neither, or is no text.
pub fn output<'a>(snapshot: &'a Snapshot, seen: &'a OwnedSeen, name: &str) -> Result<&'a str, OutputProblem> {
    let reported = seen
        .wta
        .status
        .as_ref()
        .and_then(|status| status.outputs.as_ref());
    let from_secret = || {
        let secret: &SecretSeen = snapshot.connection.as_ref()?;
        secret.text(name).filter(|text| !text.trim().is_empty())
    };
    match reported.filter(|outputs| outputs.get(name).is_some_and(|value| !value.is_null())) {
        Some(outputs) => crate::owned::text(outputs, name),
        None => from_secret().ok_or_else(|| OutputProblem::Missing {
            name: name.to_owned(),
            expected: "a text",
        }),
    }
}

/// Whether the facts were written by the very Workspace that makes the EKS cluster now.
pub(super) fn is_of_this_workspace(snapshot: &Snapshot, seen: &OwnedSeen) -> bool {
    let status = seen.wta.status.as_ref();
    let workspace = status.and_then(|status| status.workspace_uid.as_deref());
    let secret = snapshot.connection.as_ref();
    let writer = secret.and_then(|secret| secret.controller.as_ref());
    writer.is_some_and(|(_, uid)| Some(uid.as_str()) == workspace)
}

/// Whether outputs arrived at all, so that a missing one is the module's fault.
#[must_use]
pub fn has_outputs(seen: &OwnedSeen) -> bool {
    let outputs = seen
        .wta
        .status
        .as_ref()
        .and_then(|status| status.outputs.as_ref());
    outputs.is_some_and(|outputs| outputs.values().any(|value| *value != Value::Null))
}
