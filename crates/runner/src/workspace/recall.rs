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
        looked: operation.map(|_| Looked::BeforeStart(start)),
        is_unfinished: operation.is_some_and(|operation| operation.ended_at.is_none()),
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
