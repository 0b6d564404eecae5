use capt_api::{
    conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason, marks,
    workspacetemplateapply::WorkspaceProgress,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

fn word(standing: &Standing) -> String {
    match standing {
        Standing::Going { .. } => "going".to_owned(),
        Standing::Refused { reason, .. } => format!("refused {reason}"),
        Standing::Waiting { reason, .. } => format!("waiting {reason}"),
        Standing::AwaitsApproval { .. } => "approval".to_owned(),
        Standing::Working => "working".to_owned(),
        Standing::Retrying { .. } => "retrying".to_owned(),
        Standing::Failed { .. } => "failed".to_owned(),
        Standing::Ready => "ready".to_owned(),
    }
}

fn pause_by_hand(seen: &mut OwnedSeen) {
    seen.workspace.get_or_insert_default().paused_by_hand = true;
}

#[test]
fn how_it_stands_is_read_from_what_it_says() {
    type Edit = fn(&mut OwnedSeen);
    let cases: Vec<(&str, Edit, &str)> = vec![
        ("all is well", |_| {}, "ready"),
        ("it says nothing yet", |seen| seen.wta.status = None, "working"),
        (
            "it speaks about another spec",
            |seen| seen.wta.metadata.generation = Some(9),
            "working",
        ),
        (
            "another rendering is written",
            |seen| seen.wta.status.get_or_insert_default().last_applied_revision = Some("r2".to_owned()),
            "working",
        ),
        (
            "the Workspace is not applied yet",
            |seen| seen.wta.status.get_or_insert_default().applied = false,
            "working",
        ),
        (
            "Ready is False",
            |seen| say(seen, "Ready", "False", "Creating"),
            "working",
        ),
        (
            "it passes",
            |seen| fail(seen, TroubleClass::Transient),
            "retrying",
        ),
        (
            "it does not pass",
            |seen| fail(seen, TroubleClass::Terminal),
            "failed",
        ),
        (
            "it failed before the spec was changed",
            |seen| {
                fail(seen, TroubleClass::Terminal);
                seen.workspace = Some(WorkspaceGlance {
                    generation: 4,
                    ..WorkspaceGlance::default()
                });
            },
            "working",
        ),
        (
            "it failed, and another try was asked for",
            |seen| {
                fail(seen, TroubleClass::Terminal);
                annotate(seen, marks::RETRY_REQUESTED, "2");
                seen.run = Some(RunGlance {
                    retry_answered: Some("1".to_owned()),
                    ..RunGlance::default()
                });
            },
            "working",
        ),
        (
            "it passes, and another try of those that come by themselves runs",
            |seen| {
                fail(seen, TroubleClass::Transient);
                annotate(seen, marks::RETRY_REQUESTED, "2");
                seen.run = Some(RunGlance {
                    retry_answered: Some("2".to_owned()),
                    is_running: true,
                    ..RunGlance::default()
                });
            },
            "retrying",
        ),
        (
            "it failed, and is applied again by itself, because what was missing is there",
            |seen| {
                fail(seen, TroubleClass::Terminal);
                seen.run = Some(RunGlance {
                    is_running: true,
                    is_applying: true,
                    started_at: Some(at(60)),
                    ..RunGlance::default()
                });
            },
            "working",
        ),
        (
            "it failed, and is looked at again",
            |seen| {
                fail(seen, TroubleClass::Terminal);
                seen.run = Some(RunGlance {
                    is_running: true,
                    started_at: Some(at(60)),
                    ..RunGlance::default()
                });
            },
            "failed",
        ),
        (
            "it fails at this moment",
            |seen| {
                fail(seen, TroubleClass::Terminal);
                seen.run = Some(RunGlance {
                    is_running: true,
                    is_applying: true,
                    started_at: Some(at(-60)),
                    ..RunGlance::default()
                });
            },
            "failed",
        ),
        (
            "it failed again",
            |seen| {
                fail(seen, TroubleClass::Terminal);
                annotate(seen, marks::RETRY_REQUESTED, "2");
                seen.run = Some(RunGlance {
                    retry_answered: Some("2".to_owned()),
                    ..RunGlance::default()
                });
            },
            "failed",
        ),
        (
            "it is not synced, and nobody knows why",
            |seen| say(seen, "Synced", "False", "Unheard"),
            "working",
        ),
        (
            "it was well when it was put to rest",
            |seen| say(seen, "Synced", "False", "ReconcilePaused"),
            "ready",
        ),
        (
            "it failed before it was put to rest",
            |seen| {
                say(seen, "Synced", "False", "ReconcilePaused");
                annotate(seen, marks::FAILED, "{}");
            },
            "working",
        ),
        (
            "it was not done when it was put to rest",
            |seen| {
                say(seen, "Synced", "False", "ReconcilePaused");
                say(seen, "Ready", "False", "Creating");
            },
            "working",
        ),
        (
            "it waits",
            |seen| say(seen, "Waiting", "True", "WaitingForTurn"),
            "waiting WaitingForTurn",
        ),
        (
            "it waits, and its Workspace is paused by hand",
            |seen| {
                say(seen, "Waiting", "True", "WaitingForTurn");
                pause_by_hand(seen);
            },
            "waiting Paused",
        ),
        (
            "it has something to do, and its Workspace is paused by hand",
            |seen| {
                say(seen, "Synced", "False", "ReconcilePaused");
                seen.wta.status.get_or_insert_default().last_applied_revision = Some("r2".to_owned());
                pause_by_hand(seen);
            },
            "waiting Paused",
        ),
        (
            "all is well, and its Workspace is paused by hand",
            |seen| {
                say(seen, "Synced", "False", "ReconcilePaused");
                pause_by_hand(seen);
            },
            "ready",
        ),
        (
            "it waits for itself",
            |seen| say(seen, "Waiting", "True", "DependencyCycle"),
            "refused DependencyCycle",
        ),
        (
            "a hole is not filled",
            |seen| say(seen, "Applied", "False", "VariableMissing"),
            "refused VariableMissing",
        ),
        (
            "a person must approve",
            |seen| {
                say(seen, "Applied", "False", "AdoptedChange");
                say(seen, "ApprovalNeeded", "True", "AdoptedChange");
            },
            "approval",
        ),
        (
            "the pause of its Cluster is over",
            |seen| {
                say(seen, "Paused", "True", "Paused");
                say(seen, "Synced", "False", "ReconcilePaused");
            },
            "ready",
        ),
        (
            "it is paused before it is what it should be",
            |seen| {
                say(seen, "Paused", "True", "Paused");
                seen.wta.metadata.generation = Some(9);
            },
            "waiting Paused",
        ),
        (
            "it is paused by itself",
            |seen| {
                say(seen, "Paused", "True", "Paused");
                annotate(seen, capt_api::foreign::marks::PAUSED, "");
            },
            "waiting Paused",
        ),
        (
            "it goes",
            |seen| seen.wta.metadata.deletion_timestamp = Some(Time(at(1))),
            "going",
        ),
    ];
    for (name, edit, expected) in cases {
        let mut seen = living();
        edit(&mut seen);
        assert_eq!(word(&standing(&seen)), expected, "{name}");
    }
}

/// Nobody finds a field of an object that its owner writes.
#[test]
fn a_refusal_names_the_fields_of_the_owner() {
    for (role, expected) in [
        (Some("vpc"), "mend spec.vpcTemplateRef"),
        (Some("eks"), "mend spec.workspaceTemplateRef"),
        (
            Some("fargate-profile.web"),
            "mend workspaceTemplateRef of the profile web in spec.additionalFargateProfiles",
        ),
        (None, "mend spec.templateRef"),
    ] {
        let mut seen = living();
        say(&mut seen, "Applied", "False", "WorkspaceTemplateNotFound");
        let labels = seen.wta.metadata.labels.get_or_insert_default();
        labels.remove(marks::ROLE);
        labels.extend(role.map(|role| (marks::ROLE.to_owned(), role.to_owned())));
        let conditions = seen
            .wta
            .status
            .as_mut()
            .and_then(|status| status.conditions.as_mut());
        for condition in conditions.into_iter().flatten() {
            condition.message = "mend spec.templateRef; set it in spec.variables".to_owned();
        }
        let Standing::Refused { message, .. } = standing(&seen) else {
            panic!("it is refused");
        };
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(message.contains("spec.variables"), role.is_none(), "{message}");
    }
}

#[test]
fn what_was_taken_over_has_no_hash_and_is_ready_all_the_same() {
    let mut seen = living();
    let status = seen.wta.status.get_or_insert_default();
    status.last_applied_revision = None;
    status.ready_revision = None;
    assert_eq!(standing(&seen), Standing::Ready);
}

#[test]
fn a_change_that_waits_leaves_what_is_there_as_good_as_it_was() {
    let mut seen = living();
    seen.wta.status.get_or_insert_default().applied = false;
    say(
        &mut seen,
        "Applied",
        "False",
        Reason::AdoptedChange.to_string().as_str(),
    );
    say(&mut seen, "ApprovalNeeded", "True", "AdoptedChange");
    assert!(seen.holds());
    assert_ne!(standing(&seen), Standing::Ready);
}

#[test]
fn a_failure_is_remembered_while_others_have_the_turn_until_something_else_is_wanted() {
    let mut seen = living();
    seen.wta.status.get_or_insert_default().ready_revision = None;
    fail(&mut seen, TroubleClass::Terminal);
    let mark = wanted().change(&OWNER, Some(&seen)).expect("it is written down");
    let mut paused = carried_out(&mark, Some(&seen));
    paused.wta.metadata.generation = seen.wta.metadata.generation;
    assert_eq!(wanted().change(&OWNER, Some(&paused)), None, "once");
    // It gives up its turn, and does not say any more that it failed.
    paused.trouble = None;
    say(&mut paused, "Synced", "False", "ReconcilePaused");
    say(&mut paused, "Waiting", "True", "WaitingForTurn");
    let failed = Standing::Failed {
        message: "no".to_owned(),
    };
    assert_eq!(standing(&paused), failed);
    assert_eq!(
        wanted().change(&OWNER, Some(&paused)),
        None,
        "and is not forgotten"
    );
    let mut retried = paused.clone();
    annotate(&mut retried, marks::RETRY_REQUESTED, "1");
    assert_eq!(word(&standing(&retried)), "waiting WaitingForTurn");
    let mut well = living();
    annotate(
        &mut well,
        marks::FAILED,
        paused.annotation(marks::FAILED).expect("a mark"),
    );
    let change = wanted().change(&OWNER, Some(&well)).expect("a change");
    assert_eq!(change.strip.annotations, [marks::FAILED], "it is over");
    let mut changed = paused;
    changed.wta.status.get_or_insert_default().pending_revision = Some("r2".to_owned());
    assert_eq!(word(&standing(&changed)), "waiting WaitingForTurn");
}

/// Another rendering is known before it is written, and until then its hash is told nowhere.
#[test]
fn a_failure_is_not_one_of_a_rendering_that_is_not_written_yet() {
    let mut failed = living();
    failed.wta.status.get_or_insert_default().ready_revision = None;
    fail(&mut failed, TroubleClass::Terminal);
    let mark = wanted()
        .change(&OWNER, Some(&failed))
        .expect("it is written down");
    let mut marked = carried_out(&mark, Some(&failed));
    marked.wta.metadata.generation = failed.wta.metadata.generation;
    assert_eq!(word(&standing(&marked)), "failed");
    say(&mut marked, "Applied", "False", "Rendered");
    marked.wta.status.get_or_insert_default().applied = false;
    assert_eq!(word(&standing(&marked)), "working");
}

/// The report of a run and the Workspace's own words about it arrive one after the other.
#[test]
fn a_failure_is_over_when_an_operation_after_it_has_worked() {
    for (worked_since, expected) in [(None, "failed"), (Some(-60), "failed"), (Some(60), "working")] {
        let mut seen = living();
        fail(&mut seen, TroubleClass::Terminal);
        let told = seen
            .condition("Synced")
            .map(|synced| synced.last_transition_time.0);
        let told = told.expect("it is told").as_second();
        seen.run = Some(RunGlance {
            worked_since: worked_since.map(|later| Timestamp::from_second(told + later).expect("a time")),
            ..RunGlance::default()
        });
        assert_eq!(word(&standing(&seen)), expected, "{worked_since:?}");
    }
}

#[test]
fn what_failed_before_is_not_told_again_at_the_end_of_another_try() {
    let mut seen = living();
    fail(&mut seen, TroubleClass::Terminal);
    assert!(matches!(standing(&seen), Standing::Failed { .. }));
    seen.run = Some(RunGlance::default());
    let status = seen.wta.status.get_or_insert_default();
    status.progress = Some(WorkspaceProgress {
        attempt: Some(2),
        ..WorkspaceProgress::default()
    });
    assert_eq!(
        standing(&seen),
        Standing::Working,
        "it still says that it is being tried, and not how that ended"
    );
    seen.wta.status.get_or_insert_default().progress = None;
    assert!(matches!(standing(&seen), Standing::Failed { .. }));
}

#[test]
fn what_misses_an_input_goes_on_by_itself_only_if_it_has_its_turn() {
    let by_itself = |seen: &OwnedSeen| seen.way_out_of_failure("the spec").contains("by itself");
    let mut seen = living();
    fail(&mut seen, TroubleClass::Terminal);
    assert!(!by_itself(&seen));
    say(&mut seen, "Applied", "True", "InputMissing");
    assert!(by_itself(&seen));
    say(&mut seen, "Waiting", "True", "WaitingForTurn");
    assert!(!by_itself(&seen));
}
