//! Turns: where an owner's children may operate only one at a time, it says whose turn it is.

use capt_api::{conditions::find_condition, marks};

use super::{
    owner, policy,
    snapshot::{Snapshot, WorkspaceSeen},
};
use crate::owned;

/// Whom the object has to wait for before anything is run, in words. An owner that is gone gives nobody a turn: if that
/// let everybody run, all who had waited would begin at once. What was done before lives on.
pub(super) fn waits_for(snapshot: &Snapshot) -> Option<String> {
    let Some(owner) = &snapshot.owner else {
        return (owner::takes_turns(&snapshot.wta) && !is_done(snapshot))
            .then(|| "The owner is gone, so that nobody says whose turn it is".to_owned());
    };
    if !owner.takes_turns {
        return None;
    }
    // The turn may be that for its end, and may be heard of before the deletion is.
    if owner::lets_go(&snapshot.wta) && !is_going(snapshot) {
        return Some("The owner is about to remove it".to_owned());
    }
    let own = snapshot.wta.metadata.name.as_deref();
    let has_turn = owner.turn.is_some() && owner.turn.as_deref() == own;
    if let Some(why) = owned::remembered(&snapshot.wta).filter(|_| !has_turn) {
        return Some(format!(
            "It failed, and leaves the turn to others until something else is wanted of it, or another try is asked for: \
             {}. It failed with this: {why}",
            owned::retry_command(&snapshot.wta.metadata)
        ));
    }
    match owner.turn.as_deref() {
        Some(_) if has_turn => None,
        // Nobody takes the turn away from who is done while nobody else can use it.
        Some(holder) => Some(format!("It waits for its turn, which {holder} got last")),
        None => Some("The owner gave the turn to nobody yet".to_owned()),
    }
}

fn is_going(snapshot: &Snapshot) -> bool {
    snapshot.wta.metadata.deletion_timestamp.is_some()
}

/// Whether all that the last rendering asks for was done once.
fn is_done(snapshot: &Snapshot) -> bool {
    let Some(kept) = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref()) else {
        return false;
    };
    // What was taken over and never changed has no hash.
    let hash = Some(&kept.rendering.hash).filter(|hash| !hash.is_empty());
    let status = snapshot.wta.status.as_ref();
    match hash {
        Some(_) => status.is_some_and(|status| status.is_real(hash)),
        None => kept.was_ready,
    }
}

/// Whether nothing has to be done for a Workspace but to look at it again: a pause is over that found it done, or whoever runs
/// it says that all is well and never of which generation, as with what was taken over. One that was put to rest because it is
/// not its turn stays so.
pub(super) fn only_to_be_seen(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let synced = workspace.condition("Synced");
    let was_well = synced.is_some_and(|synced| {
        let says_of = synced
            .observed_generation
            .or(workspace.status.observed_generation);
        synced.reason == "ReconcilePaused" || (synced.status == "True" && says_of.is_none())
    });
    let rested = was_well && workspace.is("Ready");
    let status = snapshot.wta.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let said = |type_: &str| {
        find_condition(conditions.unwrap_or_default(), type_).is_some_and(|said| said.status == "True")
    };
    let is_let_on = !policy::is_nothing(&workspace.spec) || said("Paused");
    rested && is_let_on && !said("Waiting") && is_done(snapshot)
}

/// What our runner is told about mending what somebody else changes, if anything is. It would do so whenever it looks, also
/// beside an operation of another one.
pub(super) fn mend(snapshot: &Snapshot, workspace: Option<&WorkspaceSeen>) -> Option<String> {
    let before = workspace.and_then(|workspace| workspace.annotations.get(marks::MEND).cloned());
    let takes_turns = snapshot.owner.as_ref().is_some_and(|owner| owner.takes_turns);
    if !takes_turns {
        return before;
    }
    // Nothing is made of what goes, be it alone or with its owner.
    let is_over = is_going(snapshot) || snapshot.owner.as_ref().is_some_and(|owner| owner.deleting);
    let now = workspace
        .filter(|_| !is_over && waits_for(snapshot).is_none())
        .and_then(WorkspaceSeen::drifted_at);
    now.or(before).or_else(|| Some(marks::IN_TURN.to_owned()))
}

/// Like [`waits_for`], before something is destroyed. Where the owner is gone, it is a person who consents, one object at a
/// time, and nobody else could ever end the wait.
pub(super) fn destruction_waits_for(snapshot: &Snapshot) -> Option<String> {
    snapshot.owner.as_ref().and_then(|_| waits_for(snapshot))
}
