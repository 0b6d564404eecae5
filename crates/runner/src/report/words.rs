//! Plans and progress in the shape of the report.

use capt_api::{
    duration::Duration,
    run::{PlanReport, PlannedChange, ResourceRow},
    workspacetemplateapply::WorkspaceProgress,
};
use capt_terraform::{
    diagnostics::bounded,
    plan::{Plan, ResourceChange},
    progress::{Operation, Progress},
    redact::Redactor,
    stream::{Action, Diagnostic},
};
use k8s_openapi::jiff::Timestamp;

use super::values::Room;
use crate::engine::Planned;

/// Changes that are listed.
const MAX_CHANGES: usize = 100;
/// Bytes of what else is made, which is listed by its address.
const FURTHER_ROOM: usize = 32 * 1024;
/// Attributes of one change that are listed.
const MAX_PATHS: usize = 20;
/// Resources that are listed.
const MAX_ROWS: usize = 50;
/// Warnings that are told.
const MAX_WARNINGS: usize = 10;
/// Bytes of one warning.
const MAX_WARNING: usize = 500;
/// Bytes of a plan's text that are kept.
pub(crate) const MAX_PLAN_TEXT: usize = 256 * 1024;

/// A plan as it is reported.
pub(crate) fn plan(planned: &Planned, generation: i64, redactor: &Redactor, now: Timestamp) -> PlanReport {
    // What destroys comes first here as well.
    let mut room = Room::new();
    let all = in_order(&planned.plan);
    let changes = listed(all.iter().copied(), redactor, &mut room);
    let (further, left_out) = further(&all, redactor);
    let drift = listed(planned.plan.drift.iter(), redactor, &mut room);
    let (outputs, _) = room.values(&planned.plan.output_values, redactor);
    PlanReport {
        id: planned.id.as_str().to_owned(),
        summary: planned.plan.summary().to_string(),
        destructive: planned.plan.is_destructive(),
        awaits_approval: false,
        planned_at: Some(now),
        generation,
        changes,
        drift,
        outputs,
        further,
        left_out,
    }
}

/// What destroys comes first, so that a bound never hides it.
fn in_order(plan: &Plan) -> Vec<&ResourceChange> {
    let (first, rest): (Vec<_>, Vec<_>) = plan.changes.iter().partition(|change| change.is_destructive());
    first.into_iter().chain(rest).collect()
}

/// What else is made: should nobody live to tell what came of it, then all of it may exist. With how many had no room.
fn further(all: &[&ResourceChange], redactor: &Redactor) -> (Vec<PlannedChange>, u32) {
    let makes = |change: &&&ResourceChange| matches!(change.action, Action::Create | Action::Replace);
    let (mut room, mut rows, mut left_out) = (FURTHER_ROOM, Vec::new(), 0);
    for change in all.iter().skip(MAX_CHANGES).filter(makes) {
        let row = PlannedChange {
            address: redactor.text(&change.address),
            action: change.action.as_str().to_owned(),
            replaces: replaced(change, redactor),
            ..PlannedChange::default()
        };
        let bytes = serde_json::to_string(&row).map_or(0, |text| text.len() + 1);
        match room.checked_sub(bytes) {
            Some(left) => {
                room = left;
                rows.push(row);
            }
            None => left_out += 1,
        }
    }
    (rows, left_out)
}

/// The id of what is replaced, if anything is. Half of an id is nobody's.
fn replaced(change: &ResourceChange, redactor: &Redactor) -> Option<String> {
    let id = change
        .id
        .as_ref()
        .filter(|id| change.action == Action::Replace && redactor.text(id) == **id);
    id.cloned()
}

fn listed<'a>(
    changes: impl Iterator<Item = &'a ResourceChange>,
    redactor: &Redactor,
    room: &mut Room,
) -> Vec<PlannedChange> {
    let row = |change: &ResourceChange| {
        let (values, more_values) = room.values(&change.values, redactor);
        PlannedChange {
            address: redactor.text(&change.address),
            action: change.action.as_str().to_owned(),
            reason: change.reason.clone(),
            replaces: replaced(change, redactor),
            paths: change
                .paths
                .iter()
                .take(MAX_PATHS)
                .map(|path| redactor.text(path))
                .collect(),
            values,
            more_values,
        }
    };
    changes.take(MAX_CHANGES).map(row).collect()
}

