//! How a CAPTCluster goes: after the control planes in it, and with its VPC or without.

use capt_api::{
    CAPTCluster,
    conditions::{
        Word as _,
        captcluster::{CAPTClusterCondition as Type, CAPTClusterReason as Reason},
    },
    marks,
};

use super::{deciding::Deciding, secrets, work};
use crate::{
    commands, crds,
    decision::{Event, EventKind},
    metadata,
    owned::{self, End, Fate, Found, Left, OwnedSeen, Role},
};

/// Name of the WorkspaceTemplateApply that an object made and that does not exist any more, if the object is going away and
/// will not make it again.
#[must_use]
pub fn name_left(captcluster: &CAPTCluster, applies: &[OwnedSeen]) -> Option<String> {
    let status = captcluster.status.as_ref();
    // A name that it would give may be something else's, so that there must have been a Workspace.
    let had_one = status.is_some_and(|status| status.vpc_workspace_name.is_some());
    let is_absent = super::apply_of(captcluster, applies).is_none();
    let is_left = metadata::is_deleting(&captcluster.metadata) && had_one && is_absent;
    is_left.then(|| super::apply_name(captcluster, applies))
}

/// What becomes of an object that is going away and is paused, as soon as it is not paused any more. Who ends a pause must
/// not be surprised by what that destroys.
pub(super) fn after_the_pause(deciding: &Deciding<'_>) -> String {
    let captcluster = &deciding.snapshot.captcluster;
    let apply = match deciding.found {
        Found::Ours(apply) | Found::OtherRole { seen: apply, .. } => Some(apply),
        _ => None,
    };
    let is_retained = captcluster.spec.retain_vpc_on_delete == Some(true);
    match apply.filter(|apply| apply.has_workspace()) {
        Some(apply) if apply.is_being_destroyed() && !is_retained && !apply.is_retained() => {
            "It is being deleted, and the destruction of its VPC has begun. What that leaves is destroyed when the pause ends"
                .to_owned()
        }
        Some(apply) if is_retained || apply.is_retained() => {
            "It is being deleted, and goes when the pause ends; its VPC is kept".to_owned()
        }
        Some(_) => format!(
            "It is being deleted: ending the pause destroys its VPC. To keep that, first: {}",
            commands::kubectl(
                "patch captcluster",
                &captcluster.metadata,
                "--type merge -p '{\"spec\":{\"retainVpcOnDelete\":true}}'"
            )
        ),
        None if deciding.snapshot.left.is_some() && !is_retained => {
            "It is being deleted; when the pause ends, its VPC stays until somebody says what becomes of it"
                .to_owned()
        }
        None => "It is being deleted, and goes when the pause ends; nothing is destroyed".to_owned(),
    }
}

