//! Whose a state is, if two Workspaces lead to the same one.

use capt_api::{
    foreign::{ClusterWorkspace, Workspace},
    marks::STATE_HOME,
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
    let home = Home::Ours(place.clone()).name();
    let refusal = || {
        format!(
            "{home} is the state of the Workspace {owner}, and this one leads to the same: give it another external name and \
             remove the annotation state-home. To delete it and leave that state alone, take Delete out of \
             spec.managementPolicies"
        )
    };
    // In its own namespace a tenant can name any Workspace on the Secret, and must not learn whether that exists.
    let is_outside = namespace_of(owner) != Some(place.namespace.as_str());
    if is_outside && view.tenant() == Some(place.namespace.as_str()) {
        return Ok(Some(refusal()));
    }
    let Some(found) = find(ctx, owner).await? else {
        return Ok(None);
    };
    let theirs = found.annotations.unwrap_or_default();
    if theirs.get(STATE_HOME).is_some_and(|written| *written != home) {
        return Ok(None);
    }
    Ok(Some(refusal()))
}

/// The namespace of a Workspace as a state names it; empty for a cluster-scoped one.
fn namespace_of(claim: &str) -> Option<&str> {
    claim.split('/').nth(1)
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
