//! Deletion: what it destroys, what it must not, and what it stops.

use super::*;

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
fn only_a_deletion_that_destroys_stops_what_runs_and_its_end_a_destruction() {
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
            "a grant that is taken back",
            |it| {
                it.is_deleting = true;
                it.policies = ORPHAN;
                it.running = running(What::Destroy);
            },
            Next::Cancel,
        ),
        (
            "a pause while destroying",
            |it| {
                it.is_deleting = true;
                it.policies = Policy::Paused;
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
