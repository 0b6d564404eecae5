use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::stream::{Event, Line, parse_line};

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

fn event(kind: &str, action: &str, address: &str, seconds: i64) -> Event {
    let resource = json!({"addr": address, "resource_type": address.rsplit('.').nth(1)});
    let line = json!({"@message": "", "@timestamp": at(seconds).to_string(), "type": kind,
        "hook": {"resource": resource, "action": action}, "change": {"resource": resource, "action": action}});
    match parse_line(line.to_string().as_bytes()) {
        Line::Event(event) => *event,
        other => panic!("{other:?}"),
    }
}

fn recorded(ndjson: &str) -> Vec<Event> {
    let lines = ndjson.lines().map(|line| parse_line(line.as_bytes()));
    lines
        .map(|line| {
            if let Line::Event(event) = line {
                *event
            } else {
                panic!("{line:?}")
            }
        })
        .collect()
}

fn run(operation: Operation, resources: usize, events: &[Event]) -> (Tracker, Vec<Progress>) {
    let mut tracker = Tracker::new(operation, resources, Durations::default());
    let mut seen = Vec::new();
    for event in events {
        tracker.observe(event, at(0));
        seen.push(tracker.progress(event.at.unwrap()));
    }
    (tracker, seen)
}

#[test]
fn counts_recorded_runs() {
    let cases = [
        (
            Operation::Apply,
            include_str!("../../tests/fixtures/apply.ndjson"),
            (5, 5, 0),
        ),
        (
            Operation::Destroy,
            include_str!("../../tests/fixtures/destroy.ndjson"),
            (5, 5, 0),
        ),
        (
            Operation::Apply,
            include_str!("../../tests/fixtures/apply-exec-failed.ndjson"),
            (5, 5, 1),
        ),
        (
            Operation::Apply,
            include_str!("../../tests/fixtures/apply-sigint.ndjson"),
            (1, 5, 1),
        ),
        (
            Operation::Apply,
            include_str!("../../tests/fixtures/apply-mixed.ndjson"),
            (7, 7, 0),
        ),
        (
            Operation::Plan,
            include_str!("../../tests/fixtures/plan-noop.ndjson"),
            (5, 5, 0),
        ),
        (
            Operation::Plan,
            include_str!("../../tests/fixtures/plan.ndjson"),
            (0, 5, 0),
        ),
    ];
    for (operation, ndjson, expected) in cases {
        let (mut tracker, seen) = run(operation, 5, &recorded(ndjson));
        let last = seen.last().unwrap();
        assert_eq!(
            (last.done, last.total, last.failed),
            expected,
            "{operation:?} {}",
            last.message
        );
        assert!(seen.windows(2).all(|pair| pair[0].percent <= pair[1].percent));
        assert!(last.percent <= 99);
        assert!(last.in_flight.is_empty());
        tracker.succeed();
        assert_eq!(tracker.progress(at(0)).percent, 100);
    }
}

#[test]
fn without_experience_only_what_has_ended_well_counts() {
    let cases = [
        (
            Operation::Apply,
            include_str!("../../tests/fixtures/apply.ndjson"),
            99,
        ),
        (
            Operation::Apply,
            include_str!("../../tests/fixtures/apply-mixed.ndjson"),
            99,
        ),
        (
            Operation::Apply,
            include_str!("../../tests/fixtures/apply-exec-failed.ndjson"),
            80,
        ),
        (
            Operation::Apply,
            include_str!("../../tests/fixtures/apply-sigint.ndjson"),
            0,
        ),
        (
            Operation::Destroy,
            include_str!("../../tests/fixtures/destroy.ndjson"),
            99,
        ),
        (
            Operation::Plan,
            include_str!("../../tests/fixtures/plan-noop.ndjson"),
            99,
        ),
        (
            Operation::Plan,
            include_str!("../../tests/fixtures/plan.ndjson"),
            0,
        ),
    ];
    for (operation, ndjson, end) in cases {
        let (mut tracker, seen) = run(operation, 5, &recorded(ndjson));
        for progress in &seen {
            let ended = (progress.done - progress.failed) * 100;
            assert!(
                u32::from(progress.percent) * progress.total <= ended,
                "{operation:?}: {progress:?}"
            );
        }
        // What goes on is not nearly done by going on.
        let late = at(4_000_000_000);
        assert_eq!(tracker.progress(late).percent, end, "{operation:?}");
    }
}

