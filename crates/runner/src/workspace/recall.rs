//! What a runner that starts knows about a Workspace from what an earlier one wrote.

use capt_api::{
    conditions::workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
    run::{Operation, RunReport},
};
use k8s_openapi::jiff::Timestamp;

use super::standing::Standing;
use crate::decide::{About, Failed, Held, Looked, Memory, What};

/// What an operation is called in the report.
pub(crate) fn kind(what: What) -> &'static str {
    match what {
        What::Plan => "plan",
        What::Converge => "apply",
        What::Destroy => "destroy",
        What::Rescue => "rescue",
    }
}

/// How operations end, as the report says it.
pub(crate) mod outcome {
    pub(crate) const SUCCEEDED: &str = "succeeded";
    pub(crate) const FAILED: &str = "failed";
    pub(crate) const CANCELLED: &str = "cancelled";
    pub(crate) const INTERRUPTED: &str = "interrupted";
}

/// What is remembered about a Workspace by a runner that started at `start`.
pub(crate) fn recall(report: &RunReport, standing: &Standing, start: Timestamp) -> Memory {
    let operation = report.operation.as_ref();
    let settled = standing
        .condition(Type::Synced)
        .filter(|synced| {
            synced.status == "True" && standing.has_reason(Type::Synced, Reason::ReconcileSuccess)
        })
        .and_then(|synced| {
            Some(About {
                hash: standing.checksum.clone()?,
                generation: synced.observed_generation?,
            })
        });
    let held = report.plan.as_ref().filter(|plan| plan.awaits_approval);
    let was_looked_at = operation.is_some() || settled.is_some();
    Memory {
        // A plan that waits is not what was settled before.
        settled: settled.filter(|_| held.is_none()),
        held: held.zip(operation).map(|(plan, operation)| Held {
            plan: plan.id.clone(),
            about: About {
                hash: operation.inputs.clone(),
                generation: plan.generation,
            },
        }),
        failed: operation.and_then(failed),
        answered: report.answered.clone(),
        // The report may be gone, and what is settled is looked at all the same.
        looked: was_looked_at.then_some(Looked::BeforeStart(start)),
        is_unfinished: operation.is_some_and(|operation| operation.ended_at.is_none())
            || standing.has_reason(Type::Failing, Reason::BackendInModule),
        was_settled: standing.checksum.is_some(),
    }
}

fn failed(operation: &Operation) -> Option<Failed> {
    let what = [What::Converge, What::Destroy]
        .into_iter()
        .find(|what| kind(*what) == operation.kind)?;
    (operation.outcome.as_deref() == Some(outcome::FAILED)).then_some(())?;
    Some(Failed {
        what,
        about: About {
            hash: operation.inputs.clone(),
            generation: operation.generation,
        },
        is_transient: operation.transient,
        count: operation.failures.max(1),
        at: operation.ended_at?,
    })
}

#[cfg(test)]
mod tests {
    use capt_api::{conditions::ConditionStatus, run::PlanReport};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a valid time")
    }

    fn operation(kind: &str, outcome: Option<&str>) -> Operation {
        Operation {
            kind: kind.to_owned(),
            ended_at: outcome.map(|_| at(5)),
            outcome: outcome.map(str::to_owned),
            generation: 3,
            inputs: "h".to_owned(),
            failures: 4,
            transient: true,
            ..Operation::default()
        }
    }

    fn about() -> About {
        About {
            hash: "h".to_owned(),
            generation: 3,
        }
    }

    fn settled() -> Standing {
        let mut standing = Standing::default();
        standing.checksum = Some("h".to_owned());
        let synced = (Type::Synced, ConditionStatus::True, Reason::ReconcileSuccess);
        standing.say(synced, "", 3, at(1));
        standing
    }

    #[test]
    fn nothing_is_remembered_of_what_nobody_wrote() {
        let memory = recall(&RunReport::default(), &Standing::default(), at(9));
        assert_eq!(memory, Memory::default());
    }

    #[test]
    fn what_was_settled_is_settled_unless_a_plan_waits_or_it_was_paused() {
        let mut report = RunReport {
            operation: Some(operation("apply", Some(outcome::SUCCEEDED))),
            ..RunReport::default()
        };
        let memory = recall(&report, &settled(), at(9));
        assert_eq!(memory.settled, Some(about()));
        assert_eq!(memory.looked, Some(Looked::BeforeStart(at(9))));
        assert!(!memory.is_unfinished && memory.was_settled);
        let without_report = recall(&RunReport::default(), &settled(), at(9));
        assert_eq!(without_report.settled, Some(about()));
        assert_eq!(without_report.looked, Some(Looked::BeforeStart(at(9))));

        let mut paused = settled();
        paused.say(
            (Type::Synced, ConditionStatus::False, Reason::ReconcilePaused),
            "",
            3,
            at(2),
        );
        assert_eq!(recall(&report, &paused, at(9)).settled, None);

        report.plan = Some(PlanReport {
            id: "p".to_owned(),
            awaits_approval: true,
            generation: 3,
            ..PlanReport::default()
        });
        let memory = recall(&report, &settled(), at(9));
        assert_eq!(memory.settled, None);
        let held = Held {
            plan: "p".to_owned(),
            about: about(),
        };
        assert_eq!(memory.held, Some(held));
    }

    #[test]
    fn failures_and_broken_off_operations_are_remembered_as_such() {
        let remember = |operation: Operation| {
            let report = RunReport {
                operation: Some(operation),
                ..RunReport::default()
            };
            recall(&report, &Standing::default(), at(9))
        };
        let failed = remember(operation("destroy", Some(outcome::FAILED)))
            .failed
            .expect("it failed");
        assert_eq!((failed.what, failed.count, failed.at), (What::Destroy, 4, at(5)));
        assert!(failed.is_transient && failed.about == about());
        assert_eq!(remember(operation("plan", Some(outcome::FAILED))).failed, None);
        assert_eq!(
            remember(operation("apply", Some(outcome::INTERRUPTED))).failed,
            None
        );
        assert!(remember(operation("apply", None)).is_unfinished);
        assert!(!remember(operation("apply", Some(outcome::INTERRUPTED))).is_unfinished);
    }
}
