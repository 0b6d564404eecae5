//! What is settled rests, what changed is run, and what failed is tried again.

use super::*;

#[test]
fn what_is_settled_rests_until_it_is_looked_at_again() {
    assert_eq!(now(&settled()), FOR_A_WHILE);
    assert_eq!(decide(&settled(), at(HOUR)), POLL);
    let without_polls = with(|it| it.poll = None);
    assert_eq!(decide(&without_polls, at(1000 * HOUR)), FOR_EVER);
}

#[test]
fn a_start_of_the_runner_runs_nothing_and_spreads_the_looks() {
    let due = |uid: &str| {
        let snapshot = with(|it| {
            it.uid = uid.to_owned();
            memory(it).looked = Some(Looked::BeforeStart(at(0)));
        });
        match decide(&snapshot, at(0)) {
            Next::Wait(Some(due)) => due,
            other => panic!("{other:?}"),
        }
    };
    let all: std::collections::BTreeSet<Timestamp> = (0..20).map(|n| due(&format!("uid-{n}"))).collect();
    assert_eq!(all.len(), 20);
    assert!(all.iter().all(|due| *due < at(600)));
    assert!(all.first() < Some(&at(200)) && all.last() > Some(&at(400)));
}

#[test]
fn what_changed_is_run() {
    let cases: Vec<(&str, Snapshot, Next)> = vec![
        ("spec", with(|it| it.generation = 2), CHANGE),
        ("inputs", with(|it| it.inputs = Some(ready("h2"))), CHANGE),
        (
            "never run",
            with(|it| it.memory = Some(Memory::default())),
            CREATE,
        ),
        (
            "a retry is asked for",
            with(|it| it.requests.retry = Some("now".into())),
            CHANGE,
        ),
        (
            "a retry was answered",
            with(|it| {
                it.requests.retry = Some("now".into());
                memory(it).answered.insert(RETRY_REQUESTED.into(), "now".into());
            }),
            FOR_A_WHILE,
        ),
        (
            "a lock is to be freed, and nothing failed",
            with(|it| it.requests.unlock = Some("lock-1".into())),
            FOR_A_WHILE,
        ),
        (
            "a look is asked for as Crossplane does",
            with(|it| it.requests.look = Some("now".into())),
            CHANGE,
        ),
        (
            "a look was answered",
            with(|it| {
                it.requests.look = Some("now".into());
                memory(it)
                    .answered
                    .insert(RECONCILE_REQUESTED.into(), "now".into());
            }),
            FOR_A_WHILE,
        ),
        (
            "a plan is asked for",
            with(|it| it.requests.plan = Some("now".into())),
            PLAN,
        ),
        (
            "another plan is asked for",
            with(|it| {
                it.requests.plan = Some("again".into());
                memory(it).answered.insert(PLAN_REQUESTED.into(), "now".into());
            }),
            PLAN,
        ),
        (
            "a plan was made",
            with(|it| {
                it.requests.plan = Some("now".into());
                memory(it).answered.insert(PLAN_REQUESTED.into(), "now".into());
            }),
            FOR_A_WHILE,
        ),
    ];
    for (case, snapshot, next) in cases {
        assert_eq!(now(&snapshot), next, "{case}");
    }
}