#[test]
fn per_cent_follow_experience_only_as_far_as_it_goes() {
    let learned = |samples: &[f64]| {
        let mut durations = Durations::default();
        for seconds in samples {
            durations.learn("custom_thing", &Action::Create, *seconds);
        }
        durations
    };
    // How long two of them took before, how many have ended, how long the other two have gone on, per cent.
    let cases: [(&[f64], usize, i64, u8); 9] = [
        (&[], 0, 3600, 0),
        (&[], 2, 3600, 50),
        (&[100.0], 0, 50, 25),
        (&[100.0, 80.0, 120.0], 0, 100, 45),
        (&[100.0], 2, 50, 75),
        (&[100.0], 2, 150, 95),
        // It takes far longer than ever.
        (&[100.0], 2, 250, 50),
        // They took very different times, so that nothing is known.
        (&[0.1, 0.2, 60.0], 2, 30, 50),
        (&[0.1, 0.2], 0, 1, 0),
    ];
    for (samples, ended, seconds, expected) in cases {
        let mut tracker = Tracker::new(Operation::Apply, 0, learned(samples));
        for number in 0..4 {
            let address = format!("custom_thing.r{number}");
            tracker.observe(&event("planned_change", "create", &address, 0), at(0));
        }
        for number in 0..(ended + 2) {
            let address = format!("custom_thing.r{number}");
            tracker.observe(&event("apply_start", "create", &address, 0), at(0));
            if number < ended {
                tracker.observe(&event("apply_complete", "create", &address, 0), at(0));
            }
        }
        let percent = tracker.progress(at(seconds)).percent;
        assert_eq!(percent, expected, "{samples:?}, {ended} ended, {seconds} s");
    }
}

#[test]
fn the_smaller_of_two_shares_counts() {
    let mut tracker = Tracker::new(Operation::Apply, 0, Durations::default());
    let quick: Vec<String> = (0..9).map(|number| format!("custom_thing.q{number}")).collect();
    let all = quick.iter().map(String::as_str).chain(["aws_eks_cluster.main"]);
    for address in all {
        tracker.observe(&event("planned_change", "create", address, 0), at(0));
    }
    for address in &quick {
        tracker.observe(&event("apply_complete", "create", address, 1), at(0));
    }
    assert_eq!(
        tracker.progress(at(1)).percent,
        1,
        "nine of ten, but the long one is to come"
    );

    let mut tracker = Tracker::new(Operation::Apply, 0, Durations::default());
    for address in [
        "aws_eks_cluster.main",
        "custom_thing.a",
        "custom_thing.b",
        "custom_thing.c",
    ] {
        tracker.observe(&event("planned_change", "create", address, 0), at(0));
    }
    tracker.observe(
        &event("apply_complete", "create", "aws_eks_cluster.main", 1),
        at(0),
    );
    assert_eq!(
        tracker.progress(at(1)).percent,
        25,
        "one of four, and nobody knows the others"
    );
}

#[test]
fn what_a_plan_says_is_expected_before_any_of_it_begins() {
    let plan =
        crate::plan::Plan::from_events(&recorded(include_str!("../../tests/fixtures/plan-mixed.ndjson")));
    let events = recorded(include_str!("../../tests/fixtures/apply-mixed.ndjson"));
    let total = run(Operation::Apply, 0, &events).1.last().map(|last| last.total);
    // Not every engine repeats the plan when it applies it.
    let silent: Vec<Event> = events
        .into_iter()
        .filter(|event| !matches!(event.kind, crate::stream::Kind::PlannedChange(_)))
        .collect();
    let mut tracker = Tracker::new(Operation::Apply, 0, Durations::default());
    tracker.expect(&plan);
    for event in &silent {
        assert_eq!(Some(tracker.progress(at(0)).total), total);
        tracker.observe(event, at(0));
    }
    let last = tracker.progress(at(0));
    assert_eq!((Some(last.done), last.percent), (total, 99), "{last:?}");
}

