//! What is different when provider-terraform runs Terraform.

use capt_api::{foreign::marks, marks::RUNNER};
use k8s_openapi::jiff::Timestamp;

use super::{
    deciding::Deciding,
    policy,
    rendered::Rendered,
    snapshot::{Runner, Snapshot, Usage, WorkspaceSeen},
};
use crate::render::WorkspaceGroup;

/// Its words when it does not know how a creation ended. It then does nothing until somebody helps.
const CREATION_UNKNOWN: &str = "cannot determine creation result";
/// Its words when management policies are switched off.
const POLICIES_OFF: &str = "non-default value but the feature is not enabled";

/// Whether provider-terraform acts on the Workspace: because it is the runner here, or because it already does.
pub(super) fn is_foreign(snapshot: &Snapshot, workspace: Option<&WorkspaceSeen>) -> bool {
    let is_used = |workspace: &WorkspaceSeen| workspace.used_by_provider == Usage::Yes;
    snapshot.runner == Runner::Foreign || workspace.is_some_and(is_used)
}

/// Whether provider-terraform may act on the Workspace, although nobody can tell. What protects from it counts then too.
pub(super) fn may_be_foreign(snapshot: &Snapshot, workspace: Option<&WorkspaceSeen>) -> bool {
    is_foreign(snapshot, workspace)
        || workspace.is_some_and(|workspace| workspace.used_by_provider == Usage::Hidden)
}

/// What to do where nobody can tell whether provider-terraform acts on a Workspace.
pub(super) fn unread_usage(workspace: &WorkspaceSeen) -> String {
    let (group, role) = match workspace.group {
        Some(WorkspaceGroup::ClusterScoped) => (WorkspaceGroup::ClusterScoped, "a ClusterRole"),
        _ => (WorkspaceGroup::Namespaced, "a Role in this namespace"),
    };
    format!(
        "Whether provider-terraform runs the Workspace is not known. Give the controllers {role} that allows get, list \
         and watch of providerconfigusages.{}",
        group.name()
    )
}

/// A Workspace that nobody may give to our runner, because it may be provider-terraform's.
pub(super) fn is_nobodys(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let is_shared = matches!(snapshot.runner, Runner::Ours { label: Some(_) });
    is_shared && workspace.used_by_provider == Usage::Hidden && !workspace.labels.contains_key(RUNNER)
}

/// Whether state outlives the pod that Terraform runs in. Our runner keeps it; provider-terraform does not by itself.
///
/// A provider configuration that is not seen says nothing against what is remembered of it.
pub(super) fn has_durable_state(deciding: &Deciding<'_>, rendered: &Rendered) -> bool {
    let remembered = deciding
        .kept
        .and_then(|kept| kept.location.config_backend.as_ref());
    let backend = match deciding.snapshot.readable_config() {
        Some(config) => config.backend.as_ref(),
        None => remembered,
    };
    !deciding.is_foreign || rendered.backend.is_some() || backend.is_some()
}

/// What to do if the provider configuration cannot be read.
pub(super) fn unread_config(deciding: &Deciding<'_>) -> Option<String> {
    let config = deciding.snapshot.provider_config.as_ref();
    config.filter(|config| config.hidden).map(|_| {
        "the provider configuration that the Workspace names may not be read. Give the controllers a ClusterRole that \
         allows get, list and watch of provider configurations"
            .to_owned()
    })
}

/// Whether it crashed in the middle of a creation and will not go on by itself.
///
/// Its mark alone proves nothing, because a creation that runs has it too; and its words may be older than the mark.
pub(super) fn is_wedged(workspace: &WorkspaceSeen) -> bool {
    unfinished_since(workspace).is_some_and(|pending| says_that_it_does_not_know(workspace, pending))
}

/// Whether it may be in the middle of a creation.
///
/// When that ends, it writes its own copy of the object back over whatever was changed meanwhile, and that copy leaves
/// empty lists out: policies that allow nothing come out of it as the default, which allows everything.
pub(super) fn is_creating(workspace: &WorkspaceSeen) -> bool {
    unfinished_since(workspace).is_some_and(|pending| !says_that_it_does_not_know(workspace, pending))
}

/// When the last creation began, if its end was not written down.
fn unfinished_since(workspace: &WorkspaceSeen) -> Option<Timestamp> {
    let time = |name: &str| workspace.annotations.get(name)?.parse::<Timestamp>().ok();
    let pending = time(marks::EXTERNAL_CREATE_PENDING)?;
    let ended = [marks::EXTERNAL_CREATE_SUCCEEDED, marks::EXTERNAL_CREATE_FAILED]
        .into_iter()
        .filter_map(time)
        .max();
    ended.is_none_or(|ended| ended < pending).then_some(pending)
}

fn says_that_it_does_not_know(workspace: &WorkspaceSeen, pending: Timestamp) -> bool {
    workspace.condition("Synced").is_some_and(|synced| {
        let message = synced.message.as_deref().unwrap_or_default();
        message.contains(CREATION_UNKNOWN) && synced.last_transition_time.0 >= pending
    })
}

/// Whether it was started without management policies, so that nothing here can protect anything.
///
/// It refuses policies that are not the default then, but takes those that allow nothing for the default.
pub(super) fn has_policies_off(workspace: &WorkspaceSeen) -> bool {
    workspace.condition("Synced").is_some_and(|synced| {
        let message = synced.message.as_deref().unwrap_or_default();
        let refuses = message.contains("managementPolicies") && message.contains(POLICIES_OFF);
        let goes_on = policy::is_nothing(&workspace.spec)
            && workspace.is_current(synced)
            && synced.reason == "ReconcileSuccess";
        refuses || goes_on
    })
}
