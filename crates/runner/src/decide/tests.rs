use std::time::Duration;

use super::*;

const HOUR: i64 = 3600;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a valid time")
}

fn ready(hash: &str) -> InputFacts {
    InputFacts::Ready {
        hash: hash.to_owned(),
        home: "home".to_owned(),
    }
}

fn about() -> About {
    About {
        hash: "h1".to_owned(),
        generation: 1,
    }
}

/// A Workspace that is applied and was looked at now.
fn settled() -> Snapshot {
    Snapshot {
        uid: "uid".to_owned(),
        name: "vpc".to_owned(),
        generation: 1,
        finalizers: vec![CROSSPLANE_FINALIZER.to_owned()],
        external_name: Some("vpc".to_owned()),
        poll: Some(Duration::from_secs(600)),
        memory: Some(Memory {
            settled: Some(about()),
            looked: Some(Looked::At(at(0))),
            ..Memory::default()
        }),
        inputs: Some(ready("h1")),
        home: Some("home".to_owned()),
        state: Some(StateFacts::Something),
        namespace: Some(NamespaceFacts::Stays),
        ..Snapshot::default()
    }
}

fn with(change: impl FnOnce(&mut Snapshot)) -> Snapshot {
    let mut snapshot = settled();
    change(&mut snapshot);
    snapshot
}

fn memory(snapshot: &mut Snapshot) -> &mut Memory {
    snapshot.memory.get_or_insert_default()
}

fn failed(what: What, is_transient: bool, count: u32) -> Failed {
    Failed {
        what,
        about: about(),
        is_transient,
        count,
        at: at(0),
    }
}

fn running(what: What) -> Option<Running> {
    Some(Running {
        what,
        is_cancelled: false,
    })
}

/// What is done now, without the exact time that is waited for.
fn now(snapshot: &Snapshot) -> Next {
    match decide(snapshot, at(1)) {
        Next::Wait(Some(_)) => Next::Wait(Some(Timestamp::MAX)),
        next => next,
    }
}

const ORPHAN: Policy = Policy::Granted(Grants {
    create: true,
    update: true,
    delete: false,
});
const FOR_A_WHILE: Next = Next::Wait(Some(Timestamp::MAX));
const FOR_EVER: Next = Next::Wait(None);
const POLL: Next = Next::Run(What::Converge, Priority::Poll);
const CHANGE: Next = Next::Run(What::Converge, Priority::User);
const CREATE: Next = Next::Run(What::Converge, Priority::Create);
const DESTROY: Next = Next::Run(What::Destroy, Priority::Delete);
const PLAN: Next = Next::Run(What::Plan, Priority::User);

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
fn a_held_plan_costs_nothing_until_it_is_approved_or_outdated() {
    let held = |change: fn(&mut Snapshot)| {
        with(|it| {
            let memory = memory(it);
            memory.settled = None;
            memory.held = Some(Held {
                plan: "p1".into(),
                about: about(),
            });
            change(it);
        })
    };
    let cases: Vec<(&str, Snapshot, Next)> = vec![
        ("waits", held(|_| {}), FOR_A_WHILE),
        (
            "approved",
            held(|it| it.requests.approved = Some("p1".into())),
            CHANGE,
        ),
        (
            "another approved",
            held(|it| it.requests.approved = Some("p2".into())),
            FOR_A_WHILE,
        ),
        (
            "approved with a token",
            held(|it| it.requests.approved = Some("p1/again".into())),
            CHANGE,
        ),
        (
            "approved before",
            held(|it| {
                it.requests.approved = Some("p1".into());
                memory(it).answered.insert(APPROVED.into(), "p1".into());
            }),
            FOR_A_WHILE,
        ),
        (
            "approved before and again",
            held(|it| {
                it.requests.approved = Some("p1/again".into());
                memory(it).answered.insert(APPROVED.into(), "p1".into());
            }),
            CHANGE,
        ),
        ("allowed", held(|it| it.requests.allow_destructive = true), CHANGE),
        ("spec changed", held(|it| it.generation = 2), CHANGE),
        ("retry", held(|it| it.requests.retry = Some("t".into())), CHANGE),
    ];
    for (case, snapshot, next) in cases {
        assert_eq!(now(&snapshot), next, "{case}");
    }
    assert_eq!(decide(&held(|_| {}), at(HOUR)), POLL);
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
    assert_eq!(decide(&terminal(|_| {}), at(HOUR)), CREATE);
    assert_eq!(decide(&terminal(|it| it.poll = None), at(1000 * HOUR)), FOR_EVER);
    for (case, change) in [
        ("spec", (|it| it.generation = 2) as fn(&mut Snapshot)),
        ("inputs", |it| it.inputs = Some(ready("h2"))),
        ("retry", |it| it.requests.retry = Some("t".into())),
    ] {
        assert!(
            matches!(now(&terminal(change)), Next::Run(What::Converge, _)),
            "{case}"
        );
    }
}