#[test]
fn what_may_pass_is_tried_for_ever_and_what_may_not_waits_for_a_change() {
    let after = |is_transient, count, change: fn(&mut Snapshot)| {
        with(|it| {
            memory(it).settled = None;
            memory(it).failed = Some(failed(What::Converge, is_transient, count));
            change(it);
        })
    };
    for (count, shortest, longest) in [(1, 0.75, 1.0), (2, 1.5, 2.0), (5, 12.0, 16.0), (40, 45.0, 60.0)] {
        let Next::Wait(Some(until)) = decide(&after(true, count, |_| {}), at(0)) else {
            panic!("failure {count} is not waited for");
        };
        let waited = until.duration_since(at(0)).as_secs_f64();
        assert!((shortest..=longest).contains(&waited), "{count}: {waited}");
        assert_eq!(decide(&after(true, count, |_| {}), at(61)), CREATE);
    }
    let terminal = |change| after(false, 1, change);
    assert!(matches!(decide(&terminal(|_| {}), at(100)), Next::Wait(Some(_))));
    assert_eq!(decide(&terminal(|_| {}), at(HOUR)), CREATE, "to look is harmless");
    let has_acted: fn(&mut Snapshot) = |it| {
        let failed = memory(it).failed.as_mut();
        failed.expect("a failure").has_acted = true;
    };
    assert_eq!(decide(&terminal(has_acted), at(1000 * HOUR)), FOR_EVER);
    assert_eq!(decide(&after(true, 1, has_acted), at(61)), CREATE);
    let is_nowhere_else: fn(&mut Snapshot) = |it| {
        let memory = memory(it);
        memory.is_unfinished = true;
        memory.failed.as_mut().expect("a failure").has_acted = true;
    };
    assert_eq!(
        decide(&terminal(is_nowhere_else), at(HOUR)),
        CREATE,
        "a state that could not be kept is kept"
    );
    assert_eq!(decide(&terminal(|it| it.poll = None), at(1000 * HOUR)), FOR_EVER);
    for (case, change) in [
        ("spec", (|it| it.generation = 2) as fn(&mut Snapshot)),
        ("inputs", |it| it.inputs = Some(ready("h2"))),
        ("retry", |it| it.requests.retry = Some("t".into())),
        ("retry of what had acted", |it| {
            let failed = memory(it).failed.as_mut();
            failed.expect("a failure").has_acted = true;
            it.requests.retry = Some("t".into());
        }),
        ("a lock to be freed", |it| {
            it.requests.unlock = Some("lock-1".into())
        }),
    ] {
        assert!(
            matches!(now(&terminal(change)), Next::Run(What::Converge, _)),
            "{case}"
        );
    }
}

#[test]
fn marks_come_after_inputs_and_before_work() {
    let fresh = |change: fn(&mut Snapshot)| {
        with(|it| {
            it.finalizers.clear();
            it.external_name = None;
            it.home = None;
            it.memory = None;
            change(it);
        })
    };
    assert_eq!(now(&fresh(|it| it.inputs = None)), Next::Look(Look::Inputs));
    let missing = InputFacts::Unresolved {
        reason: WorkspaceReason::InputMissing,
        message: "no such Secret".to_owned(),
    };
    let refused = Next::Refuse {
        reason: WorkspaceReason::InputMissing,
        message: "no such Secret".to_owned(),
    };
    let mut snapshot = fresh(|_| {});
    snapshot.inputs = Some(missing);
    assert_eq!(now(&snapshot), refused);
    assert_eq!(
        now(&fresh(|_| {})),
        Next::Prepare {
            external_name: Some("vpc".to_owned()),
            home: Some("home".to_owned()),
        }
    );
    assert_eq!(
        now(&fresh(|it| it.external_name = Some("kept".into()))),
        Next::Prepare {
            external_name: None,
            home: Some("home".to_owned()),
        }
    );
    let unheld = with(|it| it.finalizers.clear());
    assert_eq!(
        now(&unheld),
        Next::Prepare {
            external_name: None,
            home: None,
        }
    );
    assert_eq!(now(&with(|it| it.memory = None)), Next::Look(Look::Memory));
}

