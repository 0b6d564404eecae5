//! How a CAPTCluster goes: after the control planes in it, and with its VPC or without.

use capt_api::{
    conditions::{
        Word as _,
        captcluster::{CAPTClusterCondition as Type, CAPTClusterReason as Reason},
    },
    marks,
};

use super::{deciding::Deciding, secrets};
use crate::{
    decision::{Event, EventKind},
    owned::{self, End, Fate, Found, Role},
};

/// Decides about an object that is going away and holds our finalizer.
pub(super) fn decide(deciding: &mut Deciding<'_>) {
    let snapshot = deciding.snapshot;
    if !snapshot.control_planes.is_empty() {
        let mut names = snapshot.control_planes.clone();
        names.sort();
        let message = format!("Waiting for {} to go, which need this network", names.join(", "));
        return deciding.say(Type::Deleting, true, Reason::WaitingForControlPlane, message);
    }
    deciding.status.ready = false;
    deciding.say(Type::Ready, false, Reason::Deleting, "The network is going away");
    let is_retained = snapshot.captcluster.spec.retain_vpc_on_delete == Some(true);
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
        let next = owned::end(&deciding.owner, &Role::Vpc, apply, fate, retry);
        // A person may have said so on the WorkspaceTemplateApply itself.
        let is_kept = is_retained || (apply.is_retained() && !matches!(next, End::Mark(_)));
        let (reason, message) = if is_kept {
            (
                Reason::VpcRetained,
                "The VPC, its Workspace and its state are kept",
            )
        } else {
            (Reason::WaitingForWorkspace, "The VPC is being destroyed")
        };
        let (mut reason, mut message) = (reason, message.to_owned());
        match next {
            End::Mark(change) => deciding.decision.children.push(*change),
            End::Remove(removal) => deciding.decision.removals.push(removal),
            End::Wait { message: waits } if !waits.is_empty() => {
                message = format!("The WorkspaceTemplateApply {}: {waits}", apply.name());
            }
            End::Wait { .. } => {}
            End::Stuck { message: why } => {
                (reason, message) = (
                    Reason::VpcDeletionFailed,
                    format!("The WorkspaceTemplateApply {}: {why}", apply.name()),
                );
            }
        }
        let is_stuck = reason == Reason::VpcDeletionFailed;
        deciding.status.failure_reason = is_stuck.then(|| reason.as_str().to_owned());
        deciding.status.failure_message = is_stuck.then(|| message.clone());
        return deciding.say(Type::Deleting, true, reason, message);
    }
    if let (Found::Absent { name }, Some(_)) = (&deciding.found, &snapshot.workspace_uid) {
        tell_left(deciding, &name.clone());
    }
    let own = secrets::own(snapshot, &deciding.owner);
    let removals: Vec<_> = own
        .map(|secret| secrets::removal(secret, &deciding.owner))
        .collect();
    deciding.decision.removals.extend(removals);
    let finalizers = &mut deciding.decision.own.remove_finalizers;
    finalizers.push(marks::CAPTCLUSTER_FINALIZER.to_owned());
}

/// Somebody deleted the WorkspaceTemplateApply, and its Workspace outlived it. What had been said about keeping it went
/// with it, so that nothing of it may be destroyed.
fn tell_left(deciding: &mut Deciding<'_>, name: &str) {
    deciding.decision.events.push(Event {
        kind: EventKind::Warning,
        reason: Reason::VpcRetained.as_str().to_owned(),
        message: owned::left(&[name]),
    });
}
