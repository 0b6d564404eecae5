//! Whether a plan that was asked for is there, may still come, or will not.

use std::time::Duration;

use capt_api::{WorkspaceTemplateApply, foreign::marks::CROSSPLANE_FINALIZER, marks};
use capt_runner::view::WorkspaceView;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::{
    objects::Page,
    target::{Kind, Target},
};

/// How long something that was said before the question may turn out to be no longer true.
const DOUBT: Duration = Duration::from_secs(3);
/// How long who has to begin may take before nobody seems to be there.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is known about a plan that was asked for.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is there.
    Answered(Box<Page>),
    /// It will not come.
    Refused(Unanswered),
    /// It may still come; what is waited for.
    Waiting(String),
    /// It comes when other objects are there; which ones, in words.
    Depends(String),
    /// It will not come if this is still so after a while.
    Unless {
        problem: Unanswered,
        still_after: Duration,
    },
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unanswered {
    pub(super) why: Why,
    pub(super) problem: String,
}

/// What sort of thing stands in the way of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Why {
    /// Planning was tried, and failed.
    Failed,
    /// Nothing happens until somebody does something.
    Stuck,
    /// It did not come in time.
    Late,
}

/// Reasons of the condition Applied with which nothing is rendered, made or planned until somebody does something.
const UNRENDERED: [&str; 20] = [
    "WorkspaceTemplateNotFound",
    "TemplateNotShared",
    "TemplateInvalid",
    "RevisionNotFound",
    "VariableMissing",
    "VariableInvalid",
    "OtherNamespace",
    "WorkspaceNotOurs",
    "WorkspaceRetained",
    "WorkspaceMovedAway",
    "WorkspaceApiMissing",
    "WorkspaceGroupMismatch",
    "ProviderConfigNotAllowed",
    "CRDTerminating",
    "RunnerUnknown",
    "NamespaceTerminating",
    "ManagementPoliciesDisabled",
    "NoDurableState",
    "RenderingLost",
    "StateLocationChanged",
];

/// Reasons of the condition Waiting that do not pass by themselves.
const STANDING: [&str; 3] = ["DependencyCycle", "OwnerGone", "WaitNotShared"];

/// Reasons of the condition Waiting that are about other objects.
const DEPENDENT: [&str; 2] = ["WaitingForSecrets", "WaitingForWorkspaces"];

/// Reasons of the condition Failing with which a runner waits for somebody to change something, and plans nothing.
const BLOCKED: [&str; 5] = [
    "InputMissing",
    "InputInvalid",
    "PoliciesUnsupported",
    "NothingToObserve",
    "NamespaceTerminating",
];

/// Judges what is there now.
pub(super) fn judge(
    apply: Option<&WorkspaceTemplateApply>,
    workspace: Option<&WorkspaceView>,
    page: Option<Page>,
    token: &str,
) -> Verdict {
    if let Some(verdict) = apply.and_then(of_apply) {
        return verdict;
    }
    let message = || {
        let message = apply.and_then(|apply| apply.status.as_ref()?.message.clone());
        message.filter(|message| !message.is_empty())
    };
    let Some(workspace) = workspace else {
        if apply.is_some_and(is_paused) {
            return stuck("it is paused, and there is no Workspace yet that could be planned");
        }
        return Verdict::Waiting(message().unwrap_or_else(|| "the Workspace has to be made".to_owned()));
    };
    if workspace.deletion.is_some() {
        return stuck("the Workspace is being deleted");
    }
    let is_stopped = workspace.policies.as_ref().is_some_and(Vec::is_empty);
    if is_stopped && apply.is_some_and(|apply| !is_paused(apply) && !awaits_approval(apply)) {
        // A plan would be one of what it has, and not of what it waits to get. What waits for an approval has it already.
        let waits = message().unwrap_or_else(|| "the Workspace is paused".to_owned());
        return match apply.is_some_and(waits_for_turn) {
            true => Verdict::Waiting(waits),
            false => still(DOUBT, waits),
        };
    }
    if is_stopped && workspace.finalizers.is_empty() {
        return stuck("the Workspace is paused and was never run, so that nothing can be planned");
    }
    of_runner(workspace, page, token)
}

