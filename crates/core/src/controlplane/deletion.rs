//! How a CAPTControlPlane goes: what stands on the EKS cluster first, then the EKS cluster, then what let others in,
//! then the object.

use capt_api::{
    captcontrolplane::OperationResult, conditions::captcontrolplane::CAPTControlPlaneReason as Reason, marks,
};

use super::{
    adoption::{self, Remnant},
    deciding::Deciding,
    fargate,
    judging::{Answer, Note},
    kubeconfig,
    progress::{self, Now},
    snapshot::SecretSeen,
    taking, view,
};
use crate::{
    decision::Removal,
    metadata,
    owned::{self, End, Fate, Found, OwnedSeen, Role},
    wta::owner,
};

/// Decides about a control plane that is going away and holds our finalizer.
pub(super) fn decide(deciding: &mut Deciding<'_>) {
    // What was never taken over is not ours to destroy.
    let eks = match deciding.found {
        Found::Ours(seen) => Some(seen),
        _ => None,
    };
    let dependents: Vec<&OwnedSeen> = dependents(deciding);
    let (message, percent) = if !dependents.is_empty() {
        let names: Vec<&str> = dependents.iter().map(|seen| seen.name()).collect();
        let names = names.join(", ");
        let waits: Vec<String> = dependents
            .into_iter()
            .filter_map(|seen| {
                let (role, fate) = role_and_fate(deciding, seen);
                end(deciding, seen, &role, fate)
            })
            .collect();
        (
            join(&format!("These go before the EKS cluster: {names}"), &waits),
            10,
        )
    } else if let Some(eks) = eks {
        deciding.status.endpoint = None;
        let wait = end(deciding, eks, &Role::Eks, Fate::Destroyed);
        let message = join(
            &format!(
                "The EKS cluster goes, with its WorkspaceTemplateApply {}",
                eks.name()
            ),
            wait.as_slice(),
        );
        (message, 30)
    } else {
        deciding.status.endpoint = None;
        if remove_secrets(deciding) {
            ("The Secrets that let others in go".to_owned(), 95)
        } else {
            return go(deciding);
        }
    };
    let takers = taking::takers(deciding);
    let turns = taking::give(deciding, &takers);
    fargate::tell_going(deciding, &turns);
    advance(deciding, percent, &message);
    deciding.say(view::deleting(Some(&message)));
    deciding.stay(&Note::new(Reason::Deleting, message), &Answer::Unknown);
}

/// Everything of this owner but the EKS cluster.
fn dependents<'a>(deciding: &Deciding<'a>) -> Vec<&'a OwnedSeen> {
    let label = deciding.owner.label();
    let eks = deciding.found.usable().map(OwnedSeen::name);
    deciding
        .snapshot
        .applies
        .iter()
        .filter(|seen| owner::recorded(&seen.wta).as_ref() == Some(&label) && Some(seen.name()) != eks)
        .collect()
}

/// What one of them is for, and what becomes of it.
fn role_and_fate(deciding: &Deciding<'_>, seen: &OwnedSeen) -> (Role, Fate) {
    let remnant = adoption::remnant(deciding.owner.name, seen.name());
    let fate = remnant.map_or(Fate::Destroyed, Remnant::fate);
    let profile = seen
        .label(marks::ROLE)
        .and_then(|role| role.strip_prefix("fargate-profile."))
        .unwrap_or_else(|| seen.name());
    (Role::FargateProfile(profile.to_owned()), fate)
}

/// Takes the next step to the end of one, and says what it waits for.
fn end(deciding: &mut Deciding<'_>, seen: &OwnedSeen, role: &Role, fate: Fate) -> Option<String> {
    match owned::end(&deciding.owner, role, seen, fate) {
        End::Mark(mark) => {
            deciding.children.push(*mark);
            None
        }
        End::Remove(removal) => {
            deciding.removals.push(removal);
            None
        }
        End::Wait { message } if message.is_empty() => None,
        End::Wait { message } => Some(format!("{}: {message}", seen.name())),
    }
}

fn join(message: &str, waits: &[String]) -> String {
    if waits.is_empty() {
        message.to_owned()
    } else {
        format!("{message} ({})", waits.join("; "))
    }
}

/// Removes the Secrets that are ours; not everywhere does somebody collect what has lost its owner.
fn remove_secrets(deciding: &mut Deciding<'_>) -> bool {
    let snapshot = deciding.snapshot;
    let secrets: Vec<&SecretSeen> = [&snapshot.kubeconfig, &snapshot.user_kubeconfig, &snapshot.ca]
        .into_iter()
        .flatten()
        .filter(|secret| {
            let controller = secret.controller.as_ref();
            controller.is_some_and(|(_, uid)| uid == deciding.owner.uid)
        })
        .collect();
    for secret in &secrets {
        if !secret.deleting {
            deciding.removals.push(Removal {
                target: kubeconfig::target(deciding.owner.namespace, &secret.name),
                uid: secret.uid.clone(),
                resource_version: secret.resource_version.clone(),
            });
        }
    }
    !secrets.is_empty()
}

fn go(deciding: &mut Deciding<'_>) {
    for finalizer in [
        marks::FARGATE_PROFILES_FINALIZER,
        marks::CAPTCONTROLPLANE_FINALIZER,
    ] {
        if metadata::has_finalizer(&deciding.snapshot.control_plane.metadata, finalizer) {
            deciding.own.remove_finalizers.push(finalizer.to_owned());
        }
    }
}

fn advance(deciding: &mut Deciding<'_>, percent: i32, message: &str) {
    let before = deciding.status.progress.take();
    let now = Now {
        operation: Some(progress::DELETE),
        percent,
        live_remaining: None,
        outcome: OperationResult::Cancelled,
        message: Some(message),
        restarts: false,
    };
    let progress = progress::advance(before.as_ref(), &now, &deciding.snapshot.statistics, deciding.now);
    deciding.status.progress = Some(progress);
}
