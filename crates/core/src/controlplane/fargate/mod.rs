//! Fargate profiles: one WorkspaceTemplateApply for each, made once the EKS cluster is up, changed and removed in turns.
//!
//! A profile that fails or waits holds back nothing but itself. [`ground`] says what all of them stand on, `making` what
//! one is told, [`reading`] what became of it, `telling` how all of it is told, [`counting`] what metrics show of it,
//! [`beginning`] what of it can wait to be told.
//!
//! This module must never know which profile's turn it is for any other reason than to say so.

pub mod beginning;
pub mod counting;
pub mod ground;
mod making;
pub mod reading;
mod telling;
pub mod timeouts;

pub use making::selectors_hash;

use std::collections::BTreeMap;

use capt_api::{
    CAPTControlPlane,
    captcontrolplane::{FargateProfilePhase as Phase, FargateProfileStatus},
    marks,
};

use self::{
    ground::{Ground, Lack},
    reading::Reading,
};
use super::{adoption, deciding::Deciding, judging::Profiles, leftovers, taking::Turns};
use crate::{
    crds, names,
    owned::{self, End, Fate, OwnedSeen, Peer, Role},
    wta::{owner, snapshot::TemplateSeen},
};

/// How the label of a role begins that is a profile's.
const ROLE: &str = "fargate-profile.";

/// What is known about the template of a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileSeen {
    /// The WorkspaceTemplate that its `workspaceTemplateRef` names.
    pub template: Option<TemplateSeen>,
    /// As [`super::Snapshot::peers`], for this profile's WorkspaceTemplateApply.
    pub peers: Vec<Peer>,
}

/// What is known about the templates of profiles, by the names of the profiles.
pub type ProfilesSeen = BTreeMap<String, ProfileSeen>;

/// Names of WorkspaceTemplateApplies that have to be in a snapshot, if they exist, whosever they are.
#[must_use]
pub fn names(control_plane: &CAPTControlPlane) -> Vec<String> {
    let owner = control_plane.metadata.name.as_deref().unwrap_or_default();
    let profiles = control_plane.spec.additional_fargate_profiles.iter().flatten();
    profiles
        .map(|profile| names::fargate_apply(owner, &profile.name))
        .flat_map(|name| [name.preferred().to_owned(), name.parted().to_owned()])
        .collect()
}

/// The WorkspaceTemplateApply of a profile, for [`owned::needs_peers`].
#[must_use]
pub fn apply_of<'a>(
    control_plane: &CAPTControlPlane,
    profile: &str,
    seen: &'a [OwnedSeen],
) -> Option<&'a OwnedSeen> {
    let name = control_plane.metadata.name.as_deref().unwrap_or_default();
    let label = owner::label("CAPTControlPlane", name);
    let role = Role::FargateProfile(profile.to_owned()).label();
    seen.iter().find(|one| {
        owner::recorded(&one.wta).as_ref() == Some(&label) && one.label(marks::ROLE) == Some(&role)
    })
}

/// One profile, as far as it was decided about.
pub(super) struct Part<'a> {
    /// Its name.
    pub(super) name: String,
    /// The name that its WorkspaceTemplateApply has or will have.
    pub(super) apply: String,
    /// Its WorkspaceTemplateApply, if there is one.
    pub(super) seen: Option<&'a OwnedSeen>,
    /// What became of it.
    pub(super) reading: Reading,
    /// Hash of the selectors that it should have.
    pub(super) selectors: Option<String>,
    /// What was said about it before.
    pub(super) before: Option<FargateProfileStatus>,
}

