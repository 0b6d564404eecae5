//! Whose a state is, if two Workspaces lead to the same one.

use capt_api::{
    foreign::{ClusterWorkspace, Workspace},
    marks::{STATE_HOME, WTA_NAMESPACE},
};
use capt_core::render::WorkspaceGroup;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;

use crate::{
    api::{CallError, call},
    context::Context,
    inputs::Home,
    store::{Kept, Place},
    view::WorkspaceView,
};

/// How a Workspace is called on its state.
pub(crate) fn claim(view: &WorkspaceView) -> String {
    let namespace = view.namespace.as_deref().unwrap_or_default();
    format!("{}/{namespace}/{}", view.group.name(), view.name)
}

/// Why a state is not this Workspace's to use: another one that is still there has it. One that is gone, and one whose
/// state is somewhere else by now, have no use for it any more.
pub(crate) async fn belongs_to_another(
    ctx: &Context,
    view: &WorkspaceView,
    place: &Place,
    kept: &Kept,
) -> Result<Option<String>, CallError> {
    let Some(owner) = kept.owner().filter(|owner| *owner != claim(view)) else {
        return Ok(None);
    };
    let Some(found) = find(ctx, owner).await? else {
        return Ok(None);
    };
    if !may_keep_state_in(&found, &place.namespace) && view.tenant() == Some(place.namespace.as_str()) {
        return Ok(None);
    }
    let home = Home::Ours(place.clone()).name();
    let theirs = found.annotations.unwrap_or_default();
    if theirs.get(STATE_HOME).is_some_and(|written| *written != home) {
        return Ok(None);
    }
    Ok(Some(format!(
        "{home} is the state of the Workspace {owner}, and this one leads to the same: give it another external name \
         and remove the annotation state-home. To delete it and leave that state alone, take Delete out of \
         spec.managementPolicies"
    )))
}

/// Whether a Workspace may have its state in a tenant's namespace. A Secret there can name any Workspace, and must not tell
/// whether that exists.
fn may_keep_state_in(workspace: &ObjectMeta, namespace: &str) -> bool {
    let labels = workspace.labels.as_ref();
    let own = workspace
        .namespace
        .as_ref()
        .or_else(|| labels.and_then(|labels| labels.get(WTA_NAMESPACE)));
    own.map(String::as_str) == Some(namespace)
}

async fn find(ctx: &Context, owner: &str) -> Result<Option<ObjectMeta>, CallError> {
    let mut parts = owner.splitn(3, '/');
    let (Some(group), Some(namespace), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
        return Ok(None);
    };
    let client = ctx.client.clone();
    let metadata = if group == WorkspaceGroup::ClusterScoped.name() {
        let api: Api<ClusterWorkspace> = Api::all(client);
        call(api.get_metadata_opt(name))
            .await?
            .map(|found| found.metadata)
    } else {
        let api: Api<Workspace> = Api::namespaced(client, namespace);
        call(api.get_metadata_opt(name))
            .await?
            .map(|found| found.metadata)
    };
    Ok(metadata)
}
