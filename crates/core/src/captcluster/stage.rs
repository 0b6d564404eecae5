//! How far a network is, in one of four words, and why.

use capt_api::conditions::{
    captcluster::CAPTClusterReason as Reason,
    workspacetemplateapply::WorkspaceTemplateApplyReason as ApplyReason,
};

use super::{timeouts::Step, variables::FIELDS};
use crate::owned::{OwnedSeen, Standing, standing, to_be_changed};

/// How far a network is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stage {
    /// It is being made.
    Creating {
        reason: Reason,
        message: String,
        /// Steps that are going on.
        steps: Vec<Step>,
    },
    /// It is neither being made nor broken: a person must approve something, something that is referred to is not there yet,
    /// or nothing is to be made.
    Waiting { reason: Reason, message: String },
    /// A person must change something.
    Failed { reason: Reason, message: String },
    /// All of it is there.
    Ready { reason: Reason, message: String },
}

impl Stage {
    /// Whether all is there but a Secret that tells about it.
    pub(super) fn waits_for_secret(&self) -> bool {
        matches!(self, Self::Creating { steps, .. } if steps.as_slice() == [Step::Secret])
    }

    /// Whether something went wrong that passes by itself.
    pub(super) fn is_tried_again(&self) -> bool {
        matches!(self, Self::Creating { reason, .. } if *reason == Reason::Retrying)
    }
}

/// How far the Workspace of a network is that may serve meanwhile, and of which something may just be made `again`. If it is
/// what it should be: what keeps it from being looked after, if anything does.
pub(super) fn of_apply(
    apply: &OwnedSeen,
    is_there: bool,
    again: Option<String>,
) -> Result<Option<String>, Stage> {
    let creating = |reason, message| Stage::Creating {
        reason,
        message,
        steps: vec![Step::Vpc, Step::Workspace],
    };
    let is_at_rest = || (apply.holds() || apply.rests_well()) && !apply.is_change();
    Err(match (standing(apply), again) {
        (Standing::Ready, _) => return Ok(None),
        (Standing::Waiting { message, .. }, _) if is_at_rest() => {
            return Ok(Some(format!(
                "The WorkspaceTemplateApply {}: {message}",
                apply.name()
            )));
        }
        (Standing::Working, Some(again)) => creating(Reason::VpcCreating, again),
        // What exactly it does changes often, and stands there.
        (Standing::Working, None) => creating(
            Reason::VpcCreating,
            format!(
                "The WorkspaceTemplateApply {} {} the VPC",
                apply.name(),
                match (is_there, apply.is_change()) {
                    (false, _) => "makes",
                    (true, true) => "changes",
                    (true, false) => "looks after",
                }
            ),
        ),
        (Standing::Going { .. }, _) => creating(
            Reason::VpcCreating,
            format!(
                "Somebody deleted the WorkspaceTemplateApply {}; it is made again when it is gone",
                apply.name()
            ),
        ),
        (Standing::Waiting { reason, message }, _) => {
            let pause = apply.pause().filter(|_| reason == ApplyReason::Paused);
            let message = match pause.filter(|_| !apply.is_at_work()) {
                Some(pause) if is_there => format!("The change of the VPC waits, because {pause}"),
                Some(pause) => format!("The VPC is not made yet, because {pause}"),
                None => format!("The WorkspaceTemplateApply {}: {message}", apply.name()),
            };
            creating(Reason::VpcCreating, message)
        }
        (Standing::Retrying { message }, _) => creating(
            Reason::Retrying,
            format!("Something went wrong that passes by itself, and is tried again: {message}"),
        ),
        (Standing::AwaitsApproval { message }, _) => Stage::Waiting {
            reason: Reason::WaitingForApproval,
            message,
        },
        (Standing::Refused { reason, message }, _) => {
            let message = format!("The WorkspaceTemplateApply {}: {message}", apply.name());
            match refusal(reason) {
                // It goes on by itself when the template comes, or consents.
                reason @ (Reason::WorkspaceTemplateNotFound | Reason::TemplateNotShared) => {
                    Stage::Waiting { reason, message }
                }
                reason => Stage::Failed { reason, message },
            }
        }
        (Standing::Failed { message }, _) => Stage::Failed {
            reason: Reason::VpcCreationFailed,
            message: format!(
                "Terraform failed: {}. {}",
                message.trim_end_matches(['.', '\n']),
                apply.way_out_of_failure(&to_be_changed(&message, &FIELDS))
            ),
        },
    })
}

fn refusal(reason: ApplyReason) -> Reason {
    match reason {
        ApplyReason::WorkspaceTemplateNotFound => Reason::WorkspaceTemplateNotFound,
        ApplyReason::TemplateNotShared => Reason::TemplateNotShared,
        ApplyReason::WorkspaceNotOurs | ApplyReason::WorkspaceRetained | ApplyReason::WorkspaceMovedAway => {
            Reason::WorkspaceNotOurs
        }
        ApplyReason::TemplateInvalid
        | ApplyReason::VariableMissing
        | ApplyReason::VariableInvalid
        | ApplyReason::OtherNamespace
        | ApplyReason::WaitNotShared
        | ApplyReason::DependencyCycle => Reason::InvalidVpcConfig,
        _ => Reason::VpcCreationFailed,
    }
}
