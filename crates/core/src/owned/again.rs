//! WorkspaceTemplateApplies and Workspaces that somebody deleted, and that are made again.

use k8s_openapi::jiff::Timestamp;

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

/// Since when the Workspace of what was real and is to stay as it is is made again, if somebody deleted it: since it goes or is
/// gone without its infrastructure, or since there is a new one, which nobody has looked at yet.
#[must_use]
pub fn workspace_made_again(seen: &OwnedSeen) -> Option<Timestamp> {
    let status = seen.wta.status.as_ref();
    let was_real = status.is_some_and(|status| status.ready_revision.is_some());
    if !was_real || seen.is_deleting() || seen.wants_other(None) {
        return None;
    }
    match seen.workspace.as_ref().filter(|workspace| !workspace.deleting) {
        Some(workspace) => {
            // What was said before it was made was said about the one before.
            let said = seen.condition("Ready").map(|ready| ready.last_transition_time.0);
            workspace
                .created_at
                .filter(|made| said.is_none_or(|said| said < *made))
        }
        None => {
            let applied = seen
                .condition("Applied")
                .filter(|applied| applied.status == "False");
            applied.map(|applied| applied.last_transition_time.0)
        }
    }
}

/// That, in words.
#[must_use]
pub fn words_of_workspace_made_again(name: &str) -> String {
    format!(
        "The Workspace {name} was deleted, or its status was emptied. It finds its state, and tells again how things are"
    )
}
