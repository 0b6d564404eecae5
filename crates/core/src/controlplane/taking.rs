//! Whose turn it is among the children of a control plane.

use capt_api::marks;

use super::{
    deciding::Deciding,
    judging::Facts,
    turns::{self, Child, Need},
};
use crate::{metadata, owned::Found, wta::owner};

/// Says whose turn it is.
pub(super) fn hand_out(deciding: &mut Deciding<'_>, facts: &Facts) {
    let mut children = takers(deciding);
    let eks_name = deciding.found.name();
    if deciding.found.usable().is_none()
        && deciding
            .children
            .iter()
            .any(|child| child.target.name == eks_name)
    {
        children.insert(0, Child::new(eks_name));
    }
    // Who took too long lets others go first, and stays where it is if there are none.
    let others_wait = children
        .iter()
        .any(|child| child.name != eks_name && child.need != Need::Nothing);
    if facts.expired.is_some() && others_wait {
        for child in children.iter_mut().filter(|child| child.name == eks_name) {
            child.need = Need::Nothing;
        }
    }
    give(deciding, &children);
}

/// Everything of this owner that takes turns.
pub(super) fn takers(deciding: &Deciding<'_>) -> Vec<Child> {
    let label = deciding.owner.label();
    let taken_over = match &deciding.found {
        Found::TakenOver(seen) => Some(seen.name()),
        _ => None,
    };
    deciding
        .snapshot
        .applies
        .iter()
        .filter(|seen| owner::recorded(&seen.wta).as_ref() == Some(&label) || Some(seen.name()) == taken_over)
        .map(Child::of)
        .collect()
}

/// Writes down whose turn it is, if that changes.
pub(super) fn give(deciding: &mut Deciding<'_>, children: &[Child]) {
    let holder = metadata::annotation(&deciding.snapshot.control_plane.metadata, marks::TURN);
    let next = turns::hand_out(holder, children);
    if next.as_deref() != holder {
        deciding.own.annotations.insert(marks::TURN.to_owned(), next);
        deciding.own.only_if_unchanged = true;
    }
}
