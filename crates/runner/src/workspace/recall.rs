//! What a runner that starts knows about a Workspace from what an earlier one wrote.

use capt_api::{
    conditions::{
        Word as _,
        workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
    },
    run::{CutShort, MissingResource, Operation, RunReport},
};
use k8s_openapi::jiff::Timestamp;

use super::standing::Standing;
use crate::{
    decide::{About, Failed, Held, Looked, Memory, What},
    operation::Stage,
};

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

/// Actions of a plan that make something new.
const MAKES: [&str; 2] = ["create", REPLACES];
/// The one of them that puts something in the place of something else.
const REPLACES: &str = "replace";

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
    // What was interrupted is done again at once, whatever was so before: nobody was told that a plan waits.
    let is_cut_short = operation.is_some_and(is_cut_short);
    let settled = settled.filter(|_| !is_cut_short);
    let held = report.plan.as_ref();
    let held = held.filter(|plan| plan.awaits_approval && !is_cut_short);
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
        made: report.made.clone(),
    }
}

/// Whether it may have made something, and whoever ran it did not live to tell how it ended.
fn is_cut_short(operation: &Operation) -> bool {
    let is_apply = operation.kind == kind(What::Converge);
    is_apply && operation.outcome.is_none() && operation.ended_at.is_none()
}

/// Writes into the report which operation was cut short, if it may have made anything, and what that may be. Whoever runs
/// the next one asks the engine about it.
pub(crate) fn note_cut_short(report: &mut RunReport) {
    let apply = report.operation.as_ref();
    let Some(apply) = apply.filter(|operation| is_cut_short(operation)) else {
        return;
    };
    // A plan that waited was not applied, and one that is older was not made by it.
    let plan = report.plan.as_ref().filter(|plan| {
        !plan.awaits_approval && plan.planned_at.is_some() && plan.planned_at >= apply.started_at
    });
    let Some(plan) = plan else { return };
    let is_running = |address: &str| {
        let mut running = report.resources.iter().filter(|row| row.state == "running");
        running.any(|row| row.address == address)
    };
    let listed = plan.changes.iter().chain(&plan.further);
    let new = listed.filter(|change| MAKES.contains(&change.action.as_str()));
    let mut making: Vec<MissingResource> = new
        .map(|change| MissingResource {
            address: change.address.clone(),
            id: None,
            unfinished: true,
            planned: !is_running(&change.address),
            replaces: (change.action == REPLACES).then(|| change.replaces.clone().unwrap_or_default()),
            provisioner: None,
        })
        .collect();
    making.sort_by_key(|one| one.planned);
    // What an earlier one may have left is still not known.
    let before = report.cut_short.take().unwrap_or_default();
    for one in before.making {
        if !making.iter().any(|known| known.address == one.address) {
            making.push(one);
        }
    }
    if !making.is_empty() {
        report.cut_short = Some(CutShort {
            started_at: apply.started_at,
            making,
            more: before.more.saturating_add(plan.left_out),
        });
    }
}

/// Whether an operation failed in making or changing something. What would make something a second time is not begun.
fn has_acted(operation: &Operation) -> bool {
    let stage = operation.message.as_deref().and_then(Stage::of);
    let is_refused = operation.reason.as_deref() == Some(Reason::ResourcesMissing.as_str());
    stage.is_some_and(Stage::acts) && !is_refused
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
        has_acted: has_acted(operation),
        count: operation.failures.max(1),
        at: operation.ended_at?,
    })
}

#[cfg(test)]
mod tests {
    use capt_api::{
        conditions::ConditionStatus,
        run::{PlanReport, PlannedChange, ResourceRow},
    };

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

    fn cut_short(plan: PlanReport) -> RunReport {
        let begun = Operation {
            started_at: Some(at(5)),
            ..operation("apply", None)
        };
        let mut report = RunReport {
            operation: Some(begun),
            plan: Some(plan),
            ..RunReport::default()
        };
        report.resources = vec![ResourceRow {
            address: "thing.b".to_owned(),
            state: "running".to_owned(),
            ..ResourceRow::default()
        }];
        report
    }

