//! What is different when provider-terraform runs Terraform.

use capt_api::foreign::marks;
use k8s_openapi::jiff::Timestamp;

use super::{
    rendered::Rendered,
    snapshot::{Runner, Snapshot, WorkspaceSeen},
};

/// Its words when it does not know how a creation ended. It then does nothing until somebody helps.
const CREATION_UNKNOWN: &str = "cannot determine creation result";
/// Its words when management policies are switched off.
const POLICIES_OFF: &str = "non-default value but the feature is not enabled";

/// Whether provider-terraform acts on the Workspace: because it is the runner here, or because it already does.
pub(super) fn is_foreign(snapshot: &Snapshot, workspace: Option<&WorkspaceSeen>) -> bool {
    snapshot.runner == Runner::Foreign || workspace.is_some_and(|workspace| workspace.used_by_provider)
}

/// Whether state outlives the pod that Terraform runs in. Our runner keeps it; provider-terraform does not by itself.
pub(super) fn has_durable_state(snapshot: &Snapshot, rendered: &Rendered, is_foreign: bool) -> bool {
    let config = snapshot.provider_config.as_ref();
    !is_foreign || rendered.backend.is_some() || config.is_some_and(|config| config.backend.is_some())
}

/// Whether it crashed in the middle of a creation and will not go on by itself.
///
/// Its mark alone proves nothing, because a creation that runs has it too; and its words may be older than the mark.
pub(super) fn is_wedged(workspace: &WorkspaceSeen) -> bool {
    let time = |name: &str| workspace.annotations.get(name)?.parse::<Timestamp>().ok();
    let Some(pending) = time(marks::EXTERNAL_CREATE_PENDING) else {
        return false;
    };
    let ended = [marks::EXTERNAL_CREATE_SUCCEEDED, marks::EXTERNAL_CREATE_FAILED]
        .into_iter()
        .filter_map(time)
        .max();
    let says_so = workspace.condition("Synced").is_some_and(|synced| {
        synced
            .message
            .as_deref()
            .is_some_and(|message| message.contains(CREATION_UNKNOWN))
            && synced.last_transition_time.0 >= pending
    });
    ended.is_none_or(|ended| ended < pending) && says_so
}

/// Whether it was started without management policies, so that nothing here can protect anything.
pub(super) fn has_policies_off(workspace: &WorkspaceSeen) -> bool {
    workspace
        .condition("Synced")
        .and_then(|synced| synced.message.as_deref())
        .is_some_and(|message| message.contains("managementPolicies") && message.contains(POLICIES_OFF))
}
