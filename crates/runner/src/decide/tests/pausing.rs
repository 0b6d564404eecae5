//! To be left alone: by a pause, by policies, or because it is somebody else's.

use super::*;

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
fn what_was_moved_away_is_never_acted_on_and_goes_when_it_is_deleted() {
    let moved = |change: fn(&mut Snapshot)| {
        with(|it| {
            it.is_moved_away = true;
            it.said_paused = Some(1);
            change(it);
        })
    };
    assert_eq!(now(&moved(|_| {})), FOR_EVER);
    assert_eq!(now(&moved(|it| it.said_paused = None)), Next::Pause);
    assert_eq!(now(&moved(|it| it.is_state_doubted = true)), FOR_EVER);
    assert_eq!(now(&moved(|it| it.is_deleting = true)), Next::Forget);
    assert_eq!(
        now(&moved(|it| {
            it.is_deleting = true;
            it.policies = Policy::Paused;
            it.is_state_doubted = true;
            memory(it).is_unfinished = true;
        })),
        Next::Forget,
        "what this machine has is old"
    );
    assert_eq!(
        now(&moved(|it| {
            it.is_deleting = true;
            it.finalizers.clear();
        })),
        FOR_EVER
    );
}

#[test]
fn what_was_retained_and_may_do_nothing_goes_when_somebody_deletes_it_and_takes_nothing_with_it() {
    let deleted = |change: fn(&mut Snapshot)| {
        with(|it| {
            it.is_retained = true;
            it.is_deleting = true;
            it.policies = Policy::Paused;
            change(it);
        })
    };
    let kept = Next::LetGo { is_destroyed: false };
    assert_eq!(now(&deleted(|_| {})), kept);
    assert_eq!(now(&deleted(|it| it.said_paused = Some(1))), kept);
    // Somebody else's pause is somebody else's, and what is paused by its owner is not retained.
    assert_eq!(now(&deleted(|it| it.is_paused = true)), Next::Pause);
    assert_eq!(now(&deleted(|it| it.is_retained = false)), Next::Pause);
    assert_eq!(now(&deleted(|it| it.is_named_by_maker = true)), Next::Pause);
    assert_eq!(now(&deleted(|it| it.running = running(What::Destroy))), FOR_EVER);
}
