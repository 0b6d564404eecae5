//! Who gets the turn, and who rests.

use capt_api::foreign::marks as foreign_marks;

use super::*;

fn child(name: &str, need: Need, is_at_rest: bool, waiting_since: Option<i64>) -> Child {
    Child {
        name: name.to_owned(),
        need,
        is_at_rest,
        is_in_doubt: false,
        is_announced: false,
        waiting_since: waiting_since.map(|second| Timestamp::from_second(second).expect("a time")),
    }
}

fn idle(name: &str) -> Child {
    child(name, Need::Nothing, true, None)
}

fn running(name: &str) -> Child {
    child(name, Need::Work, false, None)
}

fn waiting(name: &str, since: i64) -> Child {
    child(name, Need::Work, true, Some(since))
}

fn deleting(name: &str, is_at_rest: bool) -> Child {
    child(name, Need::Deletion, is_at_rest, None)
}

fn announced_one(name: &str) -> Child {
    Child {
        is_announced: true,
        ..deleting(name, true)
    }
}

#[test]
fn the_turn_goes_round_one_at_a_time() {
    let failed_and_running = child("eks", Need::Nothing, false, None);
    for (name, holder, children, expected) in [
        ("nobody is there", None, vec![], None),
        ("the first one", None, vec![Child::new("eks")], Some("eks")),
        (
            "nobody needs it",
            Some("eks"),
            vec![idle("eks"), idle("a")],
            Some("eks"),
        ),
        (
            "it is used",
            Some("eks"),
            vec![running("eks"), waiting("a", 1)],
            Some("eks"),
        ),
        (
            "it is done with",
            Some("eks"),
            vec![idle("eks"), waiting("a", 1)],
            Some("a"),
        ),
        (
            "who waits longest is next",
            Some("eks"),
            vec![idle("eks"), waiting("a", 9), waiting("b", 3)],
            Some("b"),
        ),
        (
            "a failed holder gives it up, and is waited for until it rests",
            Some("eks"),
            vec![failed_and_running, waiting("a", 1)],
            None,
        ),
        (
            "it is given when all rest",
            None,
            vec![idle("eks"), waiting("a", 1)],
            Some("a"),
        ),
        (
            "the holder is gone",
            Some("gone"),
            vec![idle("eks"), waiting("a", 1)],
            Some("a"),
        ),
        (
            "somebody fails without the turn",
            Some("gone"),
            vec![child("eks", Need::Nothing, false, None), waiting("a", 1)],
            None,
        ),
        (
            "who runs without the turn and needs it gets it",
            None,
            vec![deleting("a", true), deleting("b", false)],
            Some("b"),
        ),
        (
            "a deletion waits for a running holder",
            Some("eks"),
            vec![running("eks"), deleting("a", true)],
            Some("eks"),
        ),
        (
            "a deletion waits for who has just got the turn",
            Some("eks"),
            vec![waiting("eks", 1), deleting("a", true)],
            Some("eks"),
        ),
        (
            "who may be on the way to rest does not get the turn back",
            None,
            vec![
                Child {
                    is_in_doubt: true,
                    ..running("a")
                },
                waiting("b", 1),
            ],
            None,
        ),
        (
            "a deletion goes before who waits longest",
            Some("eks"),
            vec![idle("eks"), waiting("a", 1), deleting("b", true)],
            Some("b"),
        ),
        (
            "who is to be removed gets nothing before its removal is seen",
            Some("eks"),
            vec![idle("eks"), announced_one("a")],
            Some("eks"),
        ),
        (
            "the same where nobody has the turn",
            None,
            vec![idle("eks"), announced_one("a")],
            None,
        ),
        (
            "and nobody overtakes it",
            Some("eks"),
            vec![idle("eks"), waiting("b", 1), announced_one("a")],
            Some("eks"),
        ),
        (
            "who has the turn already keeps it",
            Some("a"),
            vec![idle("eks"), waiting("b", 1), announced_one("a")],
            Some("a"),
        ),
        (
            "a deletion that runs is not overtaken",
            Some("a"),
            vec![idle("eks"), deleting("a", false), deleting("b", true)],
            Some("a"),
        ),
    ] {
        let given = hand_out(holder, &children);
        assert_eq!(given.as_deref(), expected, "{name}");
    }
}

