//! How the EKS cluster stands, read from its WorkspaceTemplateApply.

use capt_api::conditions::{
    captcontrolplane::CAPTControlPlaneReason as Reason,
    workspacetemplateapply::WorkspaceTemplateApplyReason as ApplyReason,
};

use super::{
    judging::{Eks, Note},
    variables::FIELDS,
};
use crate::owned::{
    OwnedSeen, Standing, is_made_again, is_without_template, standing, to_be_changed, words_of_made_again,
    words_of_workspace_made_again, workspace_made_again,
};

/// What is said while Terraform does something. One note for all of it, or a status would be written for every step that
/// nobody has to know about.
pub(super) const AT_WORK: &str = "Terraform is at work, or about to be";

/// How the EKS cluster stands, and what is not wholly as it should be with what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How it stands.
    pub eks: Eks,
    /// What is not wholly as it should be, although it is there.
    pub impairment: Option<Note>,
    /// What passes by itself.
    pub remark: Option<Note>,
}

/// Reads how the EKS cluster stands, by its WorkspaceTemplateApply of this name. `is_written` says that this is about to be
/// written, `told` which rendering was real, as it was told last.
#[must_use]
pub fn read(name: &str, seen: Option<&OwnedSeen>, is_written: bool, told: Option<&str>) -> Reading {
    let plain = |eks| Reading {
        eks,
        impairment: None,
        remark: None,
    };
    let unwell = |message: String| plain(Eks::Unwell(Note::new(Reason::WorkspaceNotReady, message)));
    let working = || Note::new(Reason::WorkspaceNotReady, AT_WORK);
    let held = |seen: &OwnedSeen| {
        let pause = seen
            .pause()
            .filter(|_| !seen.is_deleting() && !seen.is_at_work())?;
        let waits = match was_ready(seen) {
            true => "The update waits",
            false => "It waits",
        };
        let message = format!("{waits}, because {pause}");
        Some(plain(Eks::AwaitsPerson(Note::new(Reason::Paused, message))))
    };
    if is_made_again(seen, told) && seen.is_none_or(|seen| standing(seen) == Standing::Working) {
        return unwell(words_of_made_again(name));
    }
    let Some(seen) = seen.filter(|_| !is_written) else {
        return seen
            .and_then(held)
            .unwrap_or_else(|| plain(Eks::Building(working())));
    };
    let holds = seen.holds() || seen.rests_well();
    let impaired = |note: Note| Reading {
        eks: Eks::Up,
        impairment: Some(note),
        remark: None,
    };
    match standing(seen) {
        Standing::Ready => Reading {
            eks: Eks::Up,
            impairment: None,
            remark: is_without_template(seen).map(|message| Note::new(Reason::Ready, message)),
        },
        Standing::Going { .. } => unwell(format!(
            "Somebody deleted the WorkspaceTemplateApply {name}. It is made again, and finds its Workspace"
        )),
        // What was half changed by what failed is changed also where it becomes what it was.
        Standing::Working if is_changing(seen, told) || seen.has_failed() => plain(Eks::Building(working())),
        Standing::Working => unwell(why_unwell(seen)),
        Standing::Retrying { message } => {
            let note = Note::new(Reason::Retrying, format!("It is being tried again: {message}"));
            if seen.is_change() || !seen.is("Ready") {
                plain(Eks::Building(note))
            } else {
                Reading {
                    eks: Eks::Up,
                    impairment: None,
                    remark: Some(note),
                }
            }
        }
        Standing::Waiting { message, .. } if holds && !seen.is_change() => Reading {
            eks: Eks::Up,
            impairment: None,
            remark: Some(Note::new(
                Reason::Ready,
                format!("The control plane serves. The WorkspaceTemplateApply {name}: {message}"),
            )),
        },
        Standing::Waiting { reason, message } => {
            let held = held(seen).filter(|_| reason == ApplyReason::Paused);
            held.unwrap_or_else(|| {
                let message = format!("The WorkspaceTemplateApply {name} waits: {message}");
                plain(Eks::Building(Note::new(Reason::WorkspaceNotReady, message)))
            })
        }
        Standing::AwaitsApproval { message } => {
            let note = Note::new(Reason::WaitingForApproval, message);
            if holds {
                impaired(note)
            } else {
                plain(Eks::AwaitsPerson(note))
            }
        }
        Standing::Refused { reason, message } => {
            let message = format!("The WorkspaceTemplateApply {name} cannot be applied: {message}");
            let note = Note::new(refusal(reason), message);
            if holds {
                impaired(note)
            } else {
                plain(Eks::Broken(note))
            }
        }
        Standing::Failed { message } => plain(Eks::Broken(failure(seen, &message))),
    }
}

