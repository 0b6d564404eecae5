//! What people ask for by annotations on a WorkspaceTemplateApply, passed down to whoever runs its Workspace, and how
//! a simulation is told to behave.
//!
//! A request is a token that stays: whoever answers it remembers the last one it answered, so that nothing is lost or
//! done twice by a restart.

use std::collections::BTreeMap;

use capt_api::marks;

use super::{identity, snapshot::Snapshot};

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
