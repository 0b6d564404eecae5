//! WorkspaceTemplateApplies and Workspaces that somebody deleted, and that are made again.

use super::seen::OwnedSeen;

/// Whether something was real, by the revision that its owner told, and its WorkspaceTemplateApply is not there or does not
/// know of it yet: somebody deleted the one that did. What it finds is what was there, as far as anybody knows.
#[must_use]
pub fn is_made_again(seen: Option<&OwnedSeen>, told: Option<&str>) -> bool {
    let knows = |seen: &OwnedSeen| {
        let status = seen.wta.status.as_ref();
        status.is_some_and(|status| status.ready_revision.is_some()) || seen.wants_other(told)
    };
    told.is_some() && !seen.is_some_and(knows)
}

/// That, in words.
#[must_use]
pub fn words_of_made_again(name: &str) -> String {
    format!("The WorkspaceTemplateApply {name} was gone. It is made again, and finds its Workspace")
}

/// Whether somebody deleted the Workspace of what was real and is to stay as it is. It goes or is gone without its
/// infrastructure, or it is made again and nobody has looked at it yet.
#[must_use]
pub fn is_workspace_made_again(seen: &OwnedSeen) -> bool {
    let status = seen.wta.status.as_ref();
    let was_real = status.is_some_and(|status| status.ready_revision.is_some());
    // What was said before it was made was said about the one before.
    let said = seen.condition("Ready").map(|ready| ready.last_transition_time.0);
    let is_new = seen.workspace.as_ref().is_none_or(|workspace| {
        let is_said_of_it = said.is_some_and(|said| workspace.created_at.is_none_or(|made| made <= said));
        workspace.deleting || !is_said_of_it
    });
    was_real && is_new && !seen.is_deleting() && !seen.wants_other(None)
}

/// That, in words.
#[must_use]
pub fn words_of_workspace_made_again(name: &str) -> String {
    format!("Somebody deleted the Workspace {name}. It is made again, and finds its state")
}
