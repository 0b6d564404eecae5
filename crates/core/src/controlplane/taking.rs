//! Whose turn it is among the children of a control plane.

use capt_api::marks;

use super::{
    deciding::Deciding,
    turns::{self, Child, Need},
};
use crate::{
    decision::Desired,
    metadata,
    owned::{Found, OwnedSeen, Role, Standing, standing},
    wta::owner,
};

/// Whose turn it is, and who comes after that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Turns {
    /// Whose turn it is from now on.
    pub(super) holder: Option<String>,
    /// Who waits for it, in this order.
    pub(super) queue: Vec<String>,
}

/// Says whose turn it is. `late` are those that took too long, `unwanted` those that are to be removed.
///
/// What is decided for them here counts as if it were done, so that nobody gets in line for a moment.
pub(super) fn hand_out(deciding: &mut Deciding<'_>, late: &[String], unwanted: &[String]) -> Turns {
    let mut children = takers(deciding);
    for child in new(deciding) {
        // Profiles stand on the EKS cluster.
        let place = if child.name == deciding.found.name() {
            0
        } else {
            children.len()
        };
        children.insert(place, child);
    }
    // Whoever has the turn begins with what is written here as soon as it is written.
    let holder = metadata::annotation(&deciding.snapshot.control_plane.metadata, marks::TURN);
    for child in &mut children {
        if is_about_to_work(deciding, &child.name) {
            child.need = Need::Work;
            child.is_at_rest &= holder != Some(&child.name);
        }
        if unwanted.contains(&child.name) {
            child.need = Need::Deletion;
        }
    }
    set_back(deciding, &mut children);
    // Who took too long, cannot be destroyed or is being tried again lets others go first, and stays where it is if there
    // are none.
    let is_late = |child: &Child| late.contains(&child.name) || has_trouble(deciding, &child.name);
    let others_wait = children
        .iter()
        .any(|child| !is_late(child) && child.need != Need::Nothing);
    if others_wait {
        for child in children.iter_mut().filter(|child| is_late(child)) {
            child.need = Need::Nothing;
        }
    }
    give(deciding, &children)
}

/// Whether one is being tried again, or its destruction failed.
fn has_trouble(deciding: &Deciding<'_>, name: &str) -> bool {
    let mut applies = deciding.snapshot.applies.iter();
    applies.any(|seen| {
        let is_going = seen.is_deleting() && seen.trouble.is_some();
        let is_retrying = matches!(standing(seen), Standing::Retrying { .. });
        seen.name() == name && (is_going || is_retrying)
    })
}

/// Who was tried and left the turn to others does not come again at once: what it failed with takes a while to pass.
fn set_back(deciding: &mut Deciding<'_>, children: &mut [Child]) {
    let (snapshot, now) = (deciding.snapshot, deciding.now);
    let holder = metadata::annotation(&snapshot.control_plane.metadata, marks::TURN);
    for child in children
        .iter_mut()
        .filter(|child| Some(child.name.as_str()) != holder)
    {
        let mut applies = snapshot.applies.iter();
        let Some(seen) = applies.find(|seen| seen.name() == child.name) else {
            continue;
        };
        let left = turns::rests_for(seen, now).filter(|_| !is_about_to_work(deciding, &child.name));
        if left.is_some() && child.is_at_rest {
            child.need = Need::Nothing;
            deciding.look_again(left);
        }
    }
}

/// Whether something else is about to be wanted of a WorkspaceTemplateApply that exists, or another try.
fn is_about_to_work(deciding: &Deciding<'_>, name: &str) -> bool {
    let seen = deciding.snapshot.applies.iter().find(|seen| seen.name() == name);
    let has = |mark| seen.and_then(|seen| seen.annotation(mark));
    let gets = |child: &Desired, mark: &str| {
        let annotations = child.fields.pointer("/metadata/annotations")?;
        annotations.get(mark)?.as_str().map(str::to_owned)
    };
    deciding.children.iter().any(|child| {
        let is_retry = gets(child, marks::RETRY_REQUESTED)
            .is_some_and(|retry| has(marks::RETRY_REQUESTED) != Some(&retry));
        child.target.kind == "WorkspaceTemplateApply"
            && child.target.name == name
            && child.rendered_from.is_some()
            && (child.rendered_from.as_deref() != has(marks::AUTHORED) || is_retry)
    })
}

/// WorkspaceTemplateApplies that are about to be made.
fn new(deciding: &Deciding<'_>) -> Vec<Child> {
    let is_there = |name: &str| deciding.snapshot.applies.iter().any(|seen| seen.name() == name);
    deciding
        .children
        .iter()
        .filter(|child| child.target.kind == "WorkspaceTemplateApply" && !is_there(&child.target.name))
        .map(|child| Child::new(&child.target.name))
        .collect()
}

/// Everything of this owner that takes turns.
fn takers(deciding: &Deciding<'_>) -> Vec<Child> {
    let label = deciding.owner.label();
    let taken_over = match &deciding.found {
        Found::TakenOver(seen) => Some(seen.name()),
        _ => None,
    };
    let mut takers: Vec<&OwnedSeen> = deciding
        .snapshot
        .applies
        .iter()
        .filter(|seen| owner::recorded(&seen.wta).as_ref() == Some(&label) || Some(seen.name()) == taken_over)
        .collect();
    // Where nobody waits longer than another, the EKS cluster is first and profiles follow in the order of the spec.
    let profiles = deciding
        .snapshot
        .control_plane
        .spec
        .additional_fargate_profiles
        .as_deref();
    let roles: Vec<String> = profiles
        .unwrap_or_default()
        .iter()
        .map(|profile| Role::FargateProfile(profile.name.clone()).label())
        .collect();
    takers.sort_by_key(|seen| {
        let role = seen.label(marks::ROLE);
        let place = roles.iter().position(|known| Some(known.as_str()) == role);
        (seen.name() != deciding.found.name(), place.unwrap_or(roles.len()))
    });
    let is_going = deciding.is_deleting();
    takers
        .into_iter()
        .map(|seen| {
            let mut child = Child::of(seen);
            // Nothing is mended for an owner that goes.
            if is_going && seen.is_to_be_mended() && standing(seen) == Standing::Ready {
                child.need = Need::Nothing;
            }
            child
        })
        .collect()
}

/// Writes down whose turn it is, if that changes.
fn give(deciding: &mut Deciding<'_>, children: &[Child]) -> Turns {
    let holder = metadata::annotation(&deciding.snapshot.control_plane.metadata, marks::TURN);
    let next = turns::hand_out(holder, children);
    if next.as_deref() != holder {
        deciding
            .own
            .annotations
            .insert(marks::TURN.to_owned(), next.clone());
        deciding.own.only_if_unchanged = true;
    }
    let queue = turns::queue(children).into_iter().map(|child| child.name.clone());
    Turns {
        queue: queue.filter(|name| Some(name) != next.as_ref()).collect(),
        holder: next,
    }
}
