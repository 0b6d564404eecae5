//! What of a control plane outlived the WorkspaceTemplateApply that made it, because somebody deleted that one and it could
//! not be made again.
//!
//! A control plane that goes asks a person what becomes of that, and one that lives says so of a profile that is not wanted
//! any more. Nothing of it is destroyed before somebody says so.

use std::collections::BTreeMap;

use capt_api::{
    CAPTControlPlane,
    captcontrolplane::{FargateProfilePhase as Phase, FargateProfileStatus},
};

use super::deciding::Deciding;
use crate::{
    metadata,
    owned::{self, Fate, Left, OwnedSeen, Role, Wanted},
};

/// Names of WorkspaceTemplateApplies that a control plane made, that do not exist, and that it does not make again: of one that
/// goes all of them, of one that lives those of profiles that are not in its spec. Names that it would give are not among
/// them, because something else may have such a name.
#[must_use]
pub fn names_left(control_plane: &CAPTControlPlane, applies: &[OwnedSeen]) -> Vec<String> {
    let is_deleting = metadata::is_deleting(&control_plane.metadata);
    let spec = &control_plane.spec;
    let is_wanted = |row: &FargateProfileStatus| {
        let mut wanted = spec.additional_fargate_profiles.iter().flatten();
        wanted.any(|profile| profile.name == row.name)
    };
    let rows = control_plane
        .status
        .iter()
        .flat_map(|status| status.fargate_profile_statuses.iter().flatten())
        .filter(|row| was_made(row) && (is_deleting || !is_wanted(row)))
        .filter_map(|row| row.workspace_template_apply_name.clone());
    let eks = spec.workspace_template_apply_name.clone().filter(|_| is_deleting);
    let mut all: Vec<String> = eks.into_iter().chain(rows).collect();
    all.retain(|name| applies.iter().all(|seen| seen.name() != name));
    all.sort();
    all.dedup();
    all
}

/// Whether there was ever a WorkspaceTemplateApply for a profile.
fn was_made(row: &FargateProfileStatus) -> bool {
    let waits = matches!(row.phase, None | Some(Phase::Waiting));
    !waits || row.observed_selectors_hash.is_some() || row.failure_message.is_some()
}

/// What a control plane that goes has to see to: what is left of the EKS cluster, and of what goes before it.
pub(super) fn in_order<'a>(deciding: &Deciding<'a>) -> (Vec<&'a Left>, Vec<&'a Left>) {
    let eks = deciding.found.name();
    own(deciding)
        .filter(|left| !is_kept(deciding, left))
        .partition(|left| left.apply == eks)
}

/// What stays although its control plane goes, because somebody wanted that.
pub(super) fn kept<'a>(deciding: &Deciding<'a>) -> Vec<&'a Left> {
    own(deciding).filter(|left| is_kept(deciding, left)).collect()
}

fn is_kept(deciding: &Deciding<'_>, left: &Left) -> bool {
    let metadata = &deciding.snapshot.control_plane.metadata;
    owned::answer(metadata, &left.apply) == Some(Fate::Retained)
}

/// What is left, without what another control plane names too: that may be the other one's.
fn own<'a>(deciding: &Deciding<'a>) -> impl Iterator<Item = &'a Left> {
    let snapshot = deciding.snapshot;
    let shared = (!snapshot.rivals.is_empty()).then(|| deciding.found.name().to_owned());
    let all = snapshot.left.iter();
    all.filter(move |left| Some(&left.apply) != shared.as_ref())
}

/// Asks what becomes of it, or does what somebody answered. Says what is waited for, or what is asked.
pub(super) fn end(deciding: &mut Deciding<'_>, left: &Left) -> Result<String, String> {
    let metadata = &deciding.snapshot.control_plane.metadata;
    if owned::answer(metadata, &left.apply) != Some(Fate::Destroyed) {
        return Err(left.question("captcontrolplane", metadata));
    }
    // Only another WorkspaceTemplateApply can end it. Nothing is changed for an owner that goes, so that it needs to know
    // nothing but its name.
    let change = wanted(deciding, &left.apply).change(&deciding.owner, None);
    deciding.children.extend(change);
    Ok(format!(
        "{}: it is gone and its Workspace is left; it is made again to end that",
        left.apply
    ))
}

/// A WorkspaceTemplateApply that takes over what is left.
fn wanted(deciding: &Deciding<'_>, name: &str) -> Wanted {
    let spec = &deciding.snapshot.control_plane.spec;
    let row = profile_of(deciding, name).filter(|_| name != deciding.found.name());
    let mut profiles = spec.additional_fargate_profiles.iter().flatten();
    let profile = profiles.find(|profile| row.is_some_and(|row| row.name == profile.name));
    let template = profile.map_or(&spec.workspace_template_ref, |profile| {
        &profile.workspace_template_ref
    });
    Wanted {
        name: name.to_owned(),
        role: row.map_or(Role::Eks, |row| Role::FargateProfile(row.name.clone())),
        template: template.clone(),
        revision: None,
        variables: BTreeMap::new(),
        connection_secret: None,
        wait_for_secrets: Vec::new(),
        wait_for_workspaces: Vec::new(),
        retain: false,
        retry: None,
    }
}

/// What was said about the profile that a WorkspaceTemplateApply of this name is for.
pub(super) fn profile_of<'a>(deciding: &Deciding<'a>, name: &str) -> Option<&'a FargateProfileStatus> {
    let status = deciding.snapshot.control_plane.status.as_ref()?;
    let mut rows = status.fargate_profile_statuses.iter().flatten();
    rows.find(|row| row.workspace_template_apply_name.as_deref() == Some(name))
}