/// Decides about an object that is going away and holds our finalizer.
pub(super) fn decide(deciding: &mut Deciding<'_>) {
    let snapshot = deciding.snapshot;
    if !snapshot.control_planes.is_empty() {
        let mut names = snapshot.control_planes.clone();
        names.sort();
        let need = if names.len() == 1 { "needs" } else { "need" };
        let message = format!(
            "Waiting for {} to go, which {need} this network",
            names.join(", ")
        );
        // What serves does so until then, and what does not yet never will.
        if !deciding.status.ready {
            let going = format!("The network is going away and is not made any further. {message}");
            deciding.say(Type::Ready, false, Reason::Deleting, going);
        }
        return deciding.say(Type::Deleting, true, Reason::WaitingForControlPlane, message);
    }
    deciding.status.ready = false;
    let is_retained = snapshot.captcluster.spec.retain_vpc_on_delete == Some(true);
    let going = match is_retained {
        true => "This object is going away, and its VPC is kept",
        false => "The network is going away",
    };
    deciding.say(Type::Ready, false, Reason::Deleting, going);
    // What the spec only names and nothing here ever took over is not ours to end.
    // It has nothing but its network, whatever somebody wrote into a label that says what for.
    if let Found::Ours(apply) | Found::OtherRole { seen: apply, .. } = deciding.found {
        let fate = if is_retained {
            Fate::Retained
        } else {
            Fate::Destroyed
        };
        let retry = deciding.retry.filter(|_| apply.trouble.is_some());
        deciding.answer_retry();
        let next = if owned::may_end(&snapshot.captcluster.metadata, apply) {
            owned::end(
                &deciding.owner,
                &Role::Vpc,
                apply,
                fate,
                retry,
                snapshot.crd_obstacle.as_ref(),
            )
        } else {
            End::Wait {
                message: String::new(),
            }
        };
        // A person may have said so on the WorkspaceTemplateApply itself.
        let is_kept = is_retained || (apply.is_retained() && !matches!(next, End::Mark(_)));
        let (mut reason, mut message) = if !apply.has_workspace() {
            let message = format!(
                "No VPC was made for it; the WorkspaceTemplateApply {} goes",
                apply.name()
            );
            (Reason::WaitingForWorkspace, message)
        } else if is_kept {
            let is_going = apply
                .workspace
                .as_ref()
                .is_some_and(|workspace| workspace.deleting);
            let message = match is_going {
                true => "What is left of the VPC is kept, with its Workspace and its state",
                false => "The VPC, its Workspace and its state are kept",
            }
            .to_owned();
            (Reason::VpcRetained, message)
        } else {
            (
                Reason::WaitingForWorkspace,
                "The VPC is being destroyed".to_owned(),
            )
        };
        match next {
            End::Mark(change) => deciding.decision.children.push(*change),
            End::Remove(removal) => deciding.decision.removals.push(removal),
            End::Wait { message: waits } if !waits.is_empty() => {
                message = format!("The WorkspaceTemplateApply {}: {waits}", apply.name());
            }
            End::Wait { .. } => {}
            End::Obstructed { message: why } => {
                deciding.decision.look_again = Some(crds::LOOK_AGAIN);
                (reason, message) = (Reason::CrdTerminating, why);
            }
            End::Stuck { message: why } => {
                (reason, message) = (
                    Reason::VpcDeletionFailed,
                    format!("The WorkspaceTemplateApply {}: {why}", apply.name()),
                );
            }
        }
        let is_stuck = matches!(reason, Reason::VpcDeletionFailed | Reason::CrdTerminating);
        deciding.status.failure_reason = is_stuck.then(|| reason.as_str().to_owned());
        deciding.status.failure_message = is_stuck.then(|| message.clone());
        return deciding.say(Type::Deleting, true, reason, message);
    }
    if let (Found::Absent { .. }, Some(left)) = (&deciding.found, &snapshot.left)
        && see_to(deciding, left, is_retained)
    {
        return;
    }
    deciding.status.failure_reason = None;
    deciding.status.failure_message = None;
    let own = secrets::own(snapshot, &deciding.owner);
    let removals: Vec<_> = own
        .map(|secret| secrets::removal(secret, &deciding.owner))
        .collect();
    deciding.decision.removals.extend(removals);
    let finalizers = &mut deciding.decision.own.remove_finalizers;
    finalizers.push(marks::CAPTCLUSTER_FINALIZER.to_owned());
}

/// Sees to a network that outlived its WorkspaceTemplateApply, which somebody deleted. Whether there is anything to wait for.
fn see_to(deciding: &mut Deciding<'_>, left: &Left, is_retained: bool) -> bool {
    let metadata = &deciding.snapshot.captcluster.metadata;
    let answer = owned::answer(metadata, &left.apply);
    if is_retained || answer == Some(Fate::Retained) {
        deciding.decision.events.push(Event {
            kind: EventKind::Warning,
            reason: Reason::VpcRetained.as_str().to_owned(),
            message: left.kept(),
        });
        return false;
    }
    let reference = deciding.snapshot.captcluster.spec.vpc_template_ref.as_ref();
    let (Some(Fate::Destroyed), Some(reference)) = (answer, reference) else {
        let question = left.question("captcluster", metadata);
        deciding.status.failure_reason = Some(Reason::VpcDeletionFailed.as_str().to_owned());
        deciding.status.failure_message = Some(question.clone());
        deciding.say(Type::Deleting, true, Reason::VpcDeletionFailed, question);
        return true;
    };
    // Only another WorkspaceTemplateApply can end it.
    let (wanted, _) = work::wanted(deciding, reference);
    let change = wanted.change(&deciding.owner, None);
    deciding.decision.children.extend(change);
    deciding.status.failure_reason = None;
    deciding.status.failure_message = None;
    let message = format!(
        "The WorkspaceTemplateApply {} is gone and its Workspace is left; it is made again to end that",
        left.apply
    );
    deciding.say(Type::Deleting, true, Reason::WaitingForWorkspace, message);
    true
}