    fn plan(planned_at: i64, changes: &[(&str, &str)]) -> PlanReport {
        let change = |(address, action): &(&str, &str)| PlannedChange {
            address: (*address).to_owned(),
            action: (*action).to_owned(),
            ..PlannedChange::default()
        };
        PlanReport {
            id: "p".to_owned(),
            planned_at: Some(at(planned_at)),
            changes: changes.iter().map(change).collect(),
            generation: 3,
            ..PlanReport::default()
        }
    }

    fn making(report: &RunReport) -> Vec<(&str, bool)> {
        let cut_short = report.cut_short.iter();
        cut_short
            .flat_map(|cut_short| &cut_short.making)
            .map(|one| (one.address.as_str(), one.planned))
            .collect()
    }

    #[test]
    fn what_an_apply_that_was_cut_short_may_have_made_is_kept_in_mind() {
        let changes = [
            ("thing.a", "create"),
            ("thing.b", "create"),
            ("thing.c", "update"),
            ("thing.d", "replace"),
            ("thing.e", "delete"),
        ];
        let mut report = cut_short(plan(6, &changes));
        note_cut_short(&mut report);
        let first = [("thing.b", false), ("thing.a", true), ("thing.d", true)];
        assert_eq!(making(&report), first);
        assert_eq!(
            report.cut_short.as_ref().and_then(|one| one.started_at),
            Some(at(5))
        );
        // Another one that comes to nothing changes nothing about it, and one that goes on adds to it.
        report.operation = Some(Operation {
            started_at: Some(at(7)),
            ..operation("apply", None)
        });
        note_cut_short(&mut report);
        assert_eq!(making(&report), first);
        report.plan = Some(plan(8, &[("thing.f", "create")]));
        note_cut_short(&mut report);
        assert_eq!(making(&report)[0], ("thing.f", true));
        assert_eq!(making(&report).len(), 4);
        assert_eq!(report.cut_short.and_then(|one| one.started_at), Some(at(7)));
    }

    #[test]
    fn what_a_large_plan_makes_is_kept_in_mind_or_counted() {
        let names: Vec<String> = (0..300).map(|number| format!("thing.n{number}")).collect();
        let changes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "create")).collect();
        let mut large = plan(6, &changes);
        large.further = large.changes.split_off(100);
        large.left_out = 7;
        let mut report = cut_short(large);
        note_cut_short(&mut report);
        assert_eq!(making(&report).len(), 300);
        assert_eq!(report.cut_short.map(|one| one.more), Some(7));
    }

    #[test]
    fn what_made_nothing_leaves_nothing() {
        let create = [("thing.a", "create")];
        let waits = PlanReport {
            awaits_approval: true,
            ..plan(6, &create)
        };
        let mut ended = cut_short(plan(6, &create));
        ended.operation = Some(operation("apply", Some(outcome::INTERRUPTED)));
        let mut destroying = cut_short(plan(6, &create));
        destroying.operation = Some(operation("destroy", None));
        let cases = [
            ("an older plan", cut_short(plan(4, &create))),
            (
                "a plan that makes nothing",
                cut_short(plan(6, &[("thing.a", "update")])),
            ),
            ("a plan that waits", cut_short(waits)),
            ("an apply that ended", ended),
            ("a destruction", destroying),
        ];
        for (name, mut report) in cases {
            note_cut_short(&mut report);
            assert_eq!(report.cut_short, None, "{name}");
        }
    }

    #[test]
    fn a_plan_of_which_nobody_was_told_that_it_waits_does_not_wait() {
        let waits = PlanReport {
            awaits_approval: true,
            ..plan(6, &[("thing.a", "delete")])
        };
        let report = cut_short(waits);
        assert_eq!(recall(&report, &settled(), at(9)).held, None);
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
        let unfinished = remember(operation("apply", None));
        assert!(unfinished.is_unfinished && unfinished.settled.is_none());
        assert!(!remember(operation("apply", Some(outcome::INTERRUPTED))).is_unfinished);
    }
}
