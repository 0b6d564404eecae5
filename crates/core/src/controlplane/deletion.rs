//! How a CAPTControlPlane goes: what stands on the EKS cluster first, then the EKS cluster, then what let others in,
//! then the object.

use capt_api::{
    CAPTControlPlane,
    captcontrolplane::OperationResult,
    conditions::{
        Word as _,
        captcontrolplane::{CAPTControlPlaneCondition as Type, CAPTControlPlaneReason as Reason},
        find_condition,
    },
    marks,
};

use super::{
    adoption,
    deciding::Deciding,
    fargate,
    judging::{Answer, Note, Verdict},
    kubeconfig, leftovers,
    machine::Goal,
    progress::{self, Now},
    snapshot::SecretSeen,
    taking, view,
};
use crate::{
    crds,
    decision::{EventKind, Removal},
    metadata,
    owned::{self, End, Fate, Left, OwnedSeen, Role},
    wta::owner,
};

/// What is said about those that go.
#[derive(Default)]
struct Said {
    /// What they wait for.
    waits: Vec<String>,
    /// Why their destruction is not consented to while a CustomResourceDefinition is terminating.
    obstructed: Vec<String>,
    /// Why they cannot go before somebody does something.
    stuck: Vec<String>,
}

/// Decides about a control plane that is going away and holds our finalizer.
pub(super) fn decide(deciding: &mut Deciding<'_>) {
    let (last, dependents) = in_order(deciding);
    let (last_left, dependents_left) = leftovers::in_order(deciding);
    let mut said = Said::default();
    let (message, percent) = if !dependents.is_empty() || !dependents_left.is_empty() {
        let message = format!(
            "These go before the EKS cluster: {}",
            listed(&dependents, &dependents_left)
        );
        see_to(deciding, &dependents_left, &mut said);
        for seen in dependents {
            let (role, fate) = role_and_fate(deciding, seen);
            end(deciding, seen, &role, fate, &mut said);
        }
        (message, 10)
    } else if !last.is_empty() || !last_left.is_empty() {
        deciding.status.endpoint = None;
        let is_made = !last_left.is_empty() || last.iter().any(|seen| seen.has_workspace());
        let what = if is_made {
            "The EKS cluster goes, with its WorkspaceTemplateApply"
        } else {
            "No EKS cluster was made for it; it goes with its WorkspaceTemplateApply"
        };
        let message = format!("{what} {}", listed(&last, &last_left));
        see_to(deciding, &last_left, &mut said);
        for seen in last {
            end(deciding, seen, &Role::Eks, Fate::Destroyed, &mut said);
        }
        (message, 30)
    } else {
        deciding.status.endpoint = None;
        if remove_secrets(deciding) {
            ("The Secrets that let others in go".to_owned(), 95)
        } else {
            return go(deciding);
        }
    };
    let parts = fargate::going(deciding);
    // Nothing is made or changed any more that has to go after others.
    let mut late = fargate::late(&parts);
    late.push(deciding.found.name().to_owned());
    let turns = taking::hand_out(deciding, &late, &fargate::unwanted_names(&parts));
    fargate::tell(deciding, &parts, &turns);
    deciding.answer_retry();
    let note = if !said.obstructed.is_empty() {
        Note::new(Reason::CrdTerminating, said.obstructed.join("\n"))
    } else if said.stuck.is_empty() {
        Note::new(Reason::Deleting, join(&message, &said.waits))
    } else {
        Note::new(Reason::DeletionFailed, said.stuck.join("\n"))
    };
    advance(deciding, percent, &note);
    tell_failure(deciding, &note);
    deciding.say(view::deleting(Some(&note)));
    let verdict = Verdict {
        goal: Goal::Deleting,
        serves: false,
        note,
    };
    deciding.arrive(&verdict, &Answer::Unknown);
}

/// What becomes of a control plane that is going away and is paused, as soon as it is not paused any more. Who ends a pause
/// must not be surprised by what that destroys.
pub(super) fn after_the_pause(deciding: &Deciding<'_>) -> String {
    let (last, dependents) = in_order(deciding);
    let is_destroyed = |seen: &&&OwnedSeen| seen.has_workspace() && !seen.is_retained();
    let mut destroyed: Vec<&OwnedSeen> = dependents
        .iter()
        .filter(|seen| role_and_fate(deciding, seen).1 == Fate::Destroyed)
        .filter(is_destroyed)
        .copied()
        .collect();
    destroyed.extend(last.iter().filter(is_destroyed));
    if destroyed.is_empty() {
        return "It is being deleted, and goes when the pause ends; nothing is destroyed".to_owned();
    }
    let (begun, others): (Vec<&OwnedSeen>, Vec<&OwnedSeen>) =
        destroyed.into_iter().partition(|seen| seen.is_being_destroyed());
    let begun = (!begun.is_empty()).then(|| {
        format!(
            "the destruction of what these made has begun, and what it leaves is destroyed when the pause ends: {}",
            listed(&begun, &[])
        )
    });
    let others = (!others.is_empty()).then(|| {
        format!(
            "ending the pause destroys what these WorkspaceTemplateApplies made, in this order: {}. To keep something of \
             it, first write spec.retainWorkspaceOnDelete: true into its WorkspaceTemplateApply",
            listed(&others, &[])
        )
    });
    let told: Vec<String> = [begun, others].into_iter().flatten().collect();
    format!("It is being deleted: {}", told.join(". Besides, "))
}

