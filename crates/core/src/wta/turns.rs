//! Turns: where an owner's children may operate only one at a time, it says whose turn it is.

use super::snapshot::Snapshot;

/// Whom the object has to wait for before anything is run, in words.
pub(super) fn waits_for(snapshot: &Snapshot) -> Option<String> {
    let owner = snapshot.owner.as_ref().filter(|owner| owner.takes_turns)?;
    let own = snapshot.wta.metadata.name.as_deref();
    match owner.turn.as_deref() {
        Some(holder) if Some(holder) == own => None,
        Some(holder) => Some(format!("It is the turn of {holder}")),
        None => Some("The owner gave the turn to nobody yet".to_owned()),
    }
}