/// Whether Terraform makes or changes something. What is written again after somebody deleted it changes nothing.
fn is_changing(seen: &OwnedSeen, told: Option<&str>) -> bool {
    let was_never_real = seen.real_revision(told).is_none();
    !seen.is_observed() || was_never_real || seen.wants_other(told)
}

/// Whether Terraform is at work although nothing else is wanted. Nobody knows how long that takes, so that others who need
/// the turn go first.
#[must_use]
pub fn is_unwell(seen: &OwnedSeen) -> bool {
    !seen.is_change() && matches!(standing(seen), Standing::Working | Standing::Retrying { .. })
}

/// Whether it waits for nothing but its turn.
#[must_use]
pub fn waits_for_turn(seen: &OwnedSeen) -> bool {
    let reason = ApplyReason::WaitingForTurn;
    matches!(standing(seen), Standing::Waiting { reason: told, .. } if told == reason)
}

/// Whether the cluster is there, whatever it should become: a change that waits for a person, or could not be made, be it
/// for now, leaves what was there before.
#[must_use]
pub fn is_there(seen: &OwnedSeen) -> bool {
    let is_left = || {
        matches!(
            standing(seen),
            Standing::AwaitsApproval { .. }
                | Standing::Refused { .. }
                | Standing::Failed { .. }
                | Standing::Retrying { .. }
        )
    };
    seen.holds() || (seen.is("Ready") && is_left())
}

/// Whether Terraform ever made it real.
#[must_use]
pub fn was_ready(seen: &OwnedSeen) -> bool {
    let status = seen.wta.status.as_ref();
    is_there(seen) || status.is_some_and(|status| status.ready_revision.is_some())
}

fn why_unwell(seen: &OwnedSeen) -> String {
    if workspace_made_again(seen).is_some() {
        return words_of_workspace_made_again(seen.workspace_name());
    }
    let applied = seen.condition("Applied");
    if let Some(applied) = applied.filter(|applied| applied.status == "False") {
        return format!("The WorkspaceTemplateApply {}: {}", seen.name(), applied.message);
    }
    let ready = seen.condition("Ready");
    let message = ready
        .map(|ready| ready.message.as_str())
        .filter(|message| !message.is_empty());
    let why = message.map_or_else(String::new, |message| {
        format!(": {}", message.trim_end_matches(['.', '\n']))
    });
    format!(
        "The Workspace was ready and is not any more{why}. To have Terraform look again: {}",
        seen.retry_command()
    )
}

/// What went wrong, and the way out.
fn failure(seen: &OwnedSeen, message: &str) -> Note {
    let reason = if was_ready(seen) && seen.is_change() {
        Reason::UpdateFailed
    } else {
        Reason::WorkspaceError
    };
    let message = message.trim_end_matches(['.', '\n']);
    Note::new(
        reason,
        format!(
            "Terraform failed: {message}. {}",
            seen.way_out_of_failure(&to_be_changed(message, &FIELDS))
        ),
    )
}

fn refusal(reason: ApplyReason) -> Reason {
    match reason {
        ApplyReason::WorkspaceTemplateNotFound => Reason::WorkspaceTemplateNotFound,
        ApplyReason::TemplateNotShared => Reason::TemplateNotShared,
        ApplyReason::DependencyCycle => Reason::DependencyCycle,
        ApplyReason::WorkspaceNotOurs | ApplyReason::WorkspaceRetained | ApplyReason::WorkspaceMovedAway => {
            Reason::WorkspaceNotOurs
        }
        ApplyReason::VariableMissing | ApplyReason::VariableInvalid => Reason::InvalidSpec,
        _ => Reason::WorkspaceError,
    }
}