#[test]
fn a_connection_secret_that_somebody_changed_is_written_again_but_not_too_often() {
    let changed = |change: fn(&mut Snapshot)| {
        with(|it| {
            memory(it).was_settled = true;
            it.connection = ConnectionFacts::Doubted;
            change(it);
        })
    };
    let cases: Vec<(&str, Snapshot, Next)> = vec![
        ("changed", changed(|_| {}), Next::HandOut),
        (
            "fine",
            changed(|it| it.connection = ConnectionFacts::Fine),
            FOR_A_WHILE,
        ),
        (
            "only Terraform knows",
            changed(|it| it.connection = ConnectionFacts::OnlyByRun),
            POLL,
        ),
        (
            "never settled",
            changed(|it| memory(it).was_settled = false),
            FOR_A_WHILE,
        ),
        (
            "written just now",
            changed(|it| it.rewritten = Some((at(1), 3))),
            FOR_A_WHILE,
        ),
        (
            "written a while ago",
            changed(|it| it.rewritten = Some((at(-60), 3))),
            Next::HandOut,
        ),
        ("paused", changed(|it| it.is_paused = true), Next::Pause),
        (
            "a plan is asked for",
            changed(|it| it.requests.plan = Some("t".into())),
            Next::HandOut,
        ),
        (
            "a plan is asked for in between",
            changed(|it| {
                it.requests.plan = Some("t".into());
                it.rewritten = Some((at(1), 3));
            }),
            PLAN,
        ),
        (
            "a plan waits",
            changed(|it| {
                memory(it).settled = None;
                memory(it).held = Some(Held {
                    plan: "p1".into(),
                    about: about(),
                });
            }),
            Next::HandOut,
        ),
        (
            "it failed and only Terraform knows",
            changed(|it| {
                it.connection = ConnectionFacts::OnlyByRun;
                memory(it).settled = None;
                memory(it).failed = Some(failed(What::Converge, false, 1));
            }),
            FOR_A_WHILE,
        ),
    ];
    for (case, snapshot, next) in cases {
        assert_eq!(now(&snapshot), next, "{case}");
    }
    let mut alone = changed(|it| it.rewritten = Some((at(0), 1)));
    alone.poll = None;
    let Next::Wait(Some(until)) = decide(&alone, at(0)) else {
        panic!("it is not waited for");
    };
    assert!(until > at(0) && until <= at(1), "{until}");
    assert_eq!(decide(&alone, until), Next::HandOut);
}

#[test]
fn what_takes_turns_is_only_looked_at_until_it_is_time_to_mend_it() {
    let looks = |was_made, change: fn(&mut Snapshot)| {
        let snapshot = with(|it| {
            it.requests.mend = Some(IN_TURN.into());
            change(it);
        });
        let memory = snapshot.memory.as_ref().expect("a memory");
        (only_looks(&snapshot.requests, memory, was_made), now(&snapshot))
    };
    for (case, was_made, change, only, next) in [
        (
            "all is well",
            true,
            (|_| {}) as fn(&mut Snapshot),
            true,
            FOR_A_WHILE,
        ),
        (
            "it takes no turns",
            true,
            |it| it.requests.mend = None,
            false,
            FOR_A_WHILE,
        ),
        (
            "other inputs",
            false,
            |it| it.inputs = Some(ready("h2")),
            false,
            CHANGE,
        ),
        (
            "it is time",
            true,
            |it| it.requests.mend = Some("t1".into()),
            false,
            CHANGE,
        ),
        (
            "that was answered",
            true,
            |it| {
                it.requests.mend = Some("t1".into());
                memory(it).answered.insert(MEND.into(), "t1".into());
            },
            true,
            FOR_A_WHILE,
        ),
        (
            "a retry",
            true,
            |it| it.requests.retry = Some("t".into()),
            false,
            CHANGE,
        ),
    ] {
        assert_eq!(looks(was_made, change), (only, next), "{case}");
    }
    // A runner that begins in the middle of a pause knows by the report alone what was made.
    for made in [None, Some("all".to_owned())] {
        let snapshot = with(|it| {
            it.requests.mend = Some(IN_TURN.into());
            memory(it).settled = None;
            memory(it).made.clone_from(&made);
        });
        let memory = snapshot.memory.as_ref().expect("a memory");
        assert_eq!(only_looks(&snapshot.requests, memory, true), made.is_some());
    }
    let after = |has_acted| {
        let snapshot = with(|it| {
            it.requests.mend = Some(IN_TURN.into());
            memory(it).settled = None;
            memory(it).failed = Some(Failed {
                has_acted,
                ..failed(What::Converge, true, 1)
            });
        });
        only_looks(
            &snapshot.requests,
            snapshot.memory.as_ref().expect("a memory"),
            true,
        )
    };
    assert!(after(false), "a look that failed is no reason to change anything");
    assert!(!after(true), "what was begun is brought to its end");
}

#[test]
fn a_mend_that_failed_is_tried_again_after_a_while_and_still_mends() {
    let snapshot = with(|it| {
        it.requests.mend = Some("yesterday".into());
        memory(it).settled = None;
        memory(it).failed = Some(failed(What::Converge, true, 1));
    });
    assert!(matches!(decide(&snapshot, at(0)), Next::Wait(Some(_))));
    assert_eq!(decide(&snapshot, at(61)), CREATE);
    let memory = snapshot.memory.as_ref().expect("a memory");
    assert!(!only_looks(&snapshot.requests, memory, true));
}
