//! A Workspace that is gone and was not destroyed is made again: only it tells where the state is.

use capt_api::{conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason, marks};

use super::{
    body::Body, confinement, deciding::Deciding, foreign, identity, location, policy::Allowed,
    rendered::Rendered, resolve,
};
use crate::{decision::Desired, render::WorkspaceGroup};

/// The Workspace that an object remembers, to be made once more.
pub(super) struct MadeAgain<'a> {
    body: Body,
    group: WorkspaceGroup,
    namespace: &'a str,
    name: String,
}

impl MadeAgain<'_> {
    /// As this object's, which whoever acts for it finds.
    pub(super) fn create(self) -> Desired {
        self.body.create(self.group, self.namespace, &self.name)
    }

    /// Nobody but the runner ends it.
    pub(super) fn held_by_runner(mut self) -> Desired {
        self.body = self.body.held_by_runner();
        self.create()
    }

    /// It is nobody's, and is kept.
    pub(super) fn kept(mut self, retained_by: String) -> Desired {
        self.body = self.body.kept(retained_by);
        self.create()
    }
}

/// The Workspace that the object remembers, made of its last rendering. It may do nothing yet: it may have been destroyed
/// before anybody could write that down, and must not make anything then.
pub(super) fn make_again<'a>(deciding: &Deciding<'a>) -> Result<MadeAgain<'a>, (Reason, String)> {
    let snapshot = deciding.snapshot;
    if identity::recorded(snapshot).is_none() {
        return Err((
            Reason::RenderingLost,
            format!(
                "The annotation {} names no Workspace. Write its group/name",
                marks::WORKSPACE
            ),
        ));
    }
    if let Some(problem) = resolve::group_mismatch(snapshot, deciding.found) {
        return Err((problem.reason, problem.message));
    }
    let Some((group, name)) = resolve::place(deciding) else {
        return Err((
            Reason::WorkspaceApiMissing,
            "No API serves Workspaces: install the CRDs of provider-terraform, or capt's".to_owned(),
        ));
    };
    if snapshot.namespace_terminating && group == WorkspaceGroup::Namespaced {
        return Err((
            Reason::NamespaceTerminating,
            "Nothing can be made in a namespace that goes".to_owned(),
        ));
    }
    if !snapshot.served.has(group) {
        return Err((
            Reason::WorkspaceApiMissing,
            format!(
                "Workspaces of the group {} cannot be made: install its CRDs",
                group.name()
            ),
        ));
    }
    let fresh = snapshot.rendering.as_ref().ok();
    let rendered: &Rendered = match deciding.kept.map(|kept| &kept.rendering).or(fresh) {
        Some(rendered) => rendered,
        None => {
            return Err((
                Reason::RenderingLost,
                "There is nothing to make the Workspace from. Bring back the template".to_owned(),
            ));
        }
    };
    if !foreign::has_durable_state(deciding, rendered) {
        let message = match foreign::unread_config(deciding) {
            Some(unread) => format!("Whether the Workspace's state went with it is not known: {unread}"),
            None => {
                "The Workspace went and its state with it, because no backend is configured. Destroy the \
                 infrastructure by hand"
                    .to_owned()
            }
        };
        return Err((Reason::NoDurableState, message));
    }
    if let Some(problem) = confinement::check(deciding, rendered, (group, &name)) {
        return Err((problem.reason, problem.message));
    }
    let external_name = location::external_name(snapshot, None, &name);
    let spec = rendered.spec.clone();
    let body =
        Body::new(deciding, None, external_name, spec, &Allowed::Nothing).rendered_from(&rendered.hash);
    Ok(MadeAgain {
        body,
        group,
        namespace: deciding.namespace(),
        name,
    })
}