#[test]
fn who_is_to_be_removed_is_next_if_nobody_else_is_at_work() {
    for (holder, children, expected) in [
        (Some("eks"), vec![idle("eks"), announced_one("a")], Some("a")),
        (Some("a"), vec![idle("eks"), announced_one("a")], None),
        (Some("eks"), vec![running("eks"), announced_one("a")], None),
        (
            None,
            vec![child("eks", Need::Nothing, false, None), announced_one("a")],
            None,
        ),
        (None, vec![announced_one("a"), announced_one("b")], Some("a")),
        (None, vec![deleting("a", true), announced_one("b")], None),
    ] {
        assert_eq!(announced(holder, &children), expected, "{holder:?} {children:#?}");
    }
}

#[test]
fn everybody_gets_a_turn_and_never_two_at_once() {
    // Each needs three rounds of work, and one fails in its first.
    let mut work = [3, 3, 3, 3];
    let names = ["eks", "a", "b", "c"];
    let mut holder: Option<String> = None;
    let mut order = Vec::new();
    for round in 0..40 {
        let children: Vec<Child> = (0..4)
            .map(|index| {
                let is_holder = holder.as_deref() == Some(names[index]);
                let has_failed = index == 1 && work[index] < 3;
                let need = if work[index] == 0 || has_failed {
                    Need::Nothing
                } else {
                    Need::Work
                };
                let is_running = is_holder && need == Need::Work && work[index] < 3;
                child(
                    names[index],
                    need,
                    !is_running,
                    Some(index.try_into().expect("small")),
                )
            })
            .collect();
        let running: Vec<&str> = children
            .iter()
            .filter(|child| !child.is_at_rest)
            .map(|child| child.name.as_str())
            .collect();
        assert!(running.len() <= 1, "round {round}: {running:?}");
        holder = hand_out(holder.as_deref(), &children);
        if let Some(name) = &holder {
            let index = names.iter().position(|known| known == name).expect("a child");
            if children[index].need == Need::Work {
                work[index] -= 1;
                if order.last() != Some(&names[index]) {
                    order.push(names[index]);
                }
            }
        }
    }
    assert_eq!(
        order,
        ["eks", "a", "b", "c"],
        "a failed one does not block the rest"
    );
    assert_eq!(work, [0, 2, 0, 0]);
}