/// Makes every profile what it should be, and removes those that are not wanted any more. Nothing is made where
/// `ground` says that there is nothing to stand on.
pub(super) fn make<'a>(deciding: &mut Deciding<'a>, ground: &Result<Ground, Lack>) -> Vec<Part<'a>> {
    let snapshot = deciding.snapshot;
    let profiles = snapshot.control_plane.spec.additional_fargate_profiles.as_deref();
    let mut parts: Vec<Part<'a>> = profiles
        .unwrap_or_default()
        .iter()
        .map(|profile| making::make(deciding, profile, ground))
        .collect();
    let wanted: Vec<String> = parts.iter().map(|part| role(&part.name)).collect();
    for seen in unwanted(deciding, &wanted) {
        parts.push(remove(deciding, seen));
    }
    for part in &mut parts {
        timeouts::judge(deciding, part);
    }
    parts.extend(left(deciding));
    parts
}

/// Those that are not wanted any more, and whose Workspaces outlived what could have removed them.
fn left<'a>(deciding: &Deciding<'a>) -> Vec<Part<'a>> {
    let snapshot = deciding.snapshot;
    let all = snapshot.left.iter().filter_map(|left| {
        let before = leftovers::profile_of(deciding, &left.apply)?;
        let metadata = &snapshot.control_plane.metadata;
        let message = if !deciding.is_deleting() {
            left.way_back(&format!("the profile {}", before.name))
        } else if owned::answer(metadata, &left.apply) == Some(Fate::Retained) {
            left.kept()
        } else {
            left.question("captcontrolplane", metadata)
        };
        Some(Part {
            name: before.name.clone(),
            apply: left.apply.clone(),
            seen: None,
            reading: reading::left(message),
            selectors: None,
            before: Some(before.clone()),
        })
    });
    all.collect()
}

/// Those that are to be removed, by the names of their WorkspaceTemplateApplies.
pub(super) fn unwanted_names(parts: &[Part<'_>]) -> Vec<String> {
    let going = parts
        .iter()
        .filter(|part| part.reading.phase == Phase::Deleting && part.reading.wants_turn);
    going.map(|part| part.apply.clone()).collect()
}

/// Those that took too long or cannot be destroyed, by the names of their WorkspaceTemplateApplies.
pub(super) fn late(parts: &[Part<'_>]) -> Vec<String> {
    let late = parts.iter().filter(|part| {
        let cannot_go = part.reading.phase == Phase::Deleting && part.reading.failure.is_some();
        part.reading.is_late || cannot_go
    });
    late.map(|part| part.apply.clone()).collect()
}

/// Whether it was said of a profile that it takes too long or went wrong.
pub(super) fn was_late(deciding: &Deciding<'_>, seen: &OwnedSeen) -> bool {
    let before = status_of(deciding, seen);
    before.is_some_and(|before| before.failure_message.is_some())
}

/// Whether it was said of the profile of a WorkspaceTemplateApply that it is being removed.
pub(super) fn was_removed(deciding: &Deciding<'_>, apply: &str) -> bool {
    let status = deciding.snapshot.control_plane.status.as_ref();
    let mut rows = status
        .iter()
        .flat_map(|status| status.fargate_profile_statuses.iter().flatten());
    rows.any(|row| {
        row.workspace_template_apply_name.as_deref() == Some(apply) && row.phase == Some(Phase::Deleting)
    })
}

/// Says what became of all of them.
pub(super) fn tell(deciding: &mut Deciding<'_>, parts: &[Part<'_>], turns: &Turns) -> Profiles {
    telling::tell(deciding, parts, turns)
}

/// All of them, where they go one after the other before everything else does.
pub(super) fn going<'a>(deciding: &mut Deciding<'a>) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = unwanted(deciding, &[])
        .into_iter()
        .map(|seen| Part::going(deciding, seen))
        .collect();
    for part in &mut parts {
        timeouts::judge(deciding, part);
    }
    // Their rows say which they are for as long as nobody has said what becomes of them.
    parts.extend(left(deciding));
    parts
}

