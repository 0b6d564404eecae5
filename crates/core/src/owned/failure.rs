//! That something failed, remembered where others need the turn.
//!
//! A child that failed gives up its turn and is paused, and a paused Workspace does not say any more that it failed.
//! Without a memory the child would get in line again, and fail again, for ever. So its owner writes down on it what it
//! failed with. That is over when something else is wanted of it, or a person asks for another try.

use capt_api::{WorkspaceTemplateApply, marks};
use serde::{Deserialize, Serialize};

use super::{
    seen::{OwnedSeen, wanted_revision},
    standing::{Standing, standing},
};
use crate::metadata;

/// The longest message that is remembered.
const MAX_MESSAGE: usize = 1024;

/// What failed, as it is written down.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
struct Failed {
    /// Hash of the rendering that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    /// The last try that a person had asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<String>,
    /// Why it failed.
    message: String,
}

/// What has to be written down, if anything has.
pub(super) fn mark(seen: &OwnedSeen) -> Option<String> {
    let Standing::Failed { message } = standing(seen) else {
        return None;
    };
    let failed = Failed {
        revision: seen.wanted_revision().map(str::to_owned),
        retry: seen.annotation(marks::RETRY_REQUESTED).map(str::to_owned),
        message: message.chars().take(MAX_MESSAGE).collect(),
    };
    serde_json::to_string(&failed).ok()
}

/// Why the one that waits for its turn failed when it had it, if it did and nothing changed since.
pub(crate) fn remembered(wta: &WorkspaceTemplateApply) -> Option<String> {
    let says = |mark| metadata::annotation(&wta.metadata, mark);
    let failed: Failed = serde_json::from_str(says(marks::FAILED)?).ok()?;
    let is_the_same = failed.revision.as_deref() == wanted_revision(wta)
        && failed.retry.as_deref() == says(marks::RETRY_REQUESTED);
    is_the_same.then_some(failed.message)
}