/// What the runner says of itself.
fn of_runner(workspace: &WorkspaceView, page: Option<Page>, token: &str) -> Verdict {
    let answered = page
        .as_ref()
        .and_then(|page| page.report.answered.get(marks::PLAN_REQUESTED));
    let is_answered = answered.is_some_and(|answered| answered == token);
    let conditions = workspace.status.conditions.as_deref().unwrap_or_default();
    let misses_state = conditions.iter().any(|condition| {
        condition.type_ == "StateComplete"
            && condition.status == "False"
            && condition.reason == "StateMissing"
    });
    let blocked = conditions.iter().find(|condition| {
        let reason = condition.reason.as_str();
        let is_lost = misses_state && reason == "StateUnavailable";
        condition.type_ == "Failing" && condition.status == "True" && (is_lost || BLOCKED.contains(&reason))
    });
    if let Some(blocked) = blocked.filter(|_| !is_answered) {
        return still(DOUBT, blocked.message.clone().unwrap_or_default());
    }
    let Some(page) = page else {
        // Whoever runs Terraform writes its name on a Workspace before anything else.
        let is_held = workspace
            .finalizers
            .iter()
            .any(|name| name == CROSSPLANE_FINALIZER);
        if conditions.is_empty() && !is_held {
            return still(
                PATIENCE,
                "no runner has taken the Workspace up. Run one: capt up, capt runner or provider-terraform"
                    .to_owned(),
            );
        }
        return Verdict::Waiting("a runner has to begin with the Workspace".to_owned());
    };
    let operation = page.report.operation.as_ref();
    if is_answered {
        let failed = operation.filter(|operation| operation.outcome.as_deref() == Some("failed"));
        return match (failed, &page.report.plan) {
            (Some(operation), _) if operation.kind == "plan" => match &operation.message {
                Some(message) => failed_with(message),
                None => failed_with(&see_the_log(workspace)),
            },
            (_, None) => failed_with(&see_the_log(workspace)),
            (_, Some(_)) => Verdict::Answered(Box::new(page)),
        };
    }
    let running = operation.filter(|operation| operation.ended_at.is_none() && !operation.kind.is_empty());
    Verdict::Waiting(match running {
        Some(operation) => format!("{} is running", operation.kind),
        None => "a runner has to begin".to_owned(),
    })
}

fn see_the_log(workspace: &WorkspaceView) -> String {
    let target = Target {
        kind: Kind::Workspace(None),
        name: workspace.name.clone(),
    };
    format!(
        "planning failed; see: capt logs {} --plan",
        target.placed(workspace.namespace.clone())
    )
}

/// Whether nothing is done for it, because somebody asked for that.
pub(super) fn is_paused(apply: &WorkspaceTemplateApply) -> bool {
    condition(apply, "Paused").is_some_and(|paused| paused.status == "True")
}

/// Whether others go first.
pub(super) fn waits_for_turn(apply: &WorkspaceTemplateApply) -> bool {
    ["Waiting", "Deleting"].into_iter().any(|type_| {
        condition(apply, type_)
            .is_some_and(|condition| condition.status == "True" && condition.reason == "WaitingForTurn")
    })
}

/// Whether a person has to approve what it already has.
fn awaits_approval(apply: &WorkspaceTemplateApply) -> bool {
    condition(apply, "ApprovalNeeded").is_some_and(|needed| needed.status == "True")
}

fn condition<'a>(apply: &'a WorkspaceTemplateApply, type_: &str) -> Option<&'a Condition> {
    let conditions = apply.status.as_ref()?.conditions.as_deref().unwrap_or_default();
    conditions.iter().find(|condition| condition.type_ == type_)
}

fn waiting(apply: Option<&WorkspaceTemplateApply>) -> Option<&Condition> {
    condition(apply?, "Waiting").filter(|waiting| waiting.status == "True")
}

fn of_apply(apply: &WorkspaceTemplateApply) -> Option<Verdict> {
    let unless = |condition: &Condition| Some(still(DOUBT, condition.message.clone()));
    if apply.metadata.deletion_timestamp.is_some() {
        let why = condition(apply, "Deleting")
            .map(|deleting| deleting.message.as_str())
            .filter(|message| !message.is_empty());
        return Some(match why {
            Some(why) if why.starts_with("It is being deleted") => stuck(why),
            Some(why) => stuck(&format!("it is being deleted: {why}")),
            None => stuck("it is being deleted"),
        });
    }
    let applied = condition(apply, "Applied").filter(|applied| applied.status != "True");
    if is_paused(apply) {
        // During a pause this is said only of what was asked for and cannot be planned.
        return unless(applied.filter(|applied| UNRENDERED.contains(&applied.reason.as_str()))?);
    }
    // What is said about an older spec may not be true any more.
    let is_current = |condition: &&Condition| condition.observed_generation == apply.metadata.generation;
    if let Some(waiting) = waiting(Some(apply)).filter(is_current) {
        let reason = waiting.reason.as_str();
        if STANDING.contains(&reason) {
            return Some(stuck(&waiting.message));
        }
        if DEPENDENT.contains(&reason) {
            return Some(Verdict::Depends(waiting.message.clone()));
        }
    }
    let status = apply.status.as_ref();
    if status.is_none_or(|status| status.observed_generation != apply.metadata.generation) {
        return Some(still(
            PATIENCE,
            "capt's controllers have not looked at it. Run them: capt up or capt controller".to_owned(),
        ));
    }
    let applied = applied?;
    UNRENDERED
        .contains(&applied.reason.as_str())
        .then(|| stuck(&applied.message))
}

fn stuck(problem: &str) -> Verdict {
    Verdict::Refused(Unanswered {
        why: Why::Stuck,
        problem: problem.to_owned(),
    })
}

fn failed_with(problem: &str) -> Verdict {
    Verdict::Refused(Unanswered {
        why: Why::Failed,
        problem: problem.to_owned(),
    })
}

/// A verdict that stands if this is still so after a while.
pub(super) fn doubted(problem: String) -> Verdict {
    still(DOUBT, problem)
}

fn still(still_after: Duration, problem: String) -> Verdict {
    Verdict::Unless {
        problem: Unanswered {
            why: Why::Stuck,
            problem,
        },
        still_after,
    }
}

#[cfg(test)]
mod tests;