/// A WorkspaceTemplateApply that has a Workspace, and says this.
fn saying(is_deleting: bool, said: &[(&str, &str, &str)]) -> OwnedSeen {
    let conditions: Vec<_> = said
        .iter()
        .map(|(type_, status, reason)| {
            serde_json::json!({
                "type": type_, "status": status, "reason": reason, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        })
        .collect();
    let deleted = is_deleting.then_some("2026-01-01T00:00:00Z");
    let wta = serde_json::json!({
        "metadata": {
            "name": "a", "generation": 1, "deletionTimestamp": deleted,
            "annotations": {marks::WORKSPACE: "tf.m.upbound.io/a", marks::LET_GO: "true"},
        },
        "spec": {"templateRef": {"name": "t"}},
        "status": {"observedGeneration": 1, "conditions": conditions},
    });
    OwnedSeen {
        wta: serde_json::from_value(wta).expect("a WorkspaceTemplateApply"),
        trouble: None,
        workspace: None,
        run: None,
    }
}

#[test]
fn what_is_out_of_reach_holds_up_nobody() {
    for (is_deleting, type_, status, reason, is_at_rest) in [
        (false, "Applied", "False", "WorkspaceNotOurs", true),
        (false, "Applied", "False", "WorkspaceApiMissing", true),
        (false, "Applied", "False", "ManagementPoliciesDisabled", true),
        (false, "Applied", "False", "TemplateInvalid", false),
        (true, "Deleting", "True", "WorkspaceNotOurs", true),
        (true, "Deleting", "True", "RenderingLost", true),
        (true, "Deleting", "True", "WaitingForTurn", true),
        (true, "Deleting", "True", "Destroying", false),
    ] {
        let mut seen = saying(is_deleting, &[(type_, status, reason)]);
        assert_eq!(Child::of(&seen).is_at_rest, is_at_rest, "{reason} {is_deleting}");
        seen.run = Some(crate::owned::RunGlance {
            is_running: true,
            ..crate::owned::RunGlance::default()
        });
        assert!(!Child::of(&seen).is_at_rest, "{reason}: it runs");
    }
}

#[test]
fn who_is_paused_is_not_mended_in_turn_either() {
    for (by_hand, need) in [(false, Need::Work), (true, Need::Nothing)] {
        let mut seen = saying(
            false,
            &[
                ("Applied", "True", "Applied"),
                ("Synced", "True", "ReconcileSuccess"),
                ("Ready", "True", "Available"),
            ],
        );
        seen.workspace = Some(crate::owned::WorkspaceGlance {
            paused_by_hand: by_hand,
            drift: Some("gone".to_owned()),
            drifted_at: Some("yesterday".to_owned()),
            ..crate::owned::WorkspaceGlance::default()
        });
        assert_eq!(Child::of(&seen).need, need, "{by_hand}");
    }
}

#[test]
fn who_is_paused_needs_no_turn_also_to_go() {
    for (mark, by_hand, need) in [
        (None, false, Need::Deletion),
        (Some(foreign_marks::PAUSED), false, Need::Nothing),
        (None, true, Need::Nothing),
    ] {
        let mut seen = saying(true, &[("Deleting", "True", "WaitingForTurn")]);
        if let Some(mark) = mark {
            let annotations = seen.wta.metadata.annotations.get_or_insert_default();
            annotations.insert(mark.to_owned(), "true".to_owned());
        }
        seen.workspace = Some(crate::owned::WorkspaceGlance {
            paused_by_hand: by_hand,
            ..crate::owned::WorkspaceGlance::default()
        });
        assert_eq!(Child::of(&seen).need, need, "{mark:?} {by_hand}");
        let told = super::super::fargate::reading::going(&seen, None);
        assert_eq!(told.wants_turn, need == Need::Deletion);
        assert_eq!(
            told.message.contains("paused"),
            need == Need::Nothing,
            "{}",
            told.message
        );
    }
}

#[test]
fn what_is_well_and_is_to_be_tried_again_is_about_to_run() {
    for (asked, answered, need) in [
        (None, None, Need::Nothing),
        (Some("1"), Some("1"), Need::Nothing),
        (Some("2"), Some("1"), Need::Work),
    ] {
        let mut seen = saying(
            false,
            &[
                ("Applied", "True", "Applied"),
                ("Synced", "True", "ReconcileSuccess"),
                ("Ready", "True", "Available"),
            ],
        );
        let status = seen.wta.status.as_mut().expect("a status");
        (status.ready_revision, status.last_applied_revision) = (Some("1".to_owned()), Some("1".to_owned()));
        status.applied = true;
        let annotations = seen.wta.metadata.annotations.get_or_insert_default();
        let asked = asked.map(|asked| (marks::RETRY_REQUESTED.to_owned(), asked.to_owned()));
        annotations.extend(asked);
        seen.run = Some(crate::owned::RunGlance {
            retry_answered: answered.map(str::to_owned),
            ..crate::owned::RunGlance::default()
        });
        let child = Child::of(&seen);
        assert_eq!(
            (child.need, child.is_at_rest),
            (need, need == Need::Nothing),
            "{answered:?}"
        );
    }
}

#[test]
fn what_could_not_be_destroyed_gets_no_other_turn_before_somebody_asks_for_it() {
    for (what, deleting, asked, is_running, need) in [
        ("it has just failed", "Destroying", None, false, Need::Nothing),
        (
            "others have the turn",
            "WaitingForTurn",
            None,
            false,
            Need::Nothing,
        ),
        ("asked before", "WaitingForTurn", Some("1"), false, Need::Nothing),
        ("asked again", "WaitingForTurn", Some("2"), false, Need::Deletion),
        ("it is at it", "Destroying", Some("2"), true, Need::Deletion),
    ] {
        // While a runner is told to stop, nobody repeats what it said last.
        let mut seen = saying(
            true,
            &[
                ("Deleting", "True", deleting),
                ("Synced", "False", "ReconcilePaused"),
            ],
        );
        let annotations = seen.wta.metadata.annotations.get_or_insert_default();
        let asked = asked.map(|asked| (marks::RETRY_REQUESTED.to_owned(), asked.to_owned()));
        annotations.extend(asked);
        seen.run = Some(crate::owned::RunGlance {
            is_running,
            failed_end: Some("pods are left".to_owned()),
            retry_answered: Some("1".to_owned()),
            ..crate::owned::RunGlance::default()
        });
        assert_eq!(Child::of(&seen).need, need, "{what}");
        let told = super::super::fargate::reading::going(&seen, None);
        assert_eq!(told.wants_turn, need == Need::Deletion, "{what}");
        assert_eq!(told.failure.is_some(), need == Need::Nothing, "{what}");
        assert_eq!(
            told.message.contains("pods are left"),
            need == Need::Nothing,
            "{what}"
        );
    }
}

#[test]
fn what_was_just_written_is_not_at_rest_by_what_was_said_before() {
    for (said_of, generation, expected) in [(Some(3), 3, true), (Some(3), 4, false), (None, 4, true)] {
        let mut seen = saying(false, &[("Synced", "True", "x"), ("Ready", "True", "x")]);
        let status = seen.wta.status.as_mut().expect("a status");
        (status.ready_revision, status.last_applied_revision) = (Some("1".to_owned()), Some("1".to_owned()));
        for condition in status.conditions.iter_mut().flatten() {
            condition.observed_generation = said_of;
        }
        seen.workspace = Some(crate::owned::WorkspaceGlance {
            generation,
            ..crate::owned::WorkspaceGlance::default()
        });
        assert_eq!(Child::of(&seen).is_at_rest, expected, "{said_of:?} {generation}");
    }
}

/// The Workspace of a failed one was written to put it to rest, which is seen before what its WorkspaceTemplateApply
/// says about that.
#[test]
fn a_failed_one_on_its_way_to_rest_does_not_get_in_line() {
    let mark = serde_json::json!({"revision": "1", "message": "the limit is reached"}).to_string();
    for (is_marked, said_of, need) in [
        (true, 3, Need::Nothing),
        (true, 4, Need::Nothing),
        (false, 3, Need::Work),
    ] {
        let mut seen = saying(false, &[("Synced", "False", "ReconcileError")]);
        let status = seen.wta.status.as_mut().expect("a status");
        status.applied = true;
        status.last_applied_revision = Some("1".to_owned());
        for condition in status.conditions.iter_mut().flatten() {
            condition.observed_generation = Some(said_of);
        }
        seen.trouble = Some(crate::owned::Trouble {
            class: crate::owned::TroubleClass::Terminal,
            message: "the limit is reached".to_owned(),
        });
        seen.workspace = Some(crate::owned::WorkspaceGlance {
            generation: 4,
            ..crate::owned::WorkspaceGlance::default()
        });
        if is_marked {
            let annotations = seen.wta.metadata.annotations.get_or_insert_default();
            annotations.insert(marks::FAILED.to_owned(), mark.clone());
        }
        let child = Child::of(&seen);
        assert_eq!(child.need, need, "{is_marked} {said_of}");
        assert_eq!(child.is_in_doubt, said_of == 3);
        let given = hand_out(None, &[child, waiting("b", 1)]);
        assert_eq!(given, None, "it is not at rest");
    }
}