#[test]
fn learns_from_a_run() {
    let (tracker, _) = run(
        Operation::Apply,
        0,
        &recorded(include_str!("../../tests/fixtures/apply.ndjson")),
    );
    let mut durations = Durations::default();
    tracker.teach(&mut durations);
    let seconds = durations.expected("terraform_data", &Action::Create);
    assert!((11.0..14.0).contains(&seconds), "{seconds}");
    let text = serde_json::to_string(&durations).unwrap();
    assert_eq!(serde_json::from_str::<Durations>(&text).unwrap(), durations);
}

#[test]
fn memory_is_bounded_and_robust() {
    let mut durations = Durations::default();
    for sample in [100.0, 1.0, 2.0, 3.0, f64::NAN, -1.0, f64::INFINITY] {
        durations.learn("a", &Action::Create, sample);
    }
    assert!((durations.expected("a", &Action::Create) - 3.0).abs() < 0.01);
    for kind in 0..2000 {
        durations.learn(&format!("t{kind}"), &Action::Create, 1.0);
        for _ in 0..20 {
            durations.learn("a", &Action::Create, 7.0);
        }
    }
    assert!(serde_json::to_string(&durations).unwrap().len() < 64 << 10);
    assert!((durations.expected("a", &Action::Create) - 7.0).abs() < 0.01);
    assert!(durations.expected("aws_eks_cluster", &Action::Create) > 60.0);
    assert!(durations.expected("unheard_of", &Action::Delete) > 0.0);
}

#[test]
fn says_what_goes_on() {
    let events = [
        event("planned_change", "create", "aws_vpc.main", 0),
        event("planned_change", "create", "aws_eks_cluster.main", 0),
        event("planned_change", "replace", "aws_subnet.a", 0),
        event("planned_change", "move", "aws_subnet.b", 0),
        event("apply_start", "create", "aws_vpc.main", 0),
    ];
    let mut tracker = Tracker::new(Operation::Apply, 0, Durations::default());
    events.iter().for_each(|event| tracker.observe(event, at(0)));
    let progress = tracker.progress(at(6));
    assert_eq!((progress.done, progress.total, progress.percent), (0, 4, 1));
    assert_eq!(
        progress.message,
        "Creating aws_vpc.main for 6s, 0/4 done, about 9m00s left"
    );

    tracker.observe(&event("apply_complete", "create", "aws_vpc.main", 12), at(0));
    tracker.observe(&event("apply_start", "create", "aws_eks_cluster.main", 12), at(0));
    tracker.observe(&event("apply_start", "delete", "aws_subnet.a", 13), at(0));
    let progress = tracker.progress(at(222));
    assert_eq!(progress.in_flight.len(), 2);
    assert_eq!(progress.remaining_seconds, Some(330));
    assert_eq!(
        progress.message,
        "Creating aws_eks_cluster.main for 3m30s and 1 more, 1/4 done, about 5m30s left"
    );
    tracker.observe(
        &event("apply_errored", "create", "aws_eks_cluster.main", 300),
        at(0),
    );
    assert!(tracker.progress(at(300)).message.contains("2/4 done, 1 failed"));
}

