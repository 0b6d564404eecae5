//! What an owner says while it is paused.

use super::seen::OwnedSeen;

/// What is said, in a pause, in place of what was under way when it began and has come to its end.
pub(crate) const HELD_UP: &str = "Nothing runs at present; it goes on when the pause ends";

/// The same before what was said of a deletion, which goes on with just that.
pub(crate) fn held_up(told: &str) -> String {
    match told.starts_with(HELD_UP) {
        true => told.to_owned(),
        false => format!("{HELD_UP}: {told}"),
    }
}

/// That nothing is done, and why; and what still runs of all that an owner has made, which comes to its end first.
pub(crate) fn paused<'a>(sources: &[String], owned: impl Iterator<Item = &'a OwnedSeen>) -> String {
    let because = sources.join(", ");
    let running: Vec<&str> = owned
        .filter(|seen| seen.is_at_work())
        .map(OwnedSeen::name)
        .collect();
    match running.as_slice() {
        [] => format!("Nothing is done, because {because}"),
        running => format!(
            "A running operation finishes first (WorkspaceTemplateApply {}); nothing else is done, because {because}",
            running.join(", ")
        ),
    }
}
