//! Whose turn it is among the children of a control plane.

use std::{collections::BTreeMap, time::Duration};

use capt_api::marks;
use k8s_openapi::jiff::Timestamp;

use super::{
    deciding::Deciding,
    fargate,
    snapshot::Snapshot,
    turns::{self, Child, Need},
};
use crate::{
    decision::{Desired, Target},
    metadata,
    owned::{Found, OwnedSeen, Role, Standing, destruction_trouble, standing},
    wta::owner,
};

/// Whose turn it is, and who comes after that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Turns {
    /// Whose turn it is from now on.
    pub(super) holder: Option<String>,
    /// Who gets it as soon as its removal is seen. It counts as if it had it.
    pub(super) announced: Option<String>,
    /// Whom the others wait for: who has it and needs it, or is about to.
    pub(super) at_work: Option<String>,
    /// Who waits for it, in this order.
    pub(super) queue: Vec<String>,
    /// Who was tried and lets others go first, and until when.
    pub(super) resting: BTreeMap<String, Timestamp>,
}

impl Turns {
    /// Whether it is the turn of this one, or as good as that.
    pub(super) fn is_of(&self, name: &str) -> bool {
        let known = [&self.holder, &self.announced];
        known.into_iter().any(|one| one.as_deref() == Some(name))
    }

    /// The place of one that waits, and whom it waits for. Who is not in the queue comes after it.
    pub(super) fn place(&self, name: &str) -> String {
        let ahead = self.queue.iter().position(|one| one == name);
        let place = ahead.unwrap_or(self.queue.len()) + 1;
        let after = match &self.at_work {
            Some(name) => format!("after {name}"),
            None => "until all others rest".to_owned(),
        };
        format!("EKS does one thing at a time: number {place} in the queue, {after}")
    }
}

/// Says whose turn it is. `late` are those that took too long, `unwanted` those that are to be removed.
///
/// What is decided for them here counts as if it were done, so that nobody gets in line for a moment.
pub(super) fn hand_out(deciding: &mut Deciding<'_>, late: &[String], unwanted: &[String]) -> Turns {
    let mut children: Vec<Child> = takers(deciding).into_iter().map(Child::of).collect();
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
    let holder = holder(deciding);
    for child in &mut children {
        if is_about_to_work(deciding, &child.name) {
            child.need = Need::Work;
            child.is_at_rest &= holder != Some(&child.name);
        }
        // Nothing is made or changed of what goes, be it alone or with its owner.
        let is_ending = deciding.is_deleting() || is_about_to_go(deciding, &child.name);
        if is_ending && child.need == Need::Work {
            child.need = Need::Nothing;
        }
        if unwanted.contains(&child.name) {
            child.need = Need::Deletion;
            child.is_announced = !is_going(deciding, &child.name);
        }
    }
    let resting = set_back(deciding, &mut children);
    // Who took too long, cannot be destroyed or is being tried again lets others go first, and stays where it is if there
    // are none.
    let is_late = |child: &Child| {
        late.contains(&child.name) || (!child.is_announced && has_trouble(deciding, &child.name))
    };
    let others_wait = children
        .iter()
        .any(|child| !is_late(child) && child.need != Need::Nothing);
    let mut last = Vec::new();
    for child in children.iter_mut().filter(|child| others_wait && is_late(child)) {
        if child.need != Need::Nothing {
            last.push(child.name.clone());
        }
        child.need = Need::Nothing;
    }
    let mut turns = give(deciding, &children);
    turns.queue.extend(last);
    turns.resting = resting;
    turns
}

/// Who has the turn. One that was removed with it and is made again has it no more: it gets in line like all others.
fn holder<'a>(deciding: &Deciding<'a>) -> Option<&'a str> {
    let metadata = &deciding.snapshot.control_plane.metadata;
    metadata::annotation(metadata, marks::TURN).filter(|name| {
        let is_made = new(deciding).iter().any(|child| child.name == *name);
        !is_made || !fargate::was_removed(deciding, name)
    })
}

/// Whether nothing runs for those that take turns with this one.
pub(super) fn others_rest(deciding: &Deciding<'_>, name: &str) -> bool {
    let mut others = takers(deciding).into_iter().filter(|seen| seen.name() != name);
    others.all(|seen| Child::of(seen).is_at_rest)
}