#[test]
fn chains_take_their_sum() {
    let events: Vec<Event> = (0..4)
        .map(|number| {
            event(
                "planned_change",
                "create",
                &format!("module.m[0].aws_eks_fargate_profile.p{number}[\"a]b\"]"),
                0,
            )
        })
        .collect();
    let profile = |number: u32| format!("module.m.aws_eks_fargate_profile.p{number}");
    let chained: BTreeMap<String, Vec<String>> = (1..4)
        .map(|number| (profile(number), vec![profile(number - 1)]))
        .collect();
    let cycle: BTreeMap<String, Vec<String>> = (0..4)
        .map(|number| (profile(number), vec![profile((number + 1) % 4)]))
        .collect();
    for (dependencies, expected) in [(BTreeMap::new(), 120), (chained, 480)] {
        let mut tracker =
            Tracker::new(Operation::Apply, 0, Durations::default()).with_dependencies(dependencies);
        events.iter().for_each(|event| tracker.observe(event, at(0)));
        assert_eq!(tracker.progress(at(0)).remaining_seconds, Some(expected));
    }
    let mut tracker = Tracker::new(Operation::Apply, 0, Durations::default()).with_dependencies(cycle);
    events.iter().for_each(|event| tracker.observe(event, at(0)));
    assert!(tracker.progress(at(0)).remaining_seconds.is_some());
}

#[test]
fn nothing_known_is_nothing_promised() {
    let mut tracker = Tracker::new(Operation::Apply, 0, Durations::default());
    tracker.observe(&event("planned_change", "create", "custom_thing.a", 0), at(0));
    assert_eq!(tracker.progress(at(0)).remaining_seconds, None);
}

#[test]
fn what_takes_longer_than_expected_is_promised_no_more() {
    let mut durations = Durations::default();
    durations.learn("custom_thing", &Action::Create, 1.0);
    let mut tracker = Tracker::new(Operation::Apply, 0, durations);
    for kind in ["planned_change", "apply_start"] {
        tracker.observe(&event(kind, "create", "custom_thing.a", 0), at(0));
    }
    for (second, expected) in [(0, Some(1)), (1, None), (2, None), (12, None)] {
        let progress = tracker.progress(at(second));
        assert_eq!(progress.remaining_seconds, expected, "after {second} seconds");
        assert_eq!(progress.message.contains("left"), expected.is_some());
    }
    // What is still to come is known all the same.
    tracker.observe(&event("planned_change", "create", "aws_vpc.main", 0), at(0));
    assert_eq!(tracker.progress(at(12)).remaining_seconds, Some(12));
}

#[test]
fn a_promise_that_was_not_kept_is_taken_back_and_written_once() {
    let mut progress = Tracker::new(Operation::Apply, 0, Durations::default()).progress(at(0));
    progress.remaining_seconds = Some(1);
    let mut written = Written { at: at(0), progress };
    let mut now = written.progress.clone();
    assert_eq!(
        next_write(Some(&written), &now, at(0), at(0)),
        Next::At(at(2)),
        "to look whether it was kept"
    );
    assert_eq!(
        next_write(Some(&written), &now, at(0), at(3)),
        Next::At(at(6)),
        "and then ever more seldom"
    );
    now.remaining_seconds = None;
    assert_eq!(next_write(Some(&written), &now, at(0), at(3)), Next::Now);
    written = Written {
        at: at(3),
        progress: now.clone(),
    };
    assert_eq!(
        next_write(Some(&written), &now, at(0), at(4)),
        Next::At(at(63)),
        "nothing else is written for it"
    );
}

#[test]
fn a_promise_that_was_not_kept_is_taken_back_at_once_however_long_it_takes() {
    let mut progress = Tracker::new(Operation::Apply, 0, Durations::default()).progress(at(0));
    progress.remaining_seconds = Some(4);
    let written = Written {
        at: at(600),
        progress: progress.clone(),
    };
    progress.remaining_seconds = None;
    let next = |second| next_write(Some(&written), &progress, at(0), at(second));
    assert_eq!(next(603), Next::At(at(604)), "it may still be kept");
    assert_eq!(next(604), Next::Now);
}