fn listed(applies: &[&OwnedSeen], left: &[&Left]) -> String {
    let there = applies.iter().map(|seen| seen.name());
    let names: Vec<&str> = there.chain(left.iter().map(|left| left.apply.as_str())).collect();
    names.join(", ")
}

/// Sees to what outlived its WorkspaceTemplateApply.
fn see_to(deciding: &mut Deciding<'_>, left: &[&Left], said: &mut Said) {
    for left in left {
        match leftovers::end(deciding, left) {
            Ok(waits) => said.waits.push(waits),
            Err(question) => said.stuck.push(question),
        }
    }
}

/// Whether a decision may consent to the destruction of something, so that it has to know what stands in the way of that.
#[must_use]
pub fn may_consent(control_plane: &CAPTControlPlane, applies: &[OwnedSeen]) -> bool {
    metadata::is_deleting(&control_plane.metadata) || fargate::has_unlisted(control_plane, applies)
}

/// Whether the deletion makes no progress before a person acts.
fn is_blocked(note: &Note) -> bool {
    matches!(note.reason, Reason::DeletionFailed | Reason::CrdTerminating)
}

/// That something cannot go is told once.
fn tell_failure(deciding: &mut Deciding<'_>, note: &Note) {
    let conditions = deciding.status.conditions.as_deref().unwrap_or_default();
    let before = find_condition(conditions, Type::Deleting.as_str());
    let is_told = before.is_some_and(|before| before.reason == note.reason.as_str());
    if is_blocked(note) && !is_told {
        deciding.tell(EventKind::Warning, note.reason, &note.message);
    }
}

/// Everything of this owner: the EKS cluster, and what goes before it. What was never taken over is not ours to destroy.
///
/// What the spec names goes last, and so does what says that it is the EKS cluster: where these are two, nobody knows
/// which of them the others stand on.
fn in_order<'a>(deciding: &Deciding<'a>) -> (Vec<&'a OwnedSeen>, Vec<&'a OwnedSeen>) {
    let label = deciding.owner.label();
    let role = Role::Eks.label();
    let applies = deciding.snapshot.applies.iter();
    applies
        .filter(|seen| owner::recorded(&seen.wta).as_ref() == Some(&label))
        .partition(|seen| seen.name() == deciding.found.name() || seen.label(marks::ROLE) == Some(&role))
}

/// What one of them is for, and what becomes of it.
fn role_and_fate(deciding: &Deciding<'_>, seen: &OwnedSeen) -> (Role, Fate) {
    if let Some(remnant) = adoption::remnant(deciding.owner.name, seen.name()) {
        return (Role::Remnant, remnant.fate());
    }
    let profile = seen
        .label(marks::ROLE)
        .and_then(|role| role.strip_prefix("fargate-profile."))
        .unwrap_or_else(|| seen.name());
    (Role::FargateProfile(profile.to_owned()), Fate::Destroyed)
}

/// Takes the next step to the end of one, and says what it waits for.
fn end(deciding: &mut Deciding<'_>, seen: &OwnedSeen, role: &Role, fate: Fate, said: &mut Said) {
    let retry = deciding.retry_for(Some(seen), fargate::was_late(deciding, seen));
    if !owned::may_end(&deciding.snapshot.control_plane.metadata, seen) {
        return;
    }
    let obstacle = deciding.snapshot.crd_obstacle.as_ref();
    match owned::end(&deciding.owner, role, seen, fate, retry, obstacle) {
        End::Mark(mark) => deciding.children.push(*mark),
        End::Remove(removal) => deciding.removals.push(removal),
        End::Wait { message } if message.is_empty() => {}
        End::Wait { message } => said.waits.push(format!("{}: {message}", seen.name())),
        End::Obstructed { message } => {
            deciding.look_again(Some(crds::LOOK_AGAIN));
            said.obstructed.push(message);
        }
        End::Stuck { message } => said
            .stuck
            .push(format!("The WorkspaceTemplateApply {}: {message}", seen.name())),
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
    for left in leftovers::kept(deciding) {
        deciding.tell(EventKind::Warning, Reason::Deleting, &left.kept());
    }
    for finalizer in [
        marks::FARGATE_PROFILES_FINALIZER,
        marks::CAPTCONTROLPLANE_FINALIZER,
    ] {
        if metadata::has_finalizer(&deciding.snapshot.control_plane.metadata, finalizer) {
            deciding.own.remove_finalizers.push(finalizer.to_owned());
        }
    }
}

fn advance(deciding: &mut Deciding<'_>, percent: i32, note: &Note) {
    let before = deciding.status.progress.take();
    let is_stuck = is_blocked(note);
    let now = Now {
        operation: (!is_stuck).then_some(progress::DELETE),
        percent,
        live_remaining: None,
        walk: None,
        reached: None,
        outcome: if is_stuck {
            OperationResult::Failed
        } else {
            OperationResult::Cancelled
        },
        is_void: false,
        message: Some(&note.message),
        restarts: false,
        steps_on: false,
        serves: false,
        is_untold: false,
        is_open: false,
    };
    let progress = progress::advance(before.as_ref(), &now, &deciding.snapshot.statistics, deciding.now);
    deciding.status.progress = Some(progress);
}
