//! What is left of WorkspaceTemplateApplies that are gone.
//!
//! What one watch tells may be older than what another tells: a Workspace that was destroyed, or is nobody's any more, may
//! still be known as it was when its WorkspaceTemplateApply is known to be gone. So the API itself is asked, which costs
//! nothing as long as nothing is left.

use capt_api::marks;
use capt_core::{
    decision::Target,
    names,
    owned::{Left, LeftWorkspace},
    render::WorkspaceGroup,
    wta::{policy::grants_destruction, snapshot::WorkspaceSeen},
};
use kube::{
    Api, Client, ResourceExt as _,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};

use super::Facts;
use crate::{
    Hands,
    engine::{call::within_deadline, execute::Failure, table::Serving, wakes::Reader},
};

impl Facts {
    /// What stands in the way where Workspaces cannot be read: whoever sees none would say that none is left. Those of the whole
    /// cluster count only where they are made, because somebody who has rights in one namespace only cannot read them.
    fn unread_workspaces(
        &self,
        reader: &Reader,
        namespace: &str,
        made: Option<WorkspaceGroup>,
    ) -> Option<Failure> {
        let hides = |group| {
            let serving = self.workspaces_of(group).serving(reader);
            matches!(serving, Serving::Unknown | Serving::Hidden)
        };
        let made = made.unwrap_or(match self.workspaces.serving(reader) {
            Serving::No => WorkspaceGroup::ClusterScoped,
            _ => WorkspaceGroup::Namespaced,
        });
        let groups = [WorkspaceGroup::Namespaced, made];
        let hidden = groups.into_iter().find(|group| hides(*group));
        hidden.map(|group| Failure::Hidden {
            target: Target {
                api_version: format!("{}/v1beta1", group.name()),
                kind: "Workspace".to_owned(),
                namespace: Some(namespace.to_owned()),
                name: String::new(),
            },
        })
    }

    /// What is left of a WorkspaceTemplateApply that is gone, if anything is.
    pub(crate) async fn left(
        &self,
        hands: &Hands,
        reader: &Reader,
        namespace: &str,
        apply: &str,
    ) -> Result<Option<Left>, Failure> {
        let (client, made) = (&hands.client, hands.options.workspace_api);
        if let Some(unread) = self.unread_workspaces(reader, namespace, made) {
            return Err(unread);
        }
        let mut workspaces = Vec::new();
        for known in self.workspaces_left_for(reader, namespace, apply) {
            // What may be destroyed is about to be, and what was moved away is nobody's here.
            let is_moved = known.annotations.contains_key(marks::MOVED_AWAY);
            if !is_moved
                && !grants_destruction(&known.spec)
                && is_left(client, &known, namespace, apply).await?
            {
                workspaces.push(LeftWorkspace::of(&known, namespace));
            }
        }
        Ok((!workspaces.is_empty()).then(|| Left {
            apply: apply.to_owned(),
            workspaces,
        }))
    }
}

/// Whether a Workspace still says that it belongs to a WorkspaceTemplateApply of this name.
async fn is_left(
    client: &Client,
    known: &WorkspaceSeen,
    namespace: &str,
    apply: &str,
) -> Result<bool, Failure> {
    let group = known.group.unwrap_or(WorkspaceGroup::Namespaced);
    let kind = GroupVersionKind::gvk(group.name(), "v1beta1", "Workspace");
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match group {
        WorkspaceGroup::Namespaced => Api::namespaced_with(client.clone(), namespace, &resource),
        WorkspaceGroup::ClusterScoped => Api::all_with(client.clone(), &resource),
    };
    let now = within_deadline(api.get_metadata_opt(&known.name))
        .await
        .map_err(|source| Failure::Call {
            action: "look at",
            target: known.target(namespace),
            source,
        })?;
    let label = names::label_value(apply);
    Ok(now.is_some_and(|now| {
        now.uid().as_deref() == Some(&known.uid) && now.labels().get(marks::WTA_NAME) == Some(&label)
    }))
}