#[test]
fn a_pause_comes_after_what_runs_and_before_everything_else() {
    type Change = fn(&mut Snapshot);
    let ways: [(&str, Change); 2] = [
        ("annotation", |it| it.is_paused = true),
        ("policies", |it| it.policies = Policy::Paused),
    ];
    for (way, pause) in ways {
        let paused = |change: Change| {
            with(|it| {
                pause(it);
                change(it);
            })
        };
        assert_eq!(now(&paused(|_| {})), Next::Pause, "{way}");
        assert_eq!(now(&paused(|it| it.said_paused = Some(1))), FOR_EVER, "{way}");
        let asked = |change: Change| {
            let mut snapshot = paused(change);
            snapshot.said_paused = Some(1);
            snapshot.requests.plan = Some("now".into());
            snapshot
        };
        for (case, change, next) in [
            ("a plan", (|_| {}) as Change, PLAN),
            ("inputs do not matter yet", |it| it.inputs = None, PLAN),
            (
                "what is remembered",
                |it| it.memory = None,
                Next::Look(Look::Memory),
            ),
            (
                "answered",
                |it| {
                    memory(it).answered.insert(PLAN_REQUESTED.into(), "now".into());
                },
                FOR_EVER,
            ),
            ("unfinished", |it| memory(it).is_unfinished = true, FOR_EVER),
            ("no state", |it| it.is_state_doubted = true, FOR_EVER),
            ("deleted", |it| it.is_deleting = true, FOR_EVER),
            ("never run", |it| it.external_name = None, FOR_EVER),
            ("another try", |it| it.requests.retry = Some("now".into()), PLAN),
        ] {
            assert_eq!(now(&asked(change)), next, "{way}: {case}");
        }
        assert_eq!(
            now(&paused(|it| {
                it.said_paused = Some(1);
                it.generation = 2;
            })),
            Next::Pause,
            "{way}: said about an older spec"
        );
        assert_eq!(
            now(&paused(|it| it.is_deleting = true)),
            Next::Pause,
            "{way}: deleted"
        );
        assert_eq!(
            now(&paused(|it| it.running = running(What::Converge))),
            FOR_EVER,
            "{way}: what runs finishes first"
        );
        assert_eq!(
            now(&paused(|it| {
                it.running = running(What::Converge);
                it.is_deleting = true;
            })),
            FOR_EVER,
            "{way}: a deletion does not stop it either"
        );
    }
}

#[test]
fn a_namespace_that_goes_or_cannot_be_read_destroys_nothing() {
    let cases = [
        (
            NamespaceFacts::Goes,
            WorkspaceReason::NamespaceTerminating,
            "home",
        ),
        (
            NamespaceFacts::Unknown("not yours".to_owned()),
            WorkspaceReason::Denied,
            "not yours",
        ),
    ];
    for (namespace, expected, part) in cases {
        let snapshot = with(|it| {
            it.is_deleting = true;
            it.namespace = Some(namespace.clone());
        });
        match decide(&snapshot, at(0)) {
            Next::Refuse { reason, message } => {
                assert_eq!(reason, expected, "{namespace:?}");
                assert!(message.contains(part), "{message}");
            }
            other => panic!("{namespace:?}: {other:?}"),
        }
    }
}

