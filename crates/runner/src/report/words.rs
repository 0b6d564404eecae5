//! Plans and progress in the shape of the report.

use capt_api::{
    duration::Duration,
    run::{MissingResource, PlanReport, PlannedChange, ResourceRow},
    workspacetemplateapply::WorkspaceProgress,
};
use capt_terraform::{
    diagnostics::bounded,
    plan::{Plan, ResourceChange},
    progress::{Operation, Progress},
    redact::Redactor,
    state::{Created, State},
    stream::{Action, Diagnostic},
};
use k8s_openapi::jiff::Timestamp;

use super::values::Room;
use crate::engine::Planned;

/// Changes that are listed.
const MAX_CHANGES: usize = 100;
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
    let changes = changes(&planned.plan, redactor, &mut room);
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
    }
}

/// What destroys comes first, so that a bound never hides it.
fn changes(plan: &Plan, redactor: &Redactor, room: &mut Room) -> Vec<PlannedChange> {
    let (first, rest): (Vec<_>, Vec<_>) = plan.changes.iter().partition(|change| change.is_destructive());
    listed(first.into_iter().chain(rest), redactor, room)
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
            replaces: change
                .id
                .as_ref()
                // Half of an id is nobody's.
                .filter(|id| change.action == Action::Replace && redactor.text(id) == **id)
                .cloned(),
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
        .map(|change| format!("{} ({})", change.address, change.action))
        .collect();
    if plan.drift.len() > words.len() {
        words.push(format!("{} more", plan.drift.len() - words.len()));
    }
    redactor.text(&format!("changed by somebody else: {}", words.join(", ")))
}

/// Progress as it is reported.
pub(crate) fn progress(progress: &Progress, redactor: &Redactor) -> WorkspaceProgress {
    WorkspaceProgress {
        operation: Some(operation(progress.operation).to_owned()),
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
pub(crate) fn preparing() -> WorkspaceProgress {
    WorkspaceProgress {
        operation: Some("init".to_owned()),
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

/// What is still missing: what was, and what is new, as far as this state does not have it.
pub(crate) fn missing(
    before: &[MissingResource],
    new: &[Created],
    state: Option<&State>,
) -> Vec<MissingResource> {
    let mut all: Vec<MissingResource> = before.to_vec();
    for made in new {
        all.retain(|old| old.address != made.address || old.id.is_some() && old.id != made.id);
        all.push(MissingResource {
            address: made.address.clone(),
            id: made.id.clone(),
            unfinished: made.unfinished,
            planned: false,
            replaces: made.replaces.clone(),
        });
    }
    all.retain(|one| !state.is_some_and(|state| made(one).is_in(state)));
    all.truncate(MAX_ROWS);
    all
}

fn made(one: &MissingResource) -> Created {
    Created {
        address: one.address.clone(),
        id: one.id.clone(),
        unfinished: one.unfinished,
        replaces: one.replaces.clone(),
    }
}

/// What is missing, in words, with the command that goes on in spite of it.
pub(crate) fn missing_words(missing: &[MissingResource], retry: &str) -> String {
    let one = |one: &MissingResource| {
        let place = match one.replaces.as_deref() {
            None => String::new(),
            Some("") => " in the place of what the state has".to_owned(),
            Some(before) => format!(" in the place of [id={before}]"),
        };
        match (&one.id, one.unfinished) {
            (None, _) if one.planned => format!("{} (was going to be made{place}, may exist)", one.address),
            (Some(id), _) => format!("{} [id={id}]", one.address),
            (None, true) => format!("{} (was being made{place}, may exist)", one.address),
            (None, false) => one.address.clone(),
        }
    };
    let mut words: Vec<String> = missing.iter().take(10).map(one).collect();
    if missing.len() > words.len() {
        words.push(format!("{} more", missing.len() - words.len()));
    }
    let what = match missing.iter().any(|one| one.planned) {
        true => "what it told is lost, so that nobody knows how much of this it had made",
        false => "the state does not have what it had made",
    };
    format!(
        "an operation was cut short, and {what}: {}. Import or delete them before \
         another try, which would make them a second time: {retry}",
        words.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(address: &str, id: Option<&str>) -> Created {
        Created {
            address: address.to_owned(),
            id: id.map(str::to_owned),
            unfinished: id.is_none(),
            replaces: None,
        }
    }

    fn state(objects: &[(&str, &str)]) -> State {
        let resources: Vec<serde_json::Value> = objects
            .iter()
            .map(|(name, id)| {
                serde_json::json!({
                    "mode": "managed", "type": "thing", "name": name,
                    "instances": [{"attributes": {"id": id}}],
                })
            })
            .collect();
        let file = serde_json::json!({
            "version": 4, "serial": 1, "lineage": "l", "terraform_version": "1.11.4", "resources": resources,
        });
        State::parse(file.to_string().as_bytes()).expect("a state")
    }

    fn addresses(missing: &[MissingResource]) -> Vec<(&str, Option<&str>)> {
        missing
            .iter()
            .map(|one| (one.address.as_str(), one.id.as_deref()))
            .collect()
    }

    #[test]
    fn what_is_missing_stays_listed_until_the_state_has_just_that() {
        let new = [created("thing.a", Some("1")), created("thing.b", None)];
        let first = missing(&[], &new, None);
        assert_eq!(addresses(&first), [("thing.a", Some("1")), ("thing.b", None)]);
        // Another one of that address is not the one that is missing.
        let again = missing(&first, &[], Some(&state(&[("a", "2"), ("b", "7")])));
        assert_eq!(addresses(&again), [("thing.a", Some("1"))]);
        let done = missing(&again, &[], Some(&state(&[("a", "1")])));
        assert_eq!(addresses(&done), []);
    }

    #[test]
    fn what_takes_the_place_of_something_stays_listed_while_the_state_has_that() {
        let new = Created {
            replaces: Some("1".to_owned()),
            ..created("thing.a", None)
        };
        let first = missing(&[], &[new], Some(&state(&[("a", "1")])));
        assert_eq!(addresses(&first), [("thing.a", None)]);
        let words = missing_words(&first, "capt retry workspace/x");
        assert!(
            words.contains("thing.a (was being made in the place of [id=1], may exist)"),
            "{words}"
        );
        assert_eq!(
            addresses(&missing(&first, &[], Some(&state(&[("a", "1")])))).len(),
            1
        );
        assert_eq!(addresses(&missing(&first, &[], Some(&state(&[("a", "2")])))), []);
    }

    #[test]
    fn the_same_is_listed_once_and_never_too_much() {
        let one = [created("thing.a", None)];
        let first = missing(&[], &one, None);
        let told_more = missing(&first, &[created("thing.a", Some("1"))], None);
        assert_eq!(addresses(&told_more), [("thing.a", Some("1"))]);
        let many: Vec<Created> = (0..200)
            .map(|number| created(&format!("thing.n{number}"), None))
            .collect();
        let listed = missing(&[], &many, None);
        assert_eq!(listed.len(), MAX_ROWS);
        let words = missing_words(&listed, "capt retry workspace/x");
        assert!(words.contains("thing.n0 (was being made, may exist)"), "{words}");
        assert!(
            words.contains("40 more") && words.contains("before another try"),
            "{words}"
        );
    }
}
