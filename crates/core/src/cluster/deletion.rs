//! How a Cluster goes: its workers, its control plane, its infrastructure, and then it itself.

use capt_api::{
    conditions::cluster::{ClusterCondition as Type, ClusterReason as Reason},
    foreign::marks,
};

use super::{
    adoption,
    contract::{Contracted, Role},
    deciding::Deciding,
    snapshot::{Referenced, Snapshot},
};
use crate::{crds, decision::Removal};

/// How many names a message names.
const NAMED: usize = 10;

/// Decides about a Cluster that is going away and holds our finalizer.
pub(super) fn decide(deciding: &mut Deciding<'_>) {
    let snapshot = deciding.snapshot;
    if let Some(obstacle) = &snapshot.crd_obstacle {
        deciding.look_again(Some(crds::LOOK_AGAIN));
        return deciding.say(Type::Deleting, true, Reason::CrdTerminating, obstacle.message());
    }
    if !snapshot.workers.is_empty() {
        return remove_workers(deciding);
    }
    for role in [Role::ControlPlane, Role::Infrastructure] {
        let (referenced, reason) = match role {
            Role::ControlPlane => (&snapshot.control_plane, Reason::WaitingForControlPlaneDeletion),
            Role::Infrastructure => (&snapshot.infrastructure, Reason::WaitingForInfrastructureDeletion),
        };
        match referenced {
            Referenced::Unset | Referenced::Missing => {}
            // Whether it is gone is not known, so that nothing that it needs may go.
            Referenced::Unresolvable(problem) => {
                return deciding.say(Type::Deleting, true, Reason::InternalError, problem.clone());
            }
            Referenced::Found(object) => {
                // What is named as something that it cannot be was never taken over as that.
                if is_ours(snapshot, object) && object.misfit(role).is_none() {
                    return remove(deciding, object, reason);
                }
            }
        }
    }
    deciding.say(
        Type::Deleting,
        true,
        Reason::DeletionCompleted,
        "All of it is gone",
    );
    let name = deciding.name();
    deciding.tell("Deleted", format!("The Cluster {name} is deleted"));
    let finalizers = &mut deciding.decision.own.remove_finalizers;
    finalizers.push(marks::CLUSTER_FINALIZER.to_owned());
}

/// What becomes of a Cluster that is going away and is paused, as soon as it is not paused any more.
pub(super) fn after_the_pause(snapshot: &Snapshot) -> String {
    let objects = [&snapshot.control_plane, &snapshot.infrastructure];
    let names: Vec<String> = objects
        .into_iter()
        .filter_map(Referenced::found)
        .filter(|object| is_ours(snapshot, object))
        .map(|object| format!("{} {}", object.target.kind, object.target.name))
        .collect();
    if names.is_empty() {
        return "It is being deleted, and goes when the pause ends".to_owned();
    }
    format!(
        "It is being deleted: ending the pause deletes {}, with what they made",
        names.join(" and ")
    )
}

/// What another Cluster owns is not ours to delete.
fn is_ours(snapshot: &Snapshot, object: &Contracted) -> bool {
    adoption::other_owner(snapshot, object).is_none()
}

fn remove(deciding: &mut Deciding<'_>, object: &Contracted, reason: Reason) {
    if !object.deleting {
        deciding.decision.removals.push(Removal {
            target: object.target.clone(),
            uid: object.uid.clone(),
            resource_version: object.resource_version.clone(),
        });
    }
    let mut message = format!("Waiting for {} {} to go", object.target.kind, object.target.name);
    // What it does meanwhile changes often, and stands there. That it cannot go is what people have to know.
    let failure = object
        .condition("Deleting")
        .filter(|deleting| deleting.status == "True" && deleting.reason.ends_with("Failed"));
    if let Some(failure) = failure {
        message = format!("{message}: {}", failure.message);
    }
    deciding.say(Type::Deleting, true, reason, message);
}

fn remove_workers(deciding: &mut Deciding<'_>) {
    let workers = &deciding.snapshot.workers;
    for worker in workers
        .iter()
        .filter(|worker| worker.owned_by_cluster && !worker.deleting)
    {
        deciding.decision.removals.push(Removal {
            target: worker.target.clone(),
            uid: worker.uid.clone(),
            resource_version: worker.resource_version.clone(),
        });
    }
    let mut names: Vec<String> = workers
        .iter()
        .map(|worker| format!("{} {}", worker.target.kind, worker.target.name))
        .collect();
    names.sort();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let mut message = format!("Waiting for {} to go", names.join(", "));
    if more > 0 {
        message = format!("{message}, and {more} more");
    }
    deciding.say(Type::Deleting, true, Reason::WaitingForWorkersDeletion, message);
}
