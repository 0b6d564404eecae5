use capt_api::captcontrolplane::{OperationRecord, ProgressInfo};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::*;
use crate::{
    controlplane::progress::PAUSED,
    decision::{Event, EventKind, OwnChange},
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

/// A profile in a phase since a second, with a failure or not.
fn profile(name: &str, phase: Phase, since: i64, failure: Option<&str>) -> FargateProfileStatus {
    FargateProfileStatus {
        name: name.to_owned(),
        ready: phase == Phase::Ready,
        phase: Some(phase),
        since: Some(Time(at(since))),
        failure_message: failure.map(str::to_owned),
        ..FargateProfileStatus::default()
    }
}

fn status(profiles: Vec<FargateProfileStatus>) -> CAPTControlPlaneStatus {
    CAPTControlPlaneStatus {
        fargate_profile_statuses: Some(profiles),
        ..CAPTControlPlaneStatus::default()
    }
}

fn plane(profiles: Vec<FargateProfileStatus>) -> CAPTControlPlane {
    let spec = json!({"version": "1.31", "workspaceTemplateRef": {"name": "eks"}});
    let mut plane = CAPTControlPlane::new("blue", serde_json::from_value(spec).expect("a spec"));
    plane.status = Some(status(profiles));
    plane
}

fn writes(profiles: Vec<FargateProfileStatus>) -> Decision<CAPTControlPlaneStatus> {
    Decision {
        own: OwnChange {
            status: Some(status(profiles)),
            ..OwnChange::default()
        },
        ..Decision::default()
    }
}

fn seconds(all: &[Duration]) -> Vec<u64> {
    all.iter().map(Duration::as_secs).collect()
}

#[test]
fn a_way_through_the_phases_is_counted_at_its_end_and_once() {
    use Phase::{Creating, Deleting, Failed, Queued, Ready, Updating, Waiting};
    type Case<'a> = (&'a str, Option<Phase>, Option<Phase>, Vec<u64>, Vec<u64>);
    let cases: Vec<Case<'_>> = vec![
        ("begun", None, Some(Creating), vec![], vec![]),
        ("waits", Some(Waiting), Some(Queued), vec![], vec![]),
        ("its turn", Some(Queued), Some(Creating), vec![], vec![]),
        ("made", Some(Creating), Some(Ready), vec![90], vec![]),
        ("still being made", Some(Creating), Some(Creating), vec![], vec![]),
        ("failed", Some(Creating), Some(Failed), vec![], vec![]),
        ("changed", Some(Updating), Some(Ready), vec![], vec![]),
        ("stays", Some(Ready), Some(Ready), vec![], vec![]),
        ("goes", Some(Ready), Some(Deleting), vec![], vec![]),
        ("waits to go", Some(Ready), Some(Queued), vec![], vec![]),
        ("gone", Some(Deleting), None, vec![], vec![90]),
        ("never was", Some(Waiting), None, vec![], vec![]),
    ];
    for (name, from, to, created, deleted) in cases {
        let one = |phase: Option<Phase>, since| {
            let phase = phase.into_iter();
            phase.map(|phase| profile("a", phase, since, None)).collect()
        };
        let before = plane(one(from, 10));
        let decision = writes(one(to, 100));
        let tally = Tally::of(&before, &decision, at(100));
        assert_eq!(seconds(&tally.created), created, "{name}");
        assert_eq!(seconds(&tally.deleted), deleted, "{name}");
        assert!(tally.errors.is_empty(), "{name}");
    }
}

/// What takes less than a moment is not told before it is over.
#[test]
fn what_is_told_once_counts_too_if_somebody_asked_for_it() {
    for (observed, expected) in [(Some(3), 1), (Some(4), 0), (None, 0)] {
        let ready = || vec![profile("a", Phase::Ready, 10, None)];
        let count = |from: Vec<FargateProfileStatus>, to: Vec<FargateProfileStatus>| {
            let mut before = plane(from);
            before.metadata.generation = Some(4);
            before.status.get_or_insert_default().observed_generation = observed;
            let tally = Tally::of(&before, &writes(to), at(100));
            (tally.created.len(), tally.deleted.len())
        };
        assert_eq!(count(Vec::new(), ready()), (expected, 0), "{observed:?}");
        assert_eq!(count(ready(), Vec::new()), (0, expected), "{observed:?}");
    }
}

