//! A network whose WorkspaceTemplateApply somebody deleted, and that is made again.

use std::time::Duration;

use super::deciding::Deciding;
use crate::{
    owned::{self, OwnedSeen, Standing, standing},
    timing::between,
};

/// How long a WorkspaceTemplateApply that is made again may take to find its Workspace.
const FINDING: Duration = Duration::from_secs(60);

/// Whether a network that served has a WorkspaceTemplateApply that does not know of it yet, because somebody deleted the one
/// that did. That changes nothing about the network, unless its Workspace is gone too: then that says that it is not ready, or
/// nobody says anything for too long.
pub(super) fn is_found_again(deciding: &mut Deciding<'_>, apply: Option<&OwnedSeen>) -> bool {
    let status = deciding.snapshot.captcluster.status.as_ref();
    let report = status.and_then(|status| status.workspace_template_status.as_ref());
    let told = report.and_then(|report| report.last_applied_revision.as_deref());
    let serves = status.is_some_and(|status| status.ready && status.vpc_id.is_some());
    let is_lost = apply.is_some_and(|apply| {
        let ready = apply.condition("Ready");
        standing(apply) != Standing::Working || ready.is_some_and(|ready| ready.status == "False")
    });
    if is_lost || !serves || !deciding.was_provisioned() || !owned::is_made_again(apply, told) {
        return false;
    }
    let made = apply.and_then(|apply| apply.wta.metadata.creation_timestamp.as_ref());
    let since = made.map_or(deciding.now, |made| made.0);
    let rest = FINDING.saturating_sub(between(since, deciding.now));
    if !rest.is_zero() {
        deciding.decision.look_again = Some(rest);
    }
    !rest.is_zero()
}
