use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).expect("a valid time")
}

fn doing(operation: Option<&str>, percent: i32) -> Now<'_> {
    Now {
        operation,
        percent,
        live_remaining: None,
        walk: None,
        reached: None,
        outcome: OperationResult::Succeeded,
        is_void: false,
        message: None,
        restarts: false,
        steps_on: false,
        serves: false,
        is_untold: false,
        is_open: false,
    }
}

fn none() -> Statistics {
    Statistics::default()
}

#[test]
fn the_percentage_never_falls_within_one_operation_and_ends_at_a_hundred() {
    let mut progress = None;
    let mut last = 0;
    for (second, percent) in [5, 20, 10, 60, 0, 100, 30].into_iter().enumerate() {
        let second = i64::try_from(second).expect("small");
        let next = advance(
            progress.as_ref(),
            &doing(Some(CREATE), percent),
            &none(),
            at(second),
        );
        let shown = next.percent_complete.expect("one is running");
        assert!(shown >= last, "{shown} after {last}");
        assert!(shown < 100, "it is not done");
        last = shown;
        progress = Some(next);
    }
    let done = advance(progress.as_ref(), &doing(None, 0), &none(), at(60));
    assert_eq!(done.percent_complete, Some(100));
    assert_eq!(done.current_operation, None);
    let next = advance(Some(&done), &doing(Some(UPDATE), 3), &none(), at(61));
    assert_eq!(next.percent_complete, Some(3), "another operation begins anew");
}

#[test]
fn what_is_done_is_done_also_where_nobody_saw_it_come_about() {
    let done = advance(None, &doing(None, 0), &none(), at(0));
    assert_eq!(done.percent_complete, Some(100));
    let stopped = Now {
        outcome: OperationResult::Failed,
        ..doing(None, 0)
    };
    assert_eq!(advance(None, &stopped, &none(), at(0)).percent_complete, None);
}

#[test]
fn what_serves_was_made_also_where_only_its_failure_was_seen() {
    let started = advance(None, &doing(Some(CREATE), 0), &none(), at(1));
    let failed = Now {
        outcome: OperationResult::Failed,
        message: Some("throttled"),
        ..doing(None, 0)
    };
    let failed = advance(Some(&started), &failed, &none(), at(9));
    let serving = Now {
        serves: true,
        ..doing(None, 0)
    };
    let mut progress = failed;
    for second in [20, 21] {
        progress = advance(Some(&progress), &serving, &none(), at(second));
        let history = progress.history.as_deref().unwrap();
        let results: Vec<_> = history.iter().map(|record| record.result).collect();
        let expected = [OperationResult::Failed, OperationResult::Succeeded].map(Some);
        assert_eq!(results, expected);
        assert_eq!(history[1].message.as_deref(), Some(MADE_UNSEEN));
        assert_eq!(history[1].end_time, Some(Time(at(20))));
    }
}

#[test]
fn an_operation_is_recorded_with_its_beginning_its_end_and_how_it_ended() {
    let started = advance(None, &doing(Some(CREATE), 0), &none(), at(1));
    let failed = Now {
        outcome: OperationResult::Failed,
        message: Some("no subnets"),
        ..doing(None, 0)
    };
    let ended = advance(Some(&started), &failed, &none(), at(9));
    let history = ended.history.clone().expect("a record");
    assert_eq!(
        history,
        [OperationRecord {
            operation: CREATE.to_owned(),
            start_time: Time(at(1)),
            step_start_time: None,
            end_time: Some(Time(at(9))),
            result: Some(OperationResult::Failed),
            message: Some("no subnets".to_owned()),
        }]
    );
    assert_eq!(just_ended(Some(&started), &ended), history.first());
    assert_eq!(just_ended(Some(&ended), &ended), None);
    let again = advance(Some(&ended), &failed, &none(), at(20));
    assert_eq!(again.history, Some(history), "it ended once");
    let restarted = Now {
        restarts: true,
        outcome: OperationResult::Cancelled,
        ..doing(Some(CREATE), 0)
    };
    let twice = advance(Some(&started), &restarted, &none(), at(5));
    let results: Vec<_> = twice
        .history
        .expect("records")
        .iter()
        .map(|one| one.result)
        .collect();
    assert_eq!(results, [Some(OperationResult::Cancelled), None]);
}

#[test]
fn the_history_is_bounded_and_keeps_what_runs() {
    let mut progress = advance(None, &doing(Some(CREATE), 0), &none(), at(0));
    for second in 1..100 {
        let mut history = progress.history.take().unwrap_or_default();
        push(
            &mut history,
            OperationRecord {
                operation: UPDATE.to_owned(),
                start_time: Time(at(second)),
                step_start_time: None,
                end_time: Some(Time(at(second))),
                result: Some(OperationResult::Succeeded),
                message: None,
            },
        );
        pauses::record(&mut history, at(second), at(second));
        progress.history = Some(history);
    }
    let history = progress.history.expect("records");
    assert_eq!(history.len(), MAX_OPERATIONS + pauses::MOST);
    assert_eq!(running(&history).map(|record| record.start_time.0), Some(at(0)));
}

#[test]
fn an_estimate_ends_when_the_runner_says_that_nothing_is_left() {
    let live = |seconds: u64| Now {
        live_remaining: Some(Duration::from_secs(seconds)),
        ..doing(Some(CREATE), 40)
    };
    let told = advance(None, &live(41), &none(), at(0));
    assert_eq!(told.estimated_time_remaining, Some("50s".into()));
    let over = advance(Some(&told), &live(0), &none(), at(41));
    assert_eq!(over.estimated_time_remaining, None);
}

