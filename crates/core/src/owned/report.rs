//! What an owner says about the Workspace behind it.

use std::collections::BTreeMap;

use capt_api::workspacestatus::WorkspaceTemplateStatus;
use serde_json::Value;

use super::{
    seen::OwnedSeen,
    standing::{Standing, standing},
};

/// The longest message that is repeated in an owner's status.
const MAX_MESSAGE: usize = 4096;

/// What is known about the Workspace behind an owner. What was said before and is not known any more stays.
#[must_use]
pub fn report(seen: &OwnedSeen, before: Option<&WorkspaceTemplateStatus>) -> WorkspaceTemplateStatus {
    let status = seen.wta.status.clone().unwrap_or_default();
    let standing = standing(seen);
    let ready = seen.condition("Ready");
    let mut report = WorkspaceTemplateStatus {
        ready: standing == Standing::Ready,
        state: ready.map(|ready| ready.reason.clone()),
        workspace_name: seen.told_workspace().map(str::to_owned),
        // One that was made again does not know it yet.
        last_applied_revision: status
            .ready_revision
            .or_else(|| before.and_then(|before| before.last_applied_revision.clone())),
        last_applied_time: before.and_then(|before| before.last_applied_time.clone()),
        last_failed_revision: before.and_then(|before| before.last_failed_revision.clone()),
        last_failure_message: before.and_then(|before| before.last_failure_message.clone()),
        outputs: status.outputs.as_ref().map(texts),
    };
    // The WorkspaceTemplateApply's own time is when the Workspace was written; it was made real when it became ready.
    let is_new =
        report.last_applied_revision != before.and_then(|before| before.last_applied_revision.clone());
    if is_new || report.last_applied_time.is_none() {
        report.last_applied_time = report
            .last_applied_revision
            .as_ref()
            .and_then(|_| status.last_applied_time.clone());
    }
    match standing {
        Standing::Failed { message } | Standing::Refused { message, .. } => {
            report.last_failed_revision = status
                .pending_revision
                .or(status.last_applied_revision)
                .or(report.last_failed_revision);
            report.last_failure_message = Some(message.chars().take(MAX_MESSAGE).collect());
        }
        // What failed before is nothing of what is done now, or was done since.
        Standing::Working | Standing::Ready => {
            report.last_failed_revision = None;
            report.last_failure_message = None;
        }
        Standing::Going { .. }
        | Standing::Waiting { .. }
        | Standing::AwaitsApproval { .. }
        | Standing::Retrying { .. } => {}
    }
    report
}

/// Outputs as texts: lists and maps as JSON.
fn texts(outputs: &BTreeMap<String, Value>) -> BTreeMap<String, String> {
    outputs
        .iter()
        .map(|(name, value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            (name.clone(), text)
        })
        .collect()
}
