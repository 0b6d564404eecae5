//! How a WorkspaceTemplateApply stands, in one word and the message that goes with it.

use capt_api::{
    conditions::{
        Word as _,
        workspacetemplateapply::{
            WorkspaceTemplateApplyCondition as Type, WorkspaceTemplateApplyReason as Reason,
        },
    },
    foreign::marks as foreign_marks,
    marks,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{
    failure,
    glance::{Trouble, TroubleClass},
    seen::OwnedSeen,
};

/// How a WorkspaceTemplateApply stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is going away.
    Going {
        /// What it waits for.
        message: String,
    },
    /// It cannot be made what it should be, until somebody changes something.
    Refused {
        /// One word, of the WorkspaceTemplateApply's.
        reason: Reason,
        /// Why, and what to do.
        message: String,
    },
    /// It waits for something else than time or a person: Secrets, Workspaces, its turn, the end of a pause.
    Waiting {
        /// One word, of the WorkspaceTemplateApply's.
        reason: Reason,
        /// What for.
        message: String,
    },
    /// A person must approve a change.
    AwaitsApproval {
        /// Which, and how.
        message: String,
    },
    /// Terraform is at work, or about to be.
    Working,
    /// Something went wrong that passes by itself.
    Retrying {
        /// What.
        message: String,
    },
    /// Terraform failed for good.
    Failed {
        /// Why.
        message: String,
    },
    /// It is applied, synced and ready for what it should be now.
    Ready,
}

/// Reads how a WorkspaceTemplateApply stands, for an owner that is not paused itself.
#[must_use]
pub fn standing(seen: &OwnedSeen) -> Standing {
    let message_of = |type_: Type| {
        seen.condition(type_.as_str())
            .map_or_else(String::new, |condition| condition.message.clone())
    };
    if seen.is_deleting() {
        let message = message_of(Type::Deleting);
        return Standing::Going { message };
    }
    let is_applied = seen.wta.status.as_ref().is_some_and(|status| status.applied);
    let is_applying = seen.run.as_ref().is_some_and(|run| run.is_applying);
    let is_well = seen.is_observed() && is_applied && (seen.holds() || seen.rests_well());
    // A pause is told before anything is observed. One that the Cluster asked for is over, or the owner would be paused
    // too: that it is not told yet everywhere makes nothing worse that was well.
    let is_over = is_well && seen.annotation(foreign_marks::PAUSED).is_none();
    if seen.is(Type::Paused.as_str()) && !is_over {
        let message = message_of(Type::Paused);
        return Standing::Waiting {
            reason: Reason::Paused,
            message,
        };
    }
    // Nothing is done for one that a person paused below, until that is over.
    let or_paused = |otherwise| {
        let reason = Reason::Paused;
        let paused = seen.paused_by_hand();
        paused.map_or(otherwise, |message| Standing::Waiting { reason, message })
    };
    if !seen.is_observed() {
        return or_paused(Standing::Working);
    }
    if seen.is(Type::ApprovalNeeded.as_str()) {
        let message = message_of(Type::ApprovalNeeded);
        return Standing::AwaitsApproval { message };
    }
    if let Some((reason, message)) = verdict(seen, Type::Applied, "False")
        && is_refusal(reason)
    {
        let message = in_words_of_owner(seen, &message);
        return Standing::Refused { reason, message };
    }
    if let Some((reason, message)) = verdict(seen, Type::Waiting, "True") {
        if reason == Reason::WaitingForTurn
            && let Some(message) = failure::remembered(&seen.wta)
        {
            return Standing::Failed { message };
        }
        return if is_refusal(reason) {
            Standing::Refused { reason, message }
        } else {
            or_paused(Standing::Waiting { reason, message })
        };
    }
    if let Some(trouble) = trouble(seen).filter(|_| is_applied) {
        let message = trouble.message.clone();
        return match trouble.class {
            TroubleClass::Transient => Standing::Retrying { message },
            TroubleClass::Terminal => Standing::Failed { message },
        };
    }
    if is_well {
        return Standing::Ready;
    }
    // While what failed is put to rest, nothing says that it failed, until it says that it waits for its turn. What is
    // not applied yet has not been tried, whatever the one before it failed with.
    let is_failure = is_applied && !is_applying && !has_worked_since(seen);
    match failure::remembered(&seen.wta).filter(|_| is_failure) {
        Some(message) => Standing::Failed { message },
        None => or_paused(Standing::Working),
    }
}

/// Why nothing that is wanted of a WorkspaceTemplateApply reaches its Workspace although that is well, if that is so: without
/// its template there is only the last rendering.
#[must_use]
pub fn is_without_template(seen: &OwnedSeen) -> Option<String> {
    let (reason, message) = verdict(seen, Type::Applied, "True")?;
    (reason == Reason::TemplateGone).then(|| in_words_of_owner(seen, &message))
}

