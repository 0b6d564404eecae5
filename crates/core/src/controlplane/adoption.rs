//! What the Go implementation left behind: found, referred to, and kept as it is.
//!
//! It named what it made after the control plane, in ways that changed over time, and made three things more than there
//! are now: a WorkspaceTemplateApply that printed a kubeconfig, and two about a role of the whole AWS account, which
//! must never be destroyed with one cluster.

use capt_api::{CAPTControlPlane, marks};

use crate::{
    names,
    owned::{Fate, OwnedSeen},
    wta::owner,
};

/// What something that the Go implementation made was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remnant {
    /// It printed a kubeconfig.
    Kubeconfig,
    /// It looked for, or made, a role of the whole AWS account.
    SpotRole,
}

impl Remnant {
    /// What becomes of it when its control plane goes.
    #[must_use]
    pub fn fate(self) -> Fate {
        match self {
            Self::Kubeconfig => Fate::Destroyed,
            Self::SpotRole => Fate::Retained,
        }
    }
}

/// What a WorkspaceTemplateApply of a control plane was for, if the Go implementation made it and nothing here would.
#[must_use]
pub fn remnant(control_plane: &str, name: &str) -> Option<Remnant> {
    match name.strip_prefix(control_plane)? {
        "-kubeconfig-apply" => Some(Remnant::Kubeconfig),
        "-spot-role-check" | "-spot-role-create" => Some(Remnant::SpotRole),
        _ => None,
    }
}

/// Names of WorkspaceTemplateApplies that have to be in a snapshot, if they exist: the one that the spec names, those
/// that a new one could get, and those that the Go implementation used.
#[must_use]
pub fn names(control_plane: &CAPTControlPlane) -> Vec<String> {
    let name = control_plane.metadata.name.as_deref().unwrap_or_default();
    let new = names::eks_apply(name);
    let mut all: Vec<String> = control_plane
        .spec
        .workspace_template_apply_name
        .iter()
        .cloned()
        .collect();
    all.extend([new.preferred().to_owned(), new.parted().to_owned()]);
    all.extend(former(name));
    all.extend(
        ["kubeconfig-apply", "spot-role-check", "spot-role-create"].map(|suffix| format!("{name}-{suffix}")),
    );
    all.dedup();
    all
}

/// Names that the Go implementation gave the WorkspaceTemplateApply of an EKS cluster.
fn former(control_plane: &str) -> [String; 3] {
    [
        format!("{control_plane}-eks-controlplane-apply"),
        format!("{control_plane}-apply"),
        // For a while it used this name, whatever the control plane was called.
        "demo-eks-controlplane-apply".to_owned(),
    ]
}

/// Names of WorkspaceTemplateApplies among those that exist that the Go implementation made for this control plane's EKS
/// cluster, the most usual first. One that has no owner any more is recognised by its maker's finalizer and by what it
/// was told.
#[must_use]
pub fn former_names(control_plane: &str, seen: &[OwnedSeen]) -> Vec<String> {
    let is_its_own = |one: &OwnedSeen| {
        let variables = one.wta.spec.variables.as_ref();
        let is_for_eks = variables.is_some_and(|variables| variables.contains_key("kubernetes_version"));
        let is_for_this = variables
            .and_then(|variables| variables.get("cluster_name"))
            .is_some_and(|name| name == control_plane);
        let finalizers = one.wta.metadata.finalizers.as_deref().unwrap_or_default();
        let is_of_the_go_implementation = finalizers
            .iter()
            .any(|name| name == marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER);
        owner::recorded(&one.wta).is_some() || (is_for_eks && is_for_this && is_of_the_go_implementation)
    };
    former(control_plane)
        .into_iter()
        .filter(|name| seen.iter().any(|one| one.name() == name && is_its_own(one)))
        .collect()
}
