//! A network whose WorkspaceTemplateApply or Workspace somebody deleted, and that is made again.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::deciding::Deciding;
use crate::{
    owned::{self, OwnedSeen, Standing, standing},
    timing::between,
};

/// How long what is made again may take to find what was there.
const FINDING: Duration = Duration::from_secs(60);

/// What is made again for a network that served, in words: its WorkspaceTemplateApply of this name, which does not know of the
/// network yet, or its Workspace, which nobody has looked at. Neither changes anything about the network, until the Workspace
/// says that it is not ready, or nobody says anything for too long.
pub(super) fn found_again(
    deciding: &mut Deciding<'_>,
    name: &str,
    apply: Option<&OwnedSeen>,
) -> Option<String> {
    let status = deciding.snapshot.captcluster.status.as_ref();
    let report = status.and_then(|status| status.workspace_template_status.as_ref());
    let told = report.and_then(|report| report.last_applied_revision.as_deref());
    let serves = status.is_some_and(|status| status.ready && status.vpc_id.is_some());
    let is_lost = apply.is_some_and(|apply| {
        let ready = apply.condition("Ready");
        standing(apply) != Standing::Working || ready.is_some_and(|ready| ready.status == "False")
    });
    if is_lost || !serves || !deciding.was_provisioned() {
        return None;
    }
    let (since, words) = made_again(deciding.now, name, apply, told)?;
    let rest = FINDING.saturating_sub(between(since, deciding.now));
    if rest.is_zero() {
        return None;
    }
    deciding.decision.look_again = Some(rest);
    Some(words)
}

/// What is made again, since when, and in words.
fn made_again(
    now: Timestamp,
    name: &str,
    apply: Option<&OwnedSeen>,
    told: Option<&str>,
) -> Option<(Timestamp, String)> {
    if owned::is_made_again(apply, told) {
        let made = apply.and_then(|apply| apply.wta.metadata.creation_timestamp.as_ref());
        return Some((made.map_or(now, |made| made.0), owned::words_of_made_again(name)));
    }
    let apply = apply?;
    let since = owned::workspace_made_again(apply)?;
    let words = owned::words_of_workspace_made_again(apply.workspace_name());
    Some((since, words))
}