/// What went wrong with Terraform, if that is about what is wanted of it now.
pub(super) fn trouble(seen: &OwnedSeen) -> Option<&Trouble> {
    let synced = seen.condition(Type::Synced.as_str())?;
    let is_told = synced.status == "False" && is_of_this_generation(seen, synced) && !has_worked_since(seen);
    // What passes by itself is tried again whether a person asks for that or not. What does not is not tried for nothing:
    // somebody mended what it failed with.
    let is_mended = seen.run.as_ref().is_some_and(|run| {
        let is_later = run
            .started_at
            .is_some_and(|began| synced.last_transition_time.0 < began);
        run.is_applying && is_later
    });
    // That another try is over is heard of before what it failed with, which may be something else.
    let status = seen.wta.status.as_ref();
    let is_told_of_try = status
        .and_then(|status| status.progress.as_ref())
        .is_some_and(|progress| progress.attempt.is_some());
    let is_behind = is_told_of_try && seen.run.as_ref().is_some_and(|run| !run.is_running);
    let counts = |trouble: &&Trouble| match trouble.class {
        TroubleClass::Transient => true,
        TroubleClass::Terminal => is_answered(seen) && !is_mended && !is_behind,
    };
    seen.trouble.as_ref().filter(|_| is_told).filter(counts)
}

/// Whether an operation succeeded that began after it went wrong: its end is heard of before what the Workspace says about it.
fn has_worked_since(seen: &OwnedSeen) -> bool {
    let synced = seen.condition(Type::Synced.as_str());
    let worked_since = seen.run.as_ref().and_then(|run| run.worked_since);
    worked_since.is_some_and(|since| synced.is_none_or(|synced| synced.last_transition_time.0 < since))
}

/// A message that names fields of a WorkspaceTemplateApply, with the fields of its owner that these are written from.
fn in_words_of_owner(seen: &OwnedSeen, message: &str) -> String {
    let Some(role) = seen.label(marks::ROLE) else {
        return message.to_owned();
    };
    let template = match role {
        "vpc" => "spec.vpcTemplateRef".to_owned(),
        "eks" => "spec.workspaceTemplateRef".to_owned(),
        other => match other.strip_prefix("fargate-profile.") {
            Some(profile) => {
                format!("workspaceTemplateRef of the profile {profile} in spec.additionalFargateProfiles")
            }
            None => return message.to_owned(),
        },
    };
    message.replace("spec.templateRef", &template).replace(
        "set it in spec.variables",
        "give it a default in the template, because its owner does not set it",
    )
}

/// What a condition says, if it is of this status and for a reason that is known.
fn verdict(seen: &OwnedSeen, type_: Type, status: &str) -> Option<(Reason, String)> {
    let condition = seen
        .condition(type_.as_str())
        .filter(|condition| condition.status == status)?;
    Some((Reason::from_word(&condition.reason)?, condition.message.clone()))
}

/// Whether a condition of the Workspace speaks about the Workspace as it is now.
fn is_of_this_generation(seen: &OwnedSeen, condition: &Condition) -> bool {
    seen.workspace.as_ref().is_none_or(|workspace| {
        let observed = condition.observed_generation.or(workspace.observed_generation);
        observed.is_none_or(|observed| observed == workspace.generation)
    })
}

/// Whether the last try that a person asked for is over, if one did.
fn is_answered(seen: &OwnedSeen) -> bool {
    let requested = seen.annotation(marks::RETRY_REQUESTED);
    match (&seen.run, requested) {
        (Some(run), Some(_)) => run.retry_answered.as_deref() == requested && !run.is_running,
        _ => true,
    }
}

/// Whether somebody must change something.
fn is_refusal(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::WorkspaceTemplateNotFound
            | Reason::TemplateNotShared
            | Reason::TemplateInvalid
            | Reason::VariableMissing
            | Reason::VariableInvalid
            | Reason::DependencyCycle
            | Reason::OtherNamespace
            | Reason::WaitNotShared
            | Reason::ProviderConfigNotAllowed
            | Reason::WorkspaceGroupMismatch
            | Reason::CrdTerminating
            | Reason::ModuleNotPinned
            | Reason::WorkspaceNotOurs
            | Reason::WorkspaceRetained
            | Reason::WorkspaceMovedAway
            | Reason::StateLocationChanged
            | Reason::NoDurableState
            | Reason::RenderingLost
            | Reason::RevisionNotFound
            | Reason::WorkspaceApiMissing
            | Reason::RunnerUnknown
            | Reason::ManagementPoliciesDisabled
            | Reason::OwnerGone
            | Reason::NamespaceTerminating
    )
}
