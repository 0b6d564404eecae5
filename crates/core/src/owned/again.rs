//! WorkspaceTemplateApplies that somebody deleted, and that are made again.

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