/// What Terraform warned of, each once and in one line.
pub(crate) fn warnings(said: &[Diagnostic], redactor: &Redactor) -> Vec<String> {
    let mut told = Vec::new();
    for warning in said {
        let words = [
            warning.address.as_deref().unwrap_or_default(),
            &warning.summary,
            &warning.detail,
        ];
        let words: Vec<&str> = words.into_iter().filter(|words| !words.is_empty()).collect();
        let text = redactor.text(&words.join(": "));
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = bounded(&line, MAX_WARNING);
        if !told.contains(&line) {
            told.push(line);
        }
    }
    let more = told.len().saturating_sub(MAX_WARNINGS);
    told.truncate(MAX_WARNINGS);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told
}

/// What somebody else changed, in a few words.
pub(crate) fn drift(plan: &Plan, redactor: &Redactor) -> String {
    let mut words: Vec<String> = plan
        .drift
        .iter()
        .take(5)
        .map(|change| format!("{} ({})", redactor.text(&change.address), change.action))
        .collect();
    if plan.drift.len() > words.len() {
        words.push(format!("{} more", plan.drift.len() - words.len()));
    }
    format!("changed by somebody else: {}", words.join(", "))
}

/// Progress as it is reported.
pub(crate) fn progress(progress: &Progress, attempt: Option<i32>, redactor: &Redactor) -> WorkspaceProgress {
    WorkspaceProgress {
        operation: Some(operation(progress.operation).to_owned()),
        attempt,
        percent_complete: Some(i32::from(progress.percent)),
        resources_done: Some(i64::from(progress.done)),
        resources_total: Some(i64::from(progress.total)),
        current_resource: progress.in_flight.first().map(|one| redactor.text(&one.address)),
        estimated_time_remaining: progress
            .remaining_seconds
            .map(|seconds| Duration(format!("{seconds}s"))),
    }
}

/// The progress of what is not known to have any: the module and its providers are being fetched.
pub(crate) fn preparing(attempt: Option<i32>) -> WorkspaceProgress {
    WorkspaceProgress {
        operation: Some("init".to_owned()),
        attempt,
        percent_complete: Some(0),
        ..WorkspaceProgress::default()
    }
}

/// Resources that are worked on.
pub(crate) fn rows(progress: &Progress, redactor: &Redactor) -> Vec<ResourceRow> {
    let row = |one: &capt_terraform::progress::InFlight| ResourceRow {
        address: redactor.text(&one.address),
        action: one.action.as_str().to_owned(),
        state: "running".to_owned(),
        since: Some(one.since),
    };
    progress.in_flight.iter().take(MAX_ROWS).map(row).collect()
}

/// What an operation is called.
pub(crate) fn operation(operation: Operation) -> &'static str {
    match operation {
        Operation::Plan | Operation::Refresh => "plan",
        Operation::Apply => "apply",
        Operation::Destroy => "destroy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_a_large_plan_makes_is_listed_or_counted() {
        let change = |number: usize| ResourceChange {
            address: format!("thing.number_{number}"),
            action: match number % 2 {
                0 => Action::Create,
                _ => Action::Update,
            },
            ..ResourceChange::default()
        };
        for (count, is_cut) in [(300, false), (6000, true)] {
            let made = Plan {
                changes: (0..count).map(change).collect(),
                ..Plan::default()
            };
            let planned = Planned {
                id: made.id(),
                plan: made,
                text: String::new(),
                warnings: Vec::new(),
                state: None,
            };
            let told = plan(&planned, 1, &Redactor::default(), Timestamp::UNIX_EPOCH);
            assert_eq!(told.changes.len(), MAX_CHANGES);
            assert!(told.further.iter().all(|one| one.action == "create"));
            let made = told.further.len() + told.left_out as usize;
            assert_eq!(made, (count - MAX_CHANGES) / 2);
            assert_eq!(told.left_out > 0, is_cut);
        }
    }
}