#[test]
fn an_estimate_ends_when_the_runner_takes_it_back() {
    let told = Now {
        live_remaining: Some(Duration::from_secs(4)),
        ..doing(Some(UPDATE), 40)
    };
    let told = advance(None, &told, &none(), at(0));
    assert_eq!(told.estimated_time_remaining, Some("10s".into()));
    let untold = Now {
        is_untold: true,
        ..doing(Some(UPDATE), 40)
    };
    let later = advance(Some(&told), &untold, &none(), at(5));
    assert_eq!(later.estimated_time_remaining, None);
    assert_eq!(advance(Some(&later), &untold, &none(), at(60)), later, "once");
}

#[test]
fn how_far_a_change_got_is_not_told_of_what_serves() {
    let failed = |serves| Now {
        outcome: OperationResult::Failed,
        serves,
        ..doing(None, 0)
    };
    let begun = advance(None, &doing(Some(UPDATE), 5), &none(), at(0));
    for (serves, expected) in [(true, None), (false, Some(5))] {
        let ended = advance(Some(&begun), &failed(serves), &none(), at(1));
        assert_eq!(ended.percent_complete, expected);
        assert_eq!(advance(Some(&ended), &failed(serves), &none(), at(2)), ended);
    }
}

#[test]
fn what_was_no_operation_is_forgotten() {
    let done = advance(None, &doing(None, 0), &none(), at(0));
    let begun = advance(Some(&done), &doing(Some(UPDATE), 5), &none(), at(1));
    let void = Now {
        outcome: OperationResult::Cancelled,
        is_void: true,
        ..doing(None, 0)
    };
    assert_eq!(advance(Some(&begun), &void, &none(), at(2)), done);
}

#[test]
fn time_alone_changes_nothing() {
    let statistics = Statistics {
        create: Some(Duration::from_secs(600)),
        ..none()
    };
    let first = advance(None, &doing(Some(CREATE), 10), &statistics, at(0));
    assert_eq!(first.estimated_time_remaining, Some("10m0s".into()));
    let later = advance(Some(&first), &doing(Some(CREATE), 10), &statistics, at(100));
    assert_eq!(later, first);
    let unknown = advance(Some(&first), &doing(Some(CREATE), 10), &none(), at(100));
    assert_eq!(unknown, first, "that nobody knows more is no news");
    let further = advance(Some(&first), &doing(Some(CREATE), 20), &statistics, at(95));
    assert_eq!(further.estimated_time_remaining, Some("8m30s".into()));
    for (percent, second) in [(10, 600), (10, 1000), (30, 1000)] {
        let late = advance(
            Some(&first),
            &doing(Some(CREATE), percent),
            &statistics,
            at(second),
        );
        assert_eq!(late.estimated_time_remaining, None, "nobody knows any more");
        let later = advance(Some(&late), &doing(Some(CREATE), percent), &statistics, at(2000));
        assert_eq!(later, late, "and it is taken back once");
    }
    let overdue = Now {
        is_open: true,
        live_remaining: Some(Duration::from_secs(41)),
        ..doing(Some(CREATE), 10)
    };
    let overdue = advance(Some(&first), &overdue, &statistics, at(1));
    assert_eq!(overdue.estimated_time_remaining, None, "nobody can promise it");
    let live = Now {
        live_remaining: Some(Duration::from_secs(41)),
        ..doing(Some(CREATE), 40)
    };
    let told = advance(Some(&first), &live, &statistics, at(1));
    assert_eq!(told.estimated_time_remaining, Some("50s".into()));
}

#[test]
fn the_rest_of_an_upgrade_is_the_rest_of_its_step_and_all_others() {
    let minor = |minor| Minor { major: 1, minor };
    let now = |at: u32, live: Option<u64>| Now {
        live_remaining: live.map(Duration::from_secs),
        walk: Some(Walk {
            from: minor(31),
            at: minor(at),
            to: minor(34),
        }),
        ..doing(Some(UPDATE), i32::try_from(at).expect("small"))
    };
    let usual = Statistics {
        // What other updates take says nothing.
        update: Some(Duration::from_secs(10)),
        upgrade: Some(Duration::from_secs(600)),
        ..none()
    };
    let unknown = Statistics {
        upgrade: None,
        ..usual
    };
    let left = |statistics: &Statistics, at_minor, live| {
        let begun = advance(None, &now(31, None), &none(), at(0));
        let after = advance(Some(&begun), &now(at_minor, live), statistics, at(300));
        after.estimated_time_remaining.map(|left| left.0)
    };
    let seconds = |seconds| Some(duration::Duration::from(Duration::from_secs(seconds)).0);
    for (name, told, expected) in [
        ("as usual", left(&usual, 32, None), seconds(3 * 600 - 300)),
        ("the runner knows", left(&usual, 32, Some(90)), seconds(90 + 600)),
        ("the last step", left(&usual, 33, Some(90)), seconds(90)),
        (
            "as the steps before",
            left(&unknown, 32, Some(90)),
            seconds(90 + 300),
        ),
        ("nobody knows", left(&unknown, 32, None), None),
    ] {
        assert_eq!(told, expected, "{name}");
    }
}
