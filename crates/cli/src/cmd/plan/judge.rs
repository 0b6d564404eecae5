//! Whether a plan that was asked for is there.

use capt_api::{WorkspaceTemplateApply, marks};
use capt_runner::view::WorkspaceView;

use crate::objects::Page;

/// What is known about a plan that was asked for.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is there.
    Answered(Box<Page>),
    /// It will not come.
    Refused(Unanswered),
    /// It may still come; what is waited for.
    Waiting(String),
    /// It will not come unless this, which was said earlier, is no longer true.
    Blocked(Unanswered),
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unanswered {
    pub(super) problem: String,
}

/// Reasons of the condition Applied with which nothing can be rendered.
const UNRENDERED: [&str; 6] = [
    "TemplateNotFound",
    "TemplateNotShared",
    "TemplateInvalid",
    "RevisionNotFound",
    "VariableMissing",
    "VariableInvalid",
];

/// Reasons of the condition Failing with which a runner waits for somebody to change something, and plans nothing.
const BLOCKED: [&str; 4] = [
    "InputMissing",
    "InputInvalid",
    "PoliciesUnsupported",
    "NothingToObserve",
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
    let Some(workspace) = workspace else {
        if apply.is_some_and(is_paused) {
            return refused("it is paused, and there is no Workspace yet that could be planned");
        }
        let message = apply
            .and_then(|apply| apply.status.as_ref()?.message.clone())
            .filter(|message| !message.is_empty());
        let message = message.unwrap_or_else(|| "the Workspace has to be made".to_owned());
        return Verdict::Waiting(message);
    };
    let is_stopped = workspace.policies.as_ref().is_some_and(Vec::is_empty);
    if is_stopped && apply.is_some_and(|apply| !is_paused(apply)) {
        // A plan would be one of what it has, and not of what it waits to get.
        let waits = apply.and_then(|apply| apply.status.as_ref()?.message.clone());
        return Verdict::Blocked(Unanswered {
            problem: waits.unwrap_or_else(|| "the Workspace is paused".to_owned()),
        });
    }
    if is_stopped && workspace.finalizers.is_empty() {
        return refused("the Workspace is paused and was never run, so that nothing can be planned");
    }
    let answered = page
        .as_ref()
        .and_then(|page| page.report.answered.get(marks::PLAN_REQUESTED));
    let is_answered = answered.is_some_and(|answered| answered == token);
    let mut conditions = workspace.status.conditions.iter().flatten();
    let blocked = conditions.find(|condition| {
        condition.type_ == "Failing"
            && condition.status == "True"
            && BLOCKED.contains(&condition.reason.as_str())
    });
    if let Some(blocked) = blocked.filter(|_| !is_answered) {
        return Verdict::Blocked(Unanswered {
            problem: blocked.message.clone().unwrap_or_default(),
        });
    }
    let Some(page) = page else {
        return Verdict::Waiting("a runner has to take the Workspace up".to_owned());
    };
    let operation = page.report.operation.as_ref();
    if is_answered {
        let failed = operation.filter(|operation| operation.outcome.as_deref() == Some("failed"));
        return match (failed, &page.report.plan) {
            (Some(operation), _) if operation.kind == "plan" => refused(
                operation
                    .message
                    .as_deref()
                    .unwrap_or("planning failed; see capt logs"),
            ),
            (_, None) => refused("planning failed; see capt logs"),
            (_, Some(_)) => Verdict::Answered(Box::new(page)),
        };
    }
    let running = operation.filter(|operation| operation.ended_at.is_none() && !operation.kind.is_empty());
    Verdict::Waiting(match running {
        Some(operation) => format!("{} is running", operation.kind),
        None => "the runner has to begin".to_owned(),
    })
}

/// Whether nothing is done for it, because somebody asked for that.
pub(super) fn is_paused(apply: &WorkspaceTemplateApply) -> bool {
    let conditions = apply
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Paused" && condition.status == "True")
}

fn of_apply(apply: &WorkspaceTemplateApply) -> Option<Verdict> {
    if apply.metadata.deletion_timestamp.is_some() {
        return Some(refused("it is being deleted"));
    }
    let status = apply.status.as_ref()?;
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let condition = |type_: &str| conditions.iter().find(|condition| condition.type_ == type_);
    let applied = condition("Applied").filter(|applied| applied.status != "True");
    if is_paused(apply) {
        // During a pause this is said only of what was asked for and cannot be planned.
        let reason = |problem: &str| UNRENDERED.contains(&problem) || problem == "StateLocationChanged";
        let problem = applied.filter(|applied| reason(&applied.reason));
        return problem.map(|problem| {
            Verdict::Blocked(Unanswered {
                problem: problem.message.clone(),
            })
        });
    }
    // What is said about an older spec may not be true any more.
    if status.observed_generation != apply.metadata.generation {
        return Some(Verdict::Waiting("the controllers have to look at it".to_owned()));
    }
    let applied = applied?;
    UNRENDERED
        .contains(&applied.reason.as_str())
        .then(|| refused(&applied.message))
}

fn refused(problem: &str) -> Verdict {
    Verdict::Refused(Unanswered {
        problem: problem.to_owned(),
    })
}

#[cfg(test)]
mod tests;