#[test]
fn a_state_that_may_be_gone_is_looked_for_and_brought_back_before_anything_else() {
    let doubted = |state: Option<StateFacts>, change: fn(&mut Snapshot)| {
        let snapshot = with(|it| {
            it.was_made = true;
            it.is_state_doubted = true;
            it.state = state;
            it.requests.plan = Some("now".to_owned());
            change(it);
        });
        decide(&snapshot, at(HOUR))
    };
    let rescue = Next::Run(What::Rescue, Priority::User);
    let plan = Next::Run(What::Plan, Priority::User);
    assert_eq!(doubted(None, |_| {}), Next::Look(Look::State));
    assert_eq!(doubted(Some(StateFacts::Absent), |_| {}), rescue);
    assert_eq!(doubted(Some(StateFacts::Something), |_| {}), plan);
    assert_eq!(doubted(Some(StateFacts::Absent), |it| it.was_made = false), plan);
    let held = doubted(Some(StateFacts::Absent), |it| {
        memory(it).failed = Some(Failed {
            at: at(HOUR - 1),
            ..failed(What::Rescue, false, 1)
        });
    });
    assert!(matches!(held, Next::Wait(Some(_))), "{held:?}");
}

#[test]
fn deletion_destroys_only_what_it_may() {
    type Change = fn(&mut Snapshot);
    let cases: Vec<(&str, Change, Next)> = vec![
        ("granted", |_| {}, DESTROY),
        (
            "not granted",
            |it| it.policies = ORPHAN,
            Next::LetGo { is_destroyed: false },
        ),
        (
            "not granted, after a crash",
            |it| {
                it.policies = ORPHAN;
                memory(it).is_unfinished = true;
            },
            Next::Run(What::Rescue, Priority::Delete),
        ),
        (
            "not granted, after a crash, and the API does not answer",
            |it| {
                it.policies = ORPHAN;
                memory(it).is_unfinished = true;
                it.inputs = Some(InputFacts::Unresolved {
                    reason: WorkspaceReason::Network,
                    message: "later".to_owned(),
                });
            },
            Next::Refuse {
                reason: WorkspaceReason::Network,
                message: "later".to_owned(),
            },
        ),
        (
            "nothing was made",
            |it| it.state = Some(StateFacts::Nothing),
            Next::LetGo { is_destroyed: true },
        ),
        (
            "there never was a state",
            |it| it.state = Some(StateFacts::Absent),
            Next::LetGo { is_destroyed: true },
        ),
        (
            "there is no state of what was made",
            |it| {
                it.state = Some(StateFacts::Absent);
                it.was_made = true;
            },
            DESTROY,
        ),
        (
            "there is no state where it would be, and nobody read the module",
            |it| {
                it.state = Some(StateFacts::Absent);
                it.is_unread = true;
            },
            DESTROY,
        ),
        (
            "everything was destroyed",
            |it| {
                it.state = Some(StateFacts::Nothing);
                it.was_made = true;
            },
            Next::LetGo { is_destroyed: true },
        ),
        (
            "nobody looked at its namespace",
            |it| it.namespace = None,
            Next::Look(Look::Namespace),
        ),
        (
            "nothing was made, and its namespace goes",
            |it| {
                it.state = Some(StateFacts::Nothing);
                it.namespace = Some(NamespaceFacts::Goes);
            },
            Next::LetGo { is_destroyed: true },
        ),
        (
            "not granted, and its namespace goes",
            |it| {
                it.policies = ORPHAN;
                it.namespace = Some(NamespaceFacts::Goes);
            },
            Next::LetGo { is_destroyed: false },
        ),
        (
            "nothing was kept, but a crash came in between",
            |it| {
                it.state = Some(StateFacts::Nothing);
                memory(it).is_unfinished = true;
            },
            DESTROY,
        ),
        (
            "a backend of the user's",
            |it| it.state = Some(StateFacts::Elsewhere),
            DESTROY,
        ),
        (
            "state not looked at",
            |it| it.state = None,
            Next::Look(Look::State),
        ),
        (
            "memory not looked at",
            |it| it.memory = None,
            Next::Look(Look::Memory),
        ),
        (
            "inputs not looked at",
            |it| it.inputs = None,
            Next::Look(Look::Inputs),
        ),
        (
            "others hold it",
            |it| it.finalizers.push("somebody/else".into()),
            Next::AwaitOthers,
        ),
        ("not ours to hold", |it| it.finalizers.clear(), FOR_EVER),
        (
            "a plan is not made for it",
            |it| it.requests.plan = Some("t".into()),
            DESTROY,
        ),
    ];
    for (case, change, next) in cases {
        let snapshot = with(|it| {
            it.is_deleting = true;
            change(it);
        });
        assert_eq!(now(&snapshot), next, "{case}");
    }
}