/// Whether one is being tried again, or its destruction failed.
fn has_trouble(deciding: &Deciding<'_>, name: &str) -> bool {
    let mut applies = deciding.snapshot.applies.iter();
    applies.any(|seen| {
        let is_stuck = destruction_trouble(seen).is_some();
        let is_retrying = matches!(standing(seen), Standing::Retrying { .. });
        seen.name() == name && (is_stuck || is_retrying)
    })
}

/// Who was tried and left the turn to others does not come again at once: what it failed with takes a while to pass.
fn set_back(deciding: &mut Deciding<'_>, children: &mut [Child]) -> BTreeMap<String, Timestamp> {
    let (snapshot, now) = (deciding.snapshot, deciding.now);
    let holder = metadata::annotation(&snapshot.control_plane.metadata, marks::TURN);
    let mut resting = BTreeMap::new();
    // What is to be destroyed comes before all others, so that it must not come again on its way to rest either.
    for child in children.iter_mut().filter(|child| {
        let may_rest = child.is_at_rest || child.need == Need::Deletion;
        Some(child.name.as_str()) != holder && may_rest
    }) {
        let mut applies = snapshot.applies.iter();
        let Some(seen) = applies.find(|seen| seen.name() == child.name) else {
            continue;
        };
        let until = turns::rests_until(seen, child.need, now);
        if let Some(until) = until.filter(|_| !is_about_to_work(deciding, &child.name)) {
            child.need = Need::Nothing;
            deciding.look_again(Duration::try_from(until.duration_since(now)).ok());
            resting.insert(child.name.clone(), until);
        }
    }
    resting
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

/// Whether a WorkspaceTemplateApply is about to be deleted, or to be told so.
fn is_about_to_go(deciding: &Deciding<'_>, name: &str) -> bool {
    let is_it = |target: &Target| target.kind == "WorkspaceTemplateApply" && target.name == name;
    let is_removed = deciding.removals.iter().any(|removal| is_it(&removal.target));
    let is_told = deciding.children.iter().any(|child| {
        let annotations = child.fields.pointer("/metadata/annotations");
        is_it(&child.target)
            && annotations.is_some_and(|annotations| annotations.get(marks::LET_GO).is_some())
    });
    is_removed || is_told
}

/// Whether a WorkspaceTemplateApply is seen going.
fn is_going(deciding: &Deciding<'_>, name: &str) -> bool {
    let mut applies = deciding.snapshot.applies.iter();
    applies.any(|seen| seen.name() == name && seen.is_deleting())
}

fn is_there(snapshot: &Snapshot, name: &str) -> bool {
    snapshot.applies.iter().any(|seen| seen.name() == name)
}

/// WorkspaceTemplateApplies that are about to be made.
fn new(deciding: &Deciding<'_>) -> Vec<Child> {
    deciding
        .children
        .iter()
        .filter(|child| {
            let name = &child.target.name;
            child.target.kind == "WorkspaceTemplateApply" && !is_there(deciding.snapshot, name)
        })
        .map(|child| Child::new(&child.target.name))
        .collect()
}

/// Everything of this owner that takes turns.
pub(super) fn takers<'a>(deciding: &Deciding<'a>) -> Vec<&'a OwnedSeen> {
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
    takers
}

/// Writes down whose turn it is, if that changes.
fn give(deciding: &mut Deciding<'_>, children: &[Child]) -> Turns {
    let written = metadata::annotation(&deciding.snapshot.control_plane.metadata, marks::TURN);
    let next = turns::hand_out(holder(deciding), children);
    if next.as_deref() != written {
        // It would begin as soon as it is there, if it was made before it is written that it has the turn no more.
        deciding.children.retain(|child| {
            let has_turn =
                child.target.kind == "WorkspaceTemplateApply" && Some(child.target.name.as_str()) == written;
            !has_turn || is_there(deciding.snapshot, &child.target.name)
        });
        deciding
            .own
            .annotations
            .insert(marks::TURN.to_owned(), next.clone());
        deciding.own.only_if_unchanged = true;
    }
    let announced = turns::announced(next.as_deref(), children).map(str::to_owned);
    let is_used = |name: &&String| {
        let mut holders = children.iter().filter(|child| child.name == **name);
        holders.any(|child| child.need != Need::Nothing)
    };
    let at_work = announced.as_ref().or(next.as_ref().filter(is_used)).cloned();
    let queue = turns::queue(children).into_iter().map(|child| child.name.clone());
    Turns {
        queue: queue
            .filter(|name| Some(name) != next.as_ref() && Some(name) != announced.as_ref())
            .collect(),
        holder: next,
        announced,
        at_work,
        resting: BTreeMap::new(),
    }
}