#[test]
fn leftovers_of_the_same_address_count_apart() {
    let mut tracker = Tracker::new(Operation::Apply, 0, Durations::default());
    for kind in [
        "planned_change",
        "apply_start",
        "apply_complete",
        "apply_start",
        "apply_complete",
        "apply_complete",
    ] {
        tracker.observe(&event(kind, "delete", "a.b", 0), at(0));
    }
    let progress = tracker.progress(at(0));
    assert_eq!((progress.done, progress.total), (2, 2));
}

fn writes_of_an_apply(seconds: i64, changes_every: i64, promised: Option<u64>) -> usize {
    let mut written: Option<Written> = None;
    let mut writes = 0;
    for now in 0..=seconds {
        let progress = Progress {
            operation: Operation::Apply,
            done: u32::try_from(now / changes_every).unwrap(),
            total: 1000,
            failed: 0,
            in_flight: Vec::new(),
            percent: if now == seconds { 100 } else { 0 },
            remaining_seconds: promised,
            message: format!("at {now}"),
        };
        match next_write(written.as_ref(), &progress, at(0), at(now)) {
            Next::Now => {
                writes += 1;
                written = Some(Written {
                    at: at(now),
                    progress,
                });
            }
            Next::At(due) => assert!(due > at(now)),
        }
    }
    writes
}

#[test]
fn long_operations_cost_few_writes() {
    for promised in [None, Some(1), Some(600)] {
        assert_eq!(writes_of_an_apply(3, 1, promised), 3);
        assert!((8..=12).contains(&writes_of_an_apply(20, 1, promised)));
        let long = writes_of_an_apply(1200, 1, promised);
        assert!(long <= 70, "{long}");
        assert_eq!(writes_of_an_apply(1200, 100_000, promised), 21);
    }
}

#[test]
fn turns_are_written_at_once() {
    let mut tracker = Tracker::new(Operation::Apply, 0, Durations::default());
    tracker.observe(&event("apply_start", "create", "a.b", 0), at(0));
    let first = Written {
        at: at(0),
        progress: tracker.progress(at(0)),
    };
    let mut failed = first.progress.clone();
    failed.failed = 1;
    let mut other = first.progress.clone();
    other.operation = Operation::Plan;
    assert_eq!(next_write(Some(&first), &failed, at(0), at(0)), Next::Now);
    assert_eq!(next_write(Some(&first), &other, at(0), at(0)), Next::Now);
    assert_eq!(
        next_write(Some(&first), &first.progress, at(0), at(0)),
        Next::At(at(60))
    );
}

proptest! {
    /// Whatever is printed in whatever order and by whatever clock.
    #[test]
    fn per_cent_never_fall(events in proptest::collection::vec(
        (0usize..7, 0usize..4, 0usize..5, -50i64..1000, -50i64..1000), 0..60,
    )) {
        let kinds = ["planned_change", "apply_start", "apply_progress", "apply_complete", "apply_errored", "refresh_start", "refresh_complete"];
        let actions = ["create", "delete", "replace", "update"];
        for operation in [Operation::Apply, Operation::Plan] {
            let mut tracker = Tracker::new(operation, 3, Durations::default());
            let mut before = 0;
            for (kind, action, address, time, now) in &events {
                tracker.observe(&event(kinds[*kind], actions[*action], &format!("aws_vpc.r{address}"), *time), at(0));
                let progress = tracker.progress(at(*now));
                prop_assert!(progress.percent >= before && progress.percent <= 99);
                prop_assert!(progress.done <= progress.total);
                before = progress.percent;
            }
        }
    }
}

#[test]
fn a_change_takes_as_long_as_changes_took_and_not_as_making_it() {
    let mut durations = Durations::default();
    assert!(durations.knows("aws_eks_cluster", &Action::Create));
    assert!(!durations.knows("aws_eks_cluster", &Action::Update));
    assert!(!durations.trusts("aws_eks_cluster", &Action::Update));
    durations.learn("aws_eks_cluster", &Action::Update, 600.0);
    assert!(durations.knows("aws_eks_cluster", &Action::Update));
    assert!((durations.expected("aws_eks_cluster", &Action::Update) - 600.0).abs() < f64::EPSILON);
}
