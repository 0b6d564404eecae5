//! Turns: where an owner's children may operate only one at a time, it says whose turn it is.

use super::{owner, snapshot::Snapshot};

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
    let own = snapshot.wta.metadata.name.as_deref();
    match owner.turn.as_deref() {
        Some(holder) if Some(holder) == own => None,
        Some(holder) => Some(format!("It is the turn of {holder}")),
        None => Some("The owner gave the turn to nobody yet".to_owned()),
    }
}

/// Whether all that the last rendering asks for was done once.
fn is_done(snapshot: &Snapshot) -> bool {
    let Some(kept) = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref()) else {
        return false;
    };
    // What was taken over and never changed has no hash.
    let hash = Some(&kept.rendering.hash).filter(|hash| !hash.is_empty());
    let ready = snapshot.wta.status.as_ref().map(|status| &status.ready_revision);
    match hash {
        Some(hash) => ready.is_some_and(|ready| ready.as_ref() == Some(hash)),
        None => kept.was_ready,
    }
}

/// Like [`waits_for`], before something is destroyed. Where the owner is gone, it is a person who consents, one object at a
/// time, and nobody else could ever end the wait.
pub(super) fn destruction_waits_for(snapshot: &Snapshot) -> Option<String> {
    snapshot.owner.as_ref().and_then(|_| waits_for(snapshot))
}