/// Whether a WorkspaceTemplateApply of a profile exists that the spec does not list, so that its destruction may be consented to.
pub(super) fn has_unlisted(control_plane: &CAPTControlPlane, applies: &[OwnedSeen]) -> bool {
    let profiles = control_plane.spec.additional_fargate_profiles.iter().flatten();
    let listed: Vec<String> = profiles.map(|profile| role(&profile.name)).collect();
    let mut roles = applies.iter().filter_map(|seen| seen.label(marks::ROLE));
    roles.any(|found| found.starts_with(ROLE) && !listed.iter().any(|listed| listed == found))
}

fn role(profile: &str) -> String {
    Role::FargateProfile(profile.to_owned()).label()
}

/// Profiles of this owner whose roles are not among the wanted ones.
fn unwanted<'a>(deciding: &Deciding<'a>, wanted: &[String]) -> Vec<&'a OwnedSeen> {
    let label = deciding.owner.label();
    let applies = deciding.snapshot.applies.iter();
    applies
        .filter(|seen| owner::recorded(&seen.wta).as_ref() == Some(&label) && is_profile(deciding, seen))
        .filter(|seen| {
            let role = seen.label(marks::ROLE);
            role.is_some_and(|role| !wanted.iter().any(|wanted| wanted == role))
        })
        .collect()
}

/// Whether a WorkspaceTemplateApply of this owner is a profile's. A label can be changed by anybody: what the spec names as
/// the EKS cluster's is none, nor is what the Go implementation made.
fn is_profile(deciding: &Deciding<'_>, seen: &OwnedSeen) -> bool {
    seen.label(marks::ROLE).is_some_and(|role| role.starts_with(ROLE))
        && seen.name() != deciding.found.name()
        && adoption::remnant(deciding.owner.name, seen.name()).is_none()
}

/// What was said about the profile of a WorkspaceTemplateApply.
fn status_of(deciding: &Deciding<'_>, seen: &OwnedSeen) -> Option<FargateProfileStatus> {
    let mut statuses = deciding.status.fargate_profile_statuses.iter().flatten();
    statuses
        .find(|status| status.workspace_template_apply_name.as_deref() == Some(seen.name()))
        .cloned()
}

/// Takes the next step to the end of a profile.
fn remove<'a>(deciding: &mut Deciding<'a>, seen: &'a OwnedSeen) -> Part<'a> {
    let part = Part::going(deciding, seen);
    step_to_end(deciding, seen, &Role::FargateProfile(part.name.clone()));
    part
}

/// Writes what the next step to the end of a profile needs.
fn step_to_end(deciding: &mut Deciding<'_>, seen: &OwnedSeen, role: &Role) {
    let retry = deciding.retry_for(Some(seen), was_late(deciding, seen));
    let obstacle = deciding.snapshot.crd_obstacle.as_ref();
    match owned::end(&deciding.owner, role, seen, Fate::Destroyed, retry, obstacle) {
        End::Mark(mark) => deciding.children.push(*mark),
        End::Remove(removal) => deciding.removals.push(removal),
        End::Obstructed { .. } => deciding.look_again(Some(crds::LOOK_AGAIN)),
        End::Wait { .. } | End::Stuck { .. } => {}
    }
}

impl<'a> Part<'a> {
    /// One that is not wanted any more.
    fn going(deciding: &Deciding<'_>, seen: &'a OwnedSeen) -> Self {
        let mut before = status_of(deciding, seen);
        // Another try begins anew with everything that was said.
        let retry = deciding.retry_for(Some(seen), was_late(deciding, seen));
        let is_another_try = retry.is_some() && retry != seen.annotation(marks::RETRY_REQUESTED);
        if let Some(before) = before.as_mut().filter(|_| is_another_try) {
            before.since = None;
            before.failure_message = None;
        }
        let by_role = seen.label(marks::ROLE).and_then(|role| role.strip_prefix(ROLE));
        Self {
            name: before.as_ref().map_or_else(
                || by_role.unwrap_or(seen.name()).to_owned(),
                |before| before.name.clone(),
            ),
            apply: seen.name().to_owned(),
            seen: Some(seen),
            reading: reading::going(seen, before.as_ref()),
            selectors: None,
            before,
        }
    }
}
