//! What is kept on purpose: the Workspace becomes nobody's, and stays with its state and its infrastructure.
//!
//! Whoever wants to keep something may think of it late, when its Workspace is being deleted already. That cannot be
//! undone, and one that goes and may do nothing would go for ever. So it goes without its infrastructure, which a runner
//! lets it do where it may do everything but destroy, and is made again as one that is kept.

use capt_api::{
    conditions::workspacetemplateapply::{
        WorkspaceTemplateApplyCondition as Type, WorkspaceTemplateApplyReason as Reason,
    },
    foreign::marks as foreign_marks,
};

use super::{
    again::make_again,
    body::Body,
    deciding::Deciding,
    deletion, foreign,
    identity::{self, Found},
    moving,
    policy::Allowed,
    resolve,
    snapshot::WorkspaceSeen,
    waits,
};

const KEPT: &str = "The Workspace, its state and its infrastructure are kept";

/// Keeps everything, and lets the object go.
pub(super) fn retain(deciding: &mut Deciding<'_>) {
    match deciding.found {
        Found::Absent => made_again(deciding),
        found => match found.ours() {
            Some(workspace) => present(deciding, workspace),
            None => leave(deciding, KEPT),
        },
    }
}

/// Lets the object go whose Workspace is marked as kept.
pub(super) fn end(deciding: &mut Deciding<'_>, workspace: &WorkspaceSeen) {
    // Its deletion may have been seen only after it was marked. One that is not recorded never was this object's, and one
    // that carries labels is somebody else's by now.
    if workspace.deleting
        && identity::is_recorded(deciding.snapshot, workspace)
        && !identity::carries_an_identity(workspace)
        && outlasts_its_workspace(deciding)
    {
        return let_go(deciding, workspace);
    }
    moving::unlabel_state(deciding);
    deciding.go();
}

fn leave(deciding: &mut Deciding<'_>, message: impl Into<String>) {
    moving::unlabel_state(deciding);
    deciding.say(Type::Deleting, true, Reason::Retained, message);
    deciding.go();
}

fn made_again(deciding: &mut Deciding<'_>) {
    match make_again(deciding) {
        Ok(made) => {
            deciding.children.push(made.kept(waits::key(deciding.snapshot)));
            let message = "What is left of the infrastructure is kept with its state. The Workspace was gone: it is made again \
                           so that the state is found, and may do nothing";
            leave(deciding, message);
        }
        // This is the way out of whatever keeps a Workspace from being made, and stays one.
        Err((_, problem)) => {
            let message =
                format!("The infrastructure is kept, but not the Workspace, which is gone. {problem}");
            leave(deciding, message);
        }
    }
}

fn present(deciding: &mut Deciding<'_>, workspace: &WorkspaceSeen) {
    // It is written down first, because it may go, and must be made again then.
    if !identity::is_recorded(deciding.snapshot, workspace) {
        deletion::withdraw(deciding, workspace);
        remember(deciding, workspace);
        deciding.record_present(workspace);
        let message = words(deciding, workspace);
        return deciding.say(Type::Deleting, true, Reason::Retained, message);
    }
    if workspace.deleting && outlasts_its_workspace(deciding) {
        return let_go(deciding, workspace);
    }
    let message = words(deciding, workspace);
    match Body::retained(workspace, waits::key(deciding.snapshot)).change(workspace, deciding.namespace()) {
        // Its deletion may not have been seen yet. What is seen after this is newer.
        Some(change) => {
            deciding.children.push(change);
            deciding.say(Type::Deleting, true, Reason::Retained, message);
        }
        None => leave(deciding, message),
    }
}

/// Lets a Workspace go without its infrastructure.
fn let_go(deciding: &mut Deciding<'_>, workspace: &WorkspaceSeen) {
    let body = Body::restating(deciding, workspace, &Allowed::Life(None));
    let change = body.change(workspace, deciding.namespace());
    deciding.children.extend(change);
    let message = words(deciding, workspace);
    deciding.say(Type::Deleting, true, Reason::Retained, message);
}

/// What a Workspace that goes is made of again, where nobody knows that any more.
fn remember(deciding: &mut Deciding<'_>, workspace: &WorkspaceSeen) {
    if workspace.deleting && deciding.kept.is_none() {
        let is_legacy = matches!(deciding.found, Found::Legacy(_));
        let baseline = resolve::baseline(deciding, workspace, is_legacy);
        deciding.keep(&baseline);
    }
}

/// Whether the state of a Workspace stays where it is when the object goes.
fn outlasts_its_workspace(deciding: &Deciding<'_>) -> bool {
    let fresh = deciding.snapshot.rendering.as_ref().ok();
    let rendered = deciding.kept.map(|kept| &kept.rendering).or(fresh);
    rendered.map_or(!deciding.is_foreign, |rendered| {
        foreign::has_durable_state(deciding, rendered)
    })
}

fn words(deciding: &Deciding<'_>, workspace: &WorkspaceSeen) -> String {
    if !workspace.deleting {
        return KEPT.to_owned();
    }
    let name = &workspace.name;
    if !outlasts_its_workspace(deciding) {
        let why = match foreign::unread_config(deciding) {
            Some(unread) => format!("whether its state would go with it is not known, because {unread}"),
            None => "its state, for which no backend is configured, would go with it".to_owned(),
        };
        return format!("{KEPT}. The Workspace {name} was being deleted already and stays so: {why}");
    }
    let has_begun = workspace
        .condition("Ready")
        .is_some_and(|ready| ready.reason == "Deleting");
    let begun = match has_begun {
        true => " The destruction of its infrastructure had begun: what that leaves is kept.",
        false => "",
    };
    let until = match workspace.is_paused_by_hand() {
        true => {
            let end = format!("{}-", foreign_marks::CROSSPLANE_PAUSED);
            let command = deletion::to_workspace(deciding, workspace, "annotate", &end);
            format!(", as soon as its own pause ends: {command}")
        }
        false => String::new(),
    };
    format!(
        "The Workspace {name} was being deleted already.{begun} It goes without its infrastructure, and is made again to be \
         kept with its state{until}"
    )
}