#[test]
fn only_a_deletion_that_destroys_stops_what_runs() {
    type Change = fn(&mut Snapshot);
    let cases: Vec<(&str, Change, Next)> = vec![
        ("a change", |it| it.generation = 2, FOR_EVER),
        ("a retry", |it| it.requests.retry = Some("t".into()), FOR_EVER),
        ("a deletion", |it| it.is_deleting = true, Next::Cancel),
        (
            "a deletion that destroys nothing",
            |it| {
                it.is_deleting = true;
                it.policies = ORPHAN;
            },
            FOR_EVER,
        ),
        (
            "a deletion while destroying",
            |it| {
                it.is_deleting = true;
                it.running = running(What::Destroy);
            },
            FOR_EVER,
        ),
        (
            "a second time",
            |it| {
                it.is_deleting = true;
                it.running = Some(Running {
                    what: What::Converge,
                    is_cancelled: true,
                });
            },
            FOR_EVER,
        ),
    ];
    for (case, change, next) in cases {
        let snapshot = with(|it| {
            it.running = running(What::Converge);
            change(it);
        });
        assert_eq!(now(&snapshot), next, "{case}");
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
fn what_is_not_ours_is_left_alone_whatever_happens_to_it() {
    for (whose, next) in [(Whose::Others, FOR_EVER), (Whose::Disputed, Next::LeaveAlone)] {
        let snapshot = with(|it| {
            it.whose = whose;
            it.is_deleting = true;
            it.generation = 7;
        });
        assert_eq!(now(&snapshot), next);
    }
}

#[test]
fn policies_that_mean_nothing_are_refused_and_deletion_does_not_help() {
    for is_deleting in [false, true] {
        let snapshot = with(|it| {
            it.policies = Policy::Unsupported("write another".to_owned());
            it.is_deleting = is_deleting;
        });
        let refused = Next::Refuse {
            reason: WorkspaceReason::PoliciesUnsupported,
            message: "write another".to_owned(),
        };
        assert_eq!(now(&snapshot), refused);
    }
}

#[test]
fn a_plan_is_applied_only_as_far_as_policies_and_approvals_go() {
    let all = Grants {
        create: true,
        update: true,
        delete: false,
    };
    let none = Grants::default();
    let create_only = Grants { create: true, ..none };
    let update_only = Grants { update: true, ..none };
    let no = Requests::default();
    let approved = |id: &str| Requests {
        approved: Some(id.to_owned()),
        ..Requests::default()
    };
    let allows = Requests {
        allow_destructive: true,
        ..Requests::default()
    };
    let new = PlanFacts {
        exists: false,
        is_empty: false,
        is_destructive: false,
        id: "p1",
    };
    let change = PlanFacts { exists: true, ..new };
    let loss = PlanFacts {
        is_destructive: true,
        ..change
    };
    let nothing = PlanFacts {
        is_empty: true,
        ..change
    };
    let unused = BTreeMap::new();
    let cases = [
        (all, &no, new, AfterPlan::Apply { creates: true }),
        (all, &no, change, AfterPlan::Apply { creates: false }),
        (all, &no, nothing, AfterPlan::Settle),
        (none, &no, nothing, AfterPlan::Settle),
        (none, &no, new, AfterPlan::Refuse),
        (none, &no, change, AfterPlan::Tell),
        (create_only, &no, new, AfterPlan::Apply { creates: true }),
        (create_only, &no, change, AfterPlan::Tell),
        (update_only, &no, new, AfterPlan::Refuse),
        (update_only, &no, change, AfterPlan::Apply { creates: false }),
        (all, &no, loss, AfterPlan::Hold),
        (create_only, &allows, loss, AfterPlan::Tell),
        (all, &approved("p2"), loss, AfterPlan::Hold),
        (all, &approved("p1"), loss, AfterPlan::Apply { creates: false }),
        (all, &allows, loss, AfterPlan::Apply { creates: false }),
    ];
    for (allowed, requests, plan, expected) in cases {
        assert_eq!(
            after_plan(allowed, requests, &unused, plan),
            expected,
            "{allowed:?} {requests:?} {plan:?}"
        );
    }
    let used = BTreeMap::from([(APPROVED.to_owned(), "p1".to_owned())]);
    for (requests, expected) in [
        (approved("p1"), AfterPlan::Hold),
        (approved("p1/again"), AfterPlan::Apply { creates: false }),
        (allows, AfterPlan::Apply { creates: false }),
    ] {
        assert_eq!(after_plan(all, &requests, &used, loss), expected, "{requests:?}");
    }
}
