//! How a WorkspaceTemplateApply goes: with its infrastructure, or without.

use capt_api::{
    conditions::workspacetemplateapply::{
        WorkspaceTemplateApplyCondition as Type, WorkspaceTemplateApplyReason as Reason,
    },
    foreign::marks as foreign_marks,
    marks,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{
    again::make_again,
    body::Body,
    deciding::Deciding,
    foreign,
    identity::{self, Found},
    moving, owner,
    policy::{self, Allowed, Fate},
    requests, retention,
    snapshot::WorkspaceSeen,
    turns, waits,
};
use crate::{commands, crds::CrdObstacle, decision::Removal};

/// Decides about an object that is going away and holds our finalizer.
pub(super) fn decide(deciding: &mut Deciding<'_>) {
    let snapshot = deciding.snapshot;
    if let Some(group) = identity::hidden(snapshot, deciding.found) {
        // One that is destroyed and one that is not look the same from here.
        let message = format!(
            "What became of the infrastructure is not known. {}",
            identity::let_read(group)
        );
        return deciding.say(Type::Deleting, true, Reason::WorkspaceApiMissing, message);
    }
    let is_recorded = identity::annotation(&snapshot.wta.metadata, marks::WORKSPACE).is_some();
    match deciding.found {
        Found::Absent if !is_recorded => {
            moving::release_state(deciding);
            let status = snapshot.wta.status.as_ref();
            if status.is_some_and(|status| status.workspace_name.is_some()) {
                deciding.say(
                    Type::Deleting,
                    true,
                    Reason::Destroyed,
                    "The infrastructure is destroyed",
                );
            }
            return deciding.go();
        }
        Found::Retained(workspace) => return retention::end(deciding, workspace),
        // Its owner would take it for what is left of this one, and make this one again to end it.
        Found::LeftBehind(workspace) if owner::lets_go(&snapshot.wta) && !moving::is_marked(workspace) => {
            let message = moving::moved_away(snapshot, workspace);
            return hold(deciding, Reason::WorkspaceMovedAway, message);
        }
        // It never was this one's.
        Found::LeftBehind(_) => return deciding.go(),
        _ => {}
    }
    match policy::fate(snapshot, deciding.found) {
        Fate::Retained => retention::retain(deciding),
        Fate::LeftToOwner => leave_to_owner(deciding),
        Fate::Destroyed => destroy(deciding),
        Fate::WaitsForOwner => hold(
            deciding,
            Reason::WaitingForOwner,
            "The owner is going away too, and has not come to this one yet".to_owned(),
        ),
        Fate::OwnerSilent => {
            let owner = owner::in_words(&owner::silent(&snapshot.wta).unwrap_or_default());
            let message = format!(
                "The owner {owner} did not consent to destruction, which it does by the annotation {}=true on this \
                 object. {}",
                marks::LET_GO,
                ways_out(deciding)
            );
            hold(deciding, Reason::ConsentMissing, message);
        }
        Fate::OwnerGone => {
            let ways_out = ways_out(deciding);
            let message = format!("The owner is gone and did not consent to destruction. {ways_out}");
            hold(deciding, Reason::OwnerGone, message);
        }
        Fate::NamespaceTerminating => hold(deciding, Reason::NamespaceTerminating, namespace_goes(deciding)),
        Fate::CrdTerminating => {
            let obstacle = snapshot.crd_obstacle.as_ref();
            let message = obstacle.map_or_else(String::new, CrdObstacle::message);
            hold(
                deciding,
                Reason::CrdTerminating,
                format!("{message}. {}", keeping(deciding)),
            );
        }
    }
}

/// What becomes of an object that is going away and is paused, as soon as it is not paused any more. Who ends a pause must
/// not be surprised by what that destroys.
pub(super) fn after_the_pause(deciding: &Deciding<'_>) -> String {
    let snapshot = deciding.snapshot;
    let is_recorded = identity::annotation(&snapshot.wta.metadata, marks::WORKSPACE).is_some();
    let is_over = matches!(deciding.found, Found::Absent | Found::LeftBehind(_)) && !is_recorded;
    let is_hidden = identity::hidden(snapshot, deciding.found).is_some();
    let begun = deciding.found.ours().filter(|workspace| workspace.deleting);
    match policy::fate(snapshot, deciding.found) {
        _ if is_over && !is_hidden => "It is being deleted, and goes when the pause ends; it has no infrastructure".to_owned(),
        Fate::Retained => match begun {
            Some(workspace) => format!(
                "It is being deleted, and goes when the pause ends. The destruction of its infrastructure had begun: what \
                 that leaves is kept with the Workspace {}",
                workspace.name
            ),
            None => "It is being deleted, and goes when the pause ends; its infrastructure is kept".to_owned(),
        },
        Fate::Destroyed if begun.is_some() => {
            "It is being deleted, and the destruction of its infrastructure has begun. What that leaves is destroyed when \
             the pause ends"
                .to_owned()
        }
        Fate::Destroyed => format!(
            "It is being deleted: ending the pause destroys its infrastructure. To keep that, first: {}",
            to_keep(deciding)
        ),
        Fate::LeftToOwner => {
            "It is being deleted, and its owner makes it again when the pause ends; its infrastructure is kept"
                .to_owned()
        }
        Fate::WaitsForOwner => {
            "It is being deleted, and its owner too: when the pause ends, the owner says when its infrastructure is \
             destroyed"
                .to_owned()
        }
        Fate::OwnerSilent | Fate::OwnerGone | Fate::NamespaceTerminating | Fate::CrdTerminating => {
            "It is being deleted; when the pause ends, its infrastructure stays until somebody says what becomes of it"
                .to_owned()
        }
    }
}

/// What a person can do where no owner says what becomes of infrastructure.
fn ways_out(deciding: &Deciding<'_>) -> String {
    format!(
        "To destroy the infrastructure: {}. To keep it: {}",
        commands::kubectl(
            "annotate wtapply",
            &deciding.snapshot.wta.metadata,
            &format!("{}=true", marks::LET_GO)
        ),
        to_keep(deciding)
    )
}

/// What a person types to let an object go and keep its infrastructure.
fn to_keep(deciding: &Deciding<'_>) -> String {
    let spec = "--type merge -p '{\"spec\":{\"retainWorkspaceOnDelete\":true}}'";
    commands::kubectl("patch wtapply", &deciding.snapshot.wta.metadata, spec)
}

/// What a person can do where a namespace goes and infrastructure is in it.
fn namespace_goes(deciding: &Deciding<'_>) -> String {
    let secrets = &deciding.snapshot.state_secrets;
    let secrets: Vec<&str> = secrets.iter().map(|secret| secret.name.as_str()).collect();
    let (state, let_go) = match secrets.as_slice() {
        [] => (String::new(), String::new()),
        secrets => (
            format!(
                ", which is in the {} {} and held there",
                waits::plural("Secret", secrets.len()),
                secrets.join(", ")
            ),
            format!(
                "; and the state: kubectl patch secret {} -n {} --type merge -p '{{\"metadata\":{{\"finalizers\":null}}}}'",
                secrets.join(" "),
                deciding.namespace()
            ),
        ),
    };
    format!(
        "Nothing is destroyed because a namespace goes, and nothing can be made in it any more to destroy it with. First \
         save the state{state}, this object and its template: how, and how to bring everything back in a namespace of the \
         same name, is in docs/runner.md, \"When its namespace goes\". Then let it go and keep the infrastructure: \
         {}{let_go}",
        to_keep(deciding)
    )
}

/// Keeps everything, and takes back a grant that was given before.
fn hold(deciding: &mut Deciding<'_>, reason: Reason, message: String) {
    if reason == Reason::NamespaceTerminating && matches!(deciding.found, Found::Absent) {
        deciding.say(
            Type::Applied,
            false,
            reason,
            "The Workspace went with its namespace",
        );
    }
    if let Some(workspace) = deciding.found.ours() {
        withdraw(deciding, workspace);
        deciding.record_present(workspace);
    }
    deciding.say(Type::Deleting, true, reason, message);
}

/// Takes back a grant.
pub(super) fn withdraw(deciding: &mut Deciding<'_>, workspace: &WorkspaceSeen) {
    if policy::grants_destruction(&workspace.spec) {
        let body = Body::restating(deciding, workspace, &Allowed::Nothing);
        let change = body.change(workspace, deciding.namespace());
        deciding.children.extend(change);
    }
}

/// The owner makes the object again, which then finds the Workspace and its state. As long as it would not find them, this
/// one stays: the next would make everything a second time.
fn leave_to_owner(deciding: &mut Deciding<'_>) {
    match deciding.found {
        Found::Absent => match make_again(deciding) {
            // Somebody deleted the Workspace too. Without it nobody would know where the state is.
            Ok(made) => {
                deciding.children.push(made.create());
                deciding.say(
                    Type::Deleting,
                    true,
                    Reason::WaitingForOwner,
                    "The Workspace is made again before this object goes, so that the state is found",
                );
            }
            Err((reason, problem)) => {
                let message = format!("{problem}. {}", making_anew(deciding));
                hold(deciding, reason, message);
            }
        },
        Found::NotOurs(_) | Found::PerhapsLegacy(_) | Found::Several(..) => {
            let message = format!(
                "What the owner makes in place of this object would not find its Workspace. {}. {}",
                unclear_identity(deciding),
                making_anew(deciding)
            );
            hold(deciding, Reason::WorkspaceNotOurs, message);
        }
        found => {
            if let Some(workspace) = found.ours() {
                withdraw(deciding, workspace);
            }
            deciding.go();
        }
    }
}

/// What a person can do where the owner lives, and what it makes in place of this object cannot find what there is.
fn making_anew(deciding: &Deciding<'_>) -> String {
    format!(
        "To have the owner make everything anew, beside what may exist: {}",
        commands::kubectl(
            "annotate wtapply",
            &deciding.snapshot.wta.metadata,
            &format!("{}-", marks::WORKSPACE)
        )
    )
}

/// Why it is not clear which Workspace is this object's, and what to do.
fn unclear_identity(deciding: &Deciding<'_>) -> String {
    match deciding.found {
        Found::Several(first, second) => format!(
            "The Workspaces {} and {} both say that they are this object's. Take the labels from one of them",
            first.name, second.name
        ),
        Found::NotOurs(workspace) | Found::PerhapsLegacy(workspace) => {
            let labels = identity::labels(deciding.snapshot, true);
            let lost: Vec<String> = [marks::WTA_NAMESPACE, marks::WTA_NAME]
                .iter()
                .filter_map(|label| Some(format!("{label}={}", labels.get(*label)?)))
                .collect();
            format!(
                "The Workspace {} does not say that it is this object's. If it is, give it the labels {}",
                workspace.name,
                lost.join(" and ")
            )
        }
        _ => String::new(),
    }
}

fn destroy(deciding: &mut Deciding<'_>) {
    let snapshot = deciding.snapshot;
    if let Found::NotOurs(_) | Found::PerhapsLegacy(_) | Found::Several(..) = deciding.found {
        let message = format!(
            "Nothing is destroyed that may be somebody else's. {}. {}",
            unclear_identity(deciding),
            keeping(deciding)
        );
        return hold(deciding, Reason::WorkspaceNotOurs, message);
    }
    if is_wish_to_keep_lost(deciding) {
        let message = "The last rendering is gone, and there is no other, so that nobody knows whether the template wants \
                       the infrastructure kept. Bring back the template, or set spec.retainWorkspaceOnDelete to true or \
                       to false"
            .to_owned();
        return hold(deciding, Reason::RenderingLost, message);
    }
    let dependents = waits::dependents(snapshot);
    if !dependents.is_empty() {
        let message = format!(
            "These wait for this one and must go first: {}",
            dependents.join(", ")
        );
        return hold(deciding, Reason::WaitingForDependents, message);
    }
    if let Some(message) = turns::destruction_waits_for(snapshot) {
        return hold(deciding, Reason::WaitingForTurn, message);
    }
    match deciding.found.ours() {
        Some(workspace) => destroy_present(deciding, workspace),
        None => match make_again(deciding) {
            Ok(made) => {
                deciding.children.push(made.held_by_runner());
                deciding.say(
                    Type::Deleting,
                    true,
                    Reason::Destroying,
                    "The Workspace went before its infrastructure; it is made again to destroy that",
                );
            }
            Err((reason, problem)) => hold(deciding, reason, format!("{problem}. {}", keeping(deciding))),
        },
    }
}

/// Whether a template may have forbidden destruction and nothing is left that could say so. A deletion in the foreground
/// removes the Secret with the last rendering long before the object itself goes. What the Go implementation made says it
/// by its own policies.
fn is_wish_to_keep_lost(deciding: &Deciding<'_>) -> bool {
    let snapshot = deciding.snapshot;
    let is_made = matches!(deciding.found, Found::Ours(_) | Found::TakenBack(_));
    is_made
        && deciding.kept.is_none()
        && snapshot.rendering.is_err()
        && snapshot.wta.spec.retain_workspace_on_delete.is_none()
}

/// The way out that loses nothing.
fn keeping(deciding: &Deciding<'_>) -> String {
    format!(
        "To let this object go and keep what exists: {}",
        to_keep(deciding)
    )
}

fn destroy_present(deciding: &mut Deciding<'_>, workspace: &WorkspaceSeen) {
    if deciding.may_be_foreign && foreign::is_wedged(workspace) {
        return undo_wedge(deciding, workspace);
    }
    let is_held = workspace
        .finalizers
        .iter()
        .any(|name| name == foreign_marks::CROSSPLANE_FINALIZER);
    // What may do nothing, or would make or mend something, is deleted before it may do everything, so that nothing is
    // begun in between.
    let is_granted = policy::grants_destruction(&workspace.spec);
    let is_calm = is_granted || (workspace.is_settled() && !workspace.is("Drifted"));
    let is_still = !workspace.deleting && (policy::is_nothing(&workspace.spec) || !is_calm);
    let allowed = if is_still {
        Allowed::Nothing
    } else {
        Allowed::Destruction
    };
    let mut body = Body::restating(deciding, workspace, &allowed);
    if !workspace.deleting {
        body = body.held_by_runner();
    }
    let change = body.change(workspace, deciding.namespace());
    match change {
        Some(change) => {
            deciding.children.push(change);
            if workspace.deleting && is_held {
                // With this grant the runner destroys, and may be done before anybody looks again.
                deciding.record_nothing();
            } else {
                deciding.record_present(workspace);
            }
        }
        None if is_held && is_still => {
            deciding.removals.push(removal(deciding, workspace));
            deciding.record_present(workspace);
        }
        // From here on the runner destroys, and holds the object until it has.
        None if is_held => {
            if !workspace.deleting {
                deciding.removals.push(removal(deciding, workspace));
            }
            deciding.record_nothing();
        }
        None => deciding.record_present(workspace),
    }
    let trouble = workspace
        .condition("Synced")
        .filter(|synced| synced.status != "True" && synced.reason != "ReconcilePaused")
        .and_then(|synced| synced.message.clone())
        .filter(|trouble| !trouble.is_empty());
    let message = match trouble {
        Some(trouble) if !workspace.deleting || is_tried_again(workspace) => {
            format!("The infrastructure is being destroyed: {trouble}")
        }
        // No other spec brings a state back.
        Some(trouble) if requests::misses_state(workspace) => {
            let again = requests::say_destroyed_again(deciding.snapshot, deciding.kept);
            let again = again.map_or_else(String::new, |again| format!("{again}. "));
            format!(
                "The infrastructure is being destroyed: {trouble}\n{again}{}",
                keeping(deciding)
            )
        }
        Some(trouble) => format!(
            "The infrastructure is being destroyed: {trouble}\nThe template does not change what it is destroyed with. \
             {}",
            mending(deciding, workspace)
        ),
        None => "The infrastructure is being destroyed".to_owned(),
    };
    deciding.say(Type::Deleting, true, Reason::Destroying, message);
}

/// Whether the runner says that nobody needs to do anything about a failure.
fn is_tried_again(workspace: &WorkspaceSeen) -> bool {
    let failing = workspace
        .condition("Failing")
        .filter(|failing| failing.status == "True");
    let words = failing.and_then(|failing| failing.message.as_deref());
    words.is_some_and(|words| words.trim_end().ends_with("tried again by itself."))
}

/// What a person can do where a destruction failed.
fn mending(deciding: &Deciding<'_>, workspace: &WorkspaceSeen) -> String {
    let mend = to_workspace(deciding, workspace, "edit", "");
    format!(
        "To mend that, change its spec.forProvider: {mend}. {}",
        keeping(deciding)
    )
}

/// What a person types to do something to a Workspace.
pub(super) fn to_workspace(
    deciding: &Deciding<'_>,
    workspace: &WorkspaceSeen,
    verb: &str,
    rest: &str,
) -> String {
    let target = workspace.target(deciding.namespace());
    let metadata = ObjectMeta {
        name: Some(workspace.name.clone()),
        namespace: target.namespace,
        ..ObjectMeta::default()
    };
    let group = workspace.group.map_or("tf.m.upbound.io", |group| group.name());
    commands::kubectl(&format!("{verb} workspaces.{group}"), &metadata, rest)
}

/// provider-terraform destroys nothing whose creation was cut short. Without the grant it lets the object go, which is
/// then made again to be destroyed; that it must be is written down first.
fn undo_wedge(deciding: &mut Deciding<'_>, workspace: &WorkspaceSeen) {
    if !identity::is_recorded(deciding.snapshot, workspace) {
        deciding.record_present(workspace);
    } else if policy::grants_destruction(&workspace.spec) {
        let body = Body::restating(deciding, workspace, &Allowed::Life(None));
        let change = body.change(workspace, deciding.namespace());
        deciding.children.extend(change);
    } else if !workspace.deleting {
        deciding.removals.push(removal(deciding, workspace));
    }
    deciding.say(
        Type::Deleting,
        true,
        Reason::CreationInterrupted,
        "provider-terraform was stopped in the middle of a creation; the Workspace is made again to be destroyed",
    );
}

fn removal(deciding: &Deciding<'_>, workspace: &WorkspaceSeen) -> Removal {
    Removal {
        target: workspace.target(deciding.namespace()),
        uid: workspace.uid.clone(),
        resource_version: workspace.resource_version.clone(),
    }
}