#[test]
fn what_is_not_written_is_not_counted_unless_the_object_goes() {
    let before = plane(vec![profile("a", Phase::Deleting, 10, None)]);
    let mut decision = Decision::default();
    assert_eq!(Tally::of(&before, &decision, at(100)), Tally::default());
    // The object stays for somebody else's sake, and its status is written later.
    decision.own.remove_finalizers = vec![marks::FARGATE_PROFILES_FINALIZER.to_owned()];
    assert_eq!(Tally::of(&before, &decision, at(100)), Tally::default());
    decision.own.remove_finalizers = vec![marks::CAPTCONTROLPLANE_FINALIZER.to_owned()];
    assert_eq!(seconds(&Tally::of(&before, &decision, at(100)).deleted), [90]);
}

#[test]
fn a_pause_is_not_the_time_of_anybody() {
    let mut before = plane(vec![profile("a", Phase::Creating, 10, None)]);
    if let Some(status) = &mut before.status {
        status.progress = Some(ProgressInfo {
            history: Some(vec![OperationRecord {
                operation: PAUSED.to_owned(),
                start_time: Time(at(20)),
                step_start_time: None,
                end_time: Some(Time(at(60))),
                result: None,
                message: None,
            }]),
            ..ProgressInfo::default()
        });
    }
    let decision = writes(vec![profile("a", Phase::Ready, 100, None)]);
    assert_eq!(seconds(&Tally::of(&before, &decision, at(100)).created), [50]);
}

#[test]
fn an_error_is_counted_when_it_is_new_and_by_its_category() {
    let failed = |text| vec![profile("a", Phase::Failed, 10, text)];
    for (name, before, after, expected) in [
        ("none", None, None, vec![]),
        (
            "the seed's",
            None,
            Some("Failed to create Fargate profile: subnet not found"),
            vec![Category::Dependency],
        ),
        ("the same", Some("subnet"), Some("subnet"), vec![]),
        (
            "another",
            Some("subnet"),
            Some("ResourceLimitExceededException"),
            vec![Category::Creation],
        ),
        (
            "a role",
            None,
            Some("Misconfigured PodExecutionRole Trust Policy"),
            vec![Category::Dependency],
        ),
        ("mended", Some("subnet"), None, vec![]),
    ] {
        let tally = Tally::of(&plane(failed(before)), &writes(failed(after)), at(100));
        assert_eq!(tally.errors, expected, "{name}");
    }
    let mut decision = writes(failed(None));
    let event = |reason: Reason| Event {
        kind: EventKind::Warning,
        reason: reason.as_str().to_owned(),
        message: "Fargate profile a: x".to_owned(),
    };
    decision.events = vec![
        event(Reason::FargateProfileDependencyError),
        event(Reason::FargateProfileFailed),
        event(Reason::Degraded),
    ];
    let tally = Tally::of(&plane(failed(None)), &decision, at(100));
    assert_eq!(tally.errors, [Category::Dependency]);
}

#[test]
fn a_removal_that_failed_is_counted_as_one_whatever_it_says() {
    for failure in ["a subnet is in use", "it took too long"] {
        let before = plane(vec![profile("a", Phase::Deleting, 1, None)]);
        let decision = writes(vec![profile("a", Phase::Deleting, 1, Some(failure))]);
        let tally = Tally::of(&before, &decision, at(100));
        assert_eq!(tally.errors, [Category::Deletion], "{failure}");
    }
}

#[test]
fn only_a_status_that_tells_of_profiles_is_missed() {
    let decision = writes(Vec::new());
    assert_eq!(Tally::unwritten(&plane(Vec::new()), &decision), Tally::default());
    let one = plane(vec![profile("a", Phase::Ready, 1, None)]);
    assert_eq!(Tally::unwritten(&one, &decision).errors, [Category::StatusUpdate]);
    assert_eq!(Tally::unwritten(&one, &Decision::default()), Tally::default());
}

#[test]
fn a_census_counts_what_there_is() {
    use Phase::{Creating, Deleting, Failed, Queued, Ready, Updating, Waiting};
    let mut all: Vec<FargateProfileStatus> = [Waiting, Queued, Creating, Ready, Updating, Deleting]
        .into_iter()
        .map(|phase| profile("a", phase, 1, None))
        .collect();
    all.push(profile("failed", Failed, 1, Some("x")));
    all.push(profile("late", Creating, 1, Some("x")));
    let census = Census::of(Some(&status(all)));
    let expected = Census {
        ready: 1,
        active: 5,
        failed: 2,
    };
    assert_eq!(census, expected);
    assert_eq!(Census::of(None), Census::default());
}
