//! What people ask for by annotations on a WorkspaceTemplateApply, passed down to whoever runs its Workspace, and how
//! a simulation is told to behave.
//!
//! A request is a token that stays: whoever answers it remembers the last one it answered, so that nothing is lost or
//! done twice by a restart.

use std::collections::BTreeMap;

use capt_api::marks;

use super::{
    identity,
    kept::Kept,
    snapshot::{Snapshot, WorkspaceSeen},
};

/// Marks that are passed down.
pub(super) const ALL: [&str; 11] = {
    let [fail, message, kind, times, seconds, drift] = marks::SIMULATE;
    [
        marks::PLAN_REQUESTED,
        marks::RETRY_REQUESTED,
        marks::APPROVED,
        marks::ALLOW_DESTRUCTIVE,
        marks::UNLOCK,
        fail,
        message,
        kind,
        times,
        seconds,
        drift,
    ]
};

/// The marks that the Workspace gets. provider-terraform does not know them; that one of them changes wakes it, which
/// is all that a retry can be there. An approval that is used up stays behind, so that nobody uses it who does not know.
pub(super) fn passed_down(
    snapshot: &Snapshot,
    is_foreign: bool,
    used_approval: Option<&str>,
) -> BTreeMap<String, String> {
    let marks: &[&str] = if is_foreign {
        &[marks::RETRY_REQUESTED]
    } else {
        &ALL
    };
    marks
        .iter()
        .filter_map(|mark| {
            let value = identity::annotation(&snapshot.wta.metadata, mark)?;
            let is_used_up = *mark == marks::APPROVED && used_approval == Some(value);
            (!is_used_up).then(|| ((*mark).to_owned(), value.to_owned()))
        })
        .collect()
}

/// What somebody says who knows that nothing exists any more of what a Workspace lost the state of. Text after a slash
/// makes it another time.
fn said_destroyed(snapshot: &Snapshot) -> Option<&str> {
    let value = identity::annotation(&snapshot.wta.metadata, marks::DESTROYED)?;
    let word = value.split_once('/').map_or(value, |(word, _)| word);
    (word == "true").then_some(value)
}

/// Whether the Workspace is told that nothing exists any more. That counts for the state that is missing now, and never
/// for one that somebody loses later.
pub(super) fn is_told_destroyed(
    snapshot: &Snapshot,
    kept: Option<&Kept>,
    workspace: Option<&WorkspaceSeen>,
) -> bool {
    let used = kept.and_then(|kept| kept.used_destroyed.as_deref());
    let counts = said_destroyed(snapshot).is_some_and(|value| used != Some(value));
    counts && workspace.is_some_and(|workspace| misses_state(workspace) || has_mark(workspace))
}

/// The word that counts no more: one that finds nothing missing, because the Workspace began anew or never lost anything.
pub(super) fn used_destroyed(
    snapshot: &Snapshot,
    kept: Option<&Kept>,
    workspace: Option<&WorkspaceSeen>,
) -> Option<String> {
    let used = kept.and_then(|kept| kept.used_destroyed.clone());
    match workspace {
        Some(workspace) if !misses_state(workspace) && !has_mark(workspace) => {
            said_destroyed(snapshot).map(str::to_owned).or(used)
        }
        _ => used,
    }
}

/// What a person types who said it once already, where that counts no more.
pub(super) fn say_destroyed_again(snapshot: &Snapshot, kept: Option<&Kept>) -> Option<String> {
    let used = kept.and_then(|kept| kept.used_destroyed.as_deref())?;
    let value = said_destroyed(snapshot).filter(|value| *value == used)?;
    let again = match value {
        "true/again" => "true/once-more",
        _ => "true/again",
    };
    let command = crate::commands::kubectl(
        "annotate --overwrite wtapply",
        &snapshot.wta.metadata,
        &format!("{}={again}", marks::DESTROYED),
    );
    Some(format!(
        "The annotation that it has was set before and does not count for this; use another value: {command}"
    ))
}

/// Whether a Workspace says that there is no state of what was made for it.
pub(super) fn misses_state(workspace: &WorkspaceSeen) -> bool {
    let told = workspace.condition("StateComplete");
    told.is_some_and(|told| told.status == "False" && told.reason == "StateMissing")
}

fn has_mark(workspace: &WorkspaceSeen) -> bool {
    workspace
        .annotations
        .get(marks::DESTROYED)
        .is_some_and(|value| value == "true")
}
