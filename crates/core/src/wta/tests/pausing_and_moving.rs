//! Pausing, the proof of rest, and what `clusterctl move` finds.

use std::collections::BTreeMap;

use capt_api::{
    conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason,
    foreign::marks as foreign_marks, marks, workspacetemplateapply::WorkspaceProgress,
};
use serde_json::json;

use super::{
    super::{
        candidate, left_behind,
        snapshot::{ClusterSeen, KeptSeen, Problem, StateSecretSeen},
    },
    *,
};

fn pause(snapshot: &mut Snapshot) {
    snapshot.cluster = Some(ClusterSeen { paused: true });
}

fn is_move_blocked(snapshot: &Snapshot) -> bool {
    let annotations = snapshot.wta.metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(foreign_marks::BLOCK_MOVE))
}

#[test]
fn the_cluster_the_owner_and_the_object_pause_the_workspace_and_change_nothing_else() {
    let by_cluster = |snapshot: &mut Snapshot| pause(snapshot);
    let by_object = |snapshot: &mut Snapshot| annotate(snapshot, foreign_marks::PAUSED, "");
    let by_owner = |snapshot: &mut Snapshot| {
        snapshot.owner = Some(OwnerSeen {
            paused: true,
            ..OwnerSeen::default()
        });
    };
    for pause in [&by_cluster as &dyn Fn(&mut Snapshot), &by_object, &by_owner] {
        let mut world = living();
        let before = world.workspace().spec.clone();
        world.snapshot.rendering = Ok(rendered("r2"));
        pause(&mut world.snapshot);
        world.calm();
        let mut expected = before;
        expected["managementPolicies"] = json!([]);
        assert_eq!(world.workspace().spec, expected);
    }
}

#[test]
fn what_was_done_goes_on_after_a_pause_without_its_turn_and_what_waited_for_it_does_not() {
    let alive = json!(["Observe", "Create", "Update", "LateInitialize"]);
    for (is_done, expected) in [(true, alive), (false, json!([]))] {
        let mut world = owned();
        if !is_done {
            world.workspace_mut().generation += 1;
        }
        world.snapshot.owner = Some(OwnerSeen {
            takes_turns: true,
            turn: Some("other".to_owned()),
            ..OwnerSeen::default()
        });
        world.settle();
        pause(&mut world.snapshot);
        world.settle();
        assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
        world.snapshot.cluster = Some(ClusterSeen { paused: false });
        // The runner has not looked yet, and says what it said before.
        world.calm();
        assert_eq!(world.workspace().spec["managementPolicies"], expected);
        world.settle();
        assert_eq!(world.workspace().spec["managementPolicies"], expected);
        assert_eq!(world.workspace().is_settled(), is_done);
    }
}

#[test]
fn a_kept_rendering_that_lost_its_owner_gets_it_back() {
    let mut world = living();
    let before = world.snapshot.kept.clone().expect("a kept rendering");
    assert!(before.owner.is_some());
    world.snapshot.kept = Some(KeptSeen {
        owner: None,
        ..before.clone()
    });
    world.calm();
    assert_eq!(world.snapshot.kept, Some(before));
}

#[test]
fn nothing_is_made_while_paused() {
    let mut world = World::new(fresh());
    pause(&mut world.snapshot);
    let decision = world.settle();
    assert!(world.snapshot.workspaces.is_empty());
    assert_eq!(reason(&world.snapshot, &decision, "Paused"), "True/Paused");
}

#[test]
fn paused_wins_over_deletion() {
    let mut world = living();
    pause(&mut world.snapshot);
    delete(&mut world.snapshot);
    world.settle();
    assert!(!world.is_gone);
    assert_eq!(world.infrastructure.len(), 1);
    assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
}

#[test]
fn what_the_end_of_a_pause_does_to_an_object_that_goes_is_said_before_it_ends() {
    let kept = |snapshot: &mut Snapshot| snapshot.wta.spec.retain_workspace_on_delete = Some(true);
    let nothing = |_: &mut Snapshot| {};
    let dying = |snapshot: &mut Snapshot| {
        if let Some(owner) = &mut snapshot.owner {
            owner.deleting = true;
        }
    };
    let gone = |snapshot: &mut Snapshot| snapshot.owner = None;
    let begun = |snapshot: &mut Snapshot| Arc::make_mut(&mut snapshot.workspaces[0]).deleting = true;
    let kept_too_late = |snapshot: &mut Snapshot| {
        kept(snapshot);
        begun(snapshot);
    };
    for (mut world, change, expected) in [
        (
            living(),
            &nothing as &dyn Fn(&mut Snapshot),
            "ending the pause destroys its infrastructure",
        ),
        (living(), &kept, "its infrastructure is kept"),
        (
            living(),
            &begun,
            "has begun. What that leaves is destroyed when the pause ends",
        ),
        (
            living(),
            &kept_too_late,
            "had begun: what that leaves is kept with the Workspace blue",
        ),
        (owned(), &nothing, "its owner makes it again"),
        (owned(), &dying, "the owner says when"),
        (owned(), &gone, "until somebody says"),
        (World::new(fresh()), &nothing, "it has no infrastructure"),
    ] {
        pause(&mut world.snapshot);
        world.settle();
        change(&mut world.snapshot);
        delete(&mut world.snapshot);
        world.settle();
        assert!(!world.is_gone, "{expected}");
        let status = world.snapshot.wta.status.clone().expect("a status");
        let message = status.message.expect("a message");
        assert!(
            message.starts_with(
                "Nothing is done, because the Cluster has spec.paused: true. It is being deleted"
            ),
            "{message}"
        );
        assert!(message.contains(expected), "{expected}: {message}");
        let conditions = status.conditions.unwrap_or_default();
        for (type_, expected) in [("Paused", &message[..]), ("Deleting", expected)] {
            let said = conditions.iter().find(|one| one.type_ == type_).expect(type_);
            assert_eq!((said.status.as_str(), said.reason.as_str()), ("True", "Paused"));
            assert!(said.message.contains(expected), "{type_}: {said:?}");
        }
    }
}

#[test]
fn a_deleting_object_never_unpauses() {
    let mut world = owned();
    pause(&mut world.snapshot);
    world.settle();
    delete(&mut world.snapshot);
    world.snapshot.cluster = None;
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
}

#[test]
fn rest_is_proved_by_the_runner_at_the_current_generation_and_only_then_may_be_moved() {
    let mut world = living();
    assert!(is_move_blocked(&world.snapshot), "always on");
    pause(&mut world.snapshot);
    let decision = world.calm();
    assert_eq!(reason(&world.snapshot, &decision, "Paused"), "True/Pausing");
    assert!(is_move_blocked(&world.snapshot));
    // Words about an older generation prove nothing.
    let stale = world.workspace().generation - 1;
    world.workspace_mut().status.conditions =
        Some(vec![condition("Synced", "False", "ReconcilePaused", stale)]);
    world.calm();
    assert!(is_move_blocked(&world.snapshot));
    world.run();
    let decision = world.calm();
    assert_eq!(reason(&world.snapshot, &decision, "Paused"), "True/Paused");
    assert!(!is_move_blocked(&world.snapshot));
    world.snapshot.cluster = None;
    let decision = world.step();
    assert!(
        decision.children.is_empty(),
        "the move is blocked before anything runs"
    );
    assert!(is_move_blocked(&world.snapshot));
    world.settle();
    assert!(world.workspace().is_settled());
}

#[test]
fn a_running_operation_is_waited_for_only_where_one_runs() {
    type Change = fn(&mut World);
    let rests: Change = |_| {};
    let our_runner_is_at_it: Change = |world| {
        world.snapshot.progress = Some(WorkspaceProgress::default());
    };
    let it_is_being_made: Change = |world| {
        let generation = world.workspace().generation;
        world.workspace_mut().status.conditions = Some(vec![
            condition("Synced", "True", "ReconcileSuccess", generation),
            condition("Ready", "False", "Creating", generation),
        ]);
    };
    let it_failed: Change = |world| {
        let generation = world.workspace().generation;
        world.workspace_mut().status.conditions = Some(vec![
            condition("Synced", "False", "ReconcileError", generation),
            condition("Ready", "False", "Creating", generation),
        ]);
    };
    for (change, is_running) in [
        (rests, false),
        (our_runner_is_at_it, true),
        (it_is_being_made, true),
        (it_failed, false),
    ] {
        let mut world = living();
        change(&mut world);
        pause(&mut world.snapshot);
        let decision = world.step();
        let words = "A running operation finishes first";
        let told: Vec<&str> = decision
            .events
            .iter()
            .filter(|event| event.reason == "Pausing")
            .map(|event| event.message.as_str())
            .collect();
        assert_eq!(told.len(), usize::from(is_running), "{told:?}");
        assert_eq!(message(&decision).contains(words), is_running);
        assert_eq!(reason(&world.snapshot, &decision, "Paused"), "True/Pausing");
        // That it rests is told in every case.
        world.snapshot.progress = None;
        world.run();
        let rest = world.step();
        assert!(rest.events.iter().any(|event| event.reason == "Paused"));
    }
}

/// How far an operation is, is told only of what takes longer than a moment.
#[test]
fn a_running_operation_that_shows_after_the_pause_is_told_once() {
    let mut world = living();
    pause(&mut world.snapshot);
    let pausing = |decision: &Decided| {
        let events = decision.events.iter();
        events.filter(|event| event.reason == "Pausing").count()
    };
    assert_eq!(pausing(&world.step()), 0);
    world.snapshot.progress = Some(WorkspaceProgress::default());
    let told: Vec<usize> = (0..3).map(|_| pausing(&world.step())).collect();
    assert_eq!(told, [1, 0, 0]);
}

#[test]
fn the_users_own_pause_stays_the_users() {
    let mut world = living();
    let paused = foreign_marks::CROSSPLANE_PAUSED.to_owned();
    world
        .workspace_mut()
        .annotations
        .insert(paused, "true".to_owned());
    pause(&mut world.snapshot);
    world.settle();
    world.snapshot.cluster = None;
    world.settle();
    assert_eq!(
        world.workspace().annotations[foreign_marks::CROSSPLANE_PAUSED],
        "true"
    );
}

#[test]
fn state_moves_only_with_an_object_of_a_cluster_and_before_the_move_is_let_through() {
    let mut world = living();
    world.snapshot.state_secrets = vec![StateSecretSeen {
        name: "tfstate".to_owned(),
        ..StateSecretSeen::default()
    }];
    world.calm();
    assert!(!world.snapshot.state_secrets[0].moves);
    let cluster = foreign_marks::CLUSTER_NAME.to_owned();
    let labels = world.snapshot.wta.metadata.labels.get_or_insert_default();
    labels.insert(cluster.clone(), "blue".to_owned());
    pause(&mut world.snapshot);
    world.step();
    assert!(world.snapshot.state_secrets[0].moves);
    world.settle();
    assert!(!is_move_blocked(&world.snapshot));
    world
        .snapshot
        .wta
        .metadata
        .labels
        .get_or_insert_default()
        .remove(&cluster);
    world.calm();
    assert!(!world.snapshot.state_secrets[0].moves);
}

#[test]
fn what_clusterctl_has_moved_away_is_not_touched() {
    let mut world = living();
    annotate(&mut world.snapshot, foreign_marks::DELETE_FOR_MOVE, "");
    delete(&mut world.snapshot);
    assert_eq!(world.decide(), Decided::default());
}

#[test]
fn the_other_side_of_a_move_finds_the_state_again() {
    let mut world = living();
    let infrastructure = world.infrastructure.clone();
    // Neither status nor Workspaces move; the uid is new.
    world.snapshot.workspaces.clear();
    world.snapshot.wta.status = None;
    world.snapshot.wta.metadata.uid = Some("wta-2".to_owned());
    world.calm();
    let annotations = &world.workspace().annotations;
    assert_eq!(
        annotations[marks::WAS_READY],
        "true",
        "the runner may say so at once"
    );
    world.settle();
    assert_eq!(world.infrastructure, infrastructure);
    assert!(world.workspace().is_settled());
    assert_eq!(world.workspace().labels[marks::WTA_UID], "wta-2");
}

#[test]
fn rest_is_not_proved_by_the_users_pause_alone() {
    let mut world = living();
    let generation = world.workspace().generation;
    world.workspace_mut().status.conditions =
        Some(vec![condition("Synced", "False", "ReconcilePaused", generation)]);
    pause(&mut world.snapshot);
    world.step();
    assert!(
        is_move_blocked(&world.snapshot),
        "the user may unpause it in the middle of the move"
    );
}

#[test]
fn rest_includes_state_that_is_ready_to_go_along() {
    let mut world = living();
    pause(&mut world.snapshot);
    world.calm();
    world.run();
    let cluster = foreign_marks::CLUSTER_NAME.to_owned();
    let labels = world.snapshot.wta.metadata.labels.get_or_insert_default();
    labels.insert(cluster, "blue".to_owned());
    world.snapshot.state_secrets = vec![StateSecretSeen {
        name: "tfstate".to_owned(),
        is_held: true,
        ..StateSecretSeen::default()
    }];
    world.step();
    assert!(is_move_blocked(&world.snapshot));
    world.step();
    assert!(!is_move_blocked(&world.snapshot));
}

#[test]
fn the_runners_finalizer_is_restated_by_every_write() {
    // What was applied once and is left out goes, and the runner never claimed it if it was there before.
    let mut world = living();
    pause(&mut world.snapshot);
    let decision = world.step();
    let written = written(&decision).expect("the pause");
    let finalizers = &written.fields["metadata"]["finalizers"];
    assert_eq!(*finalizers, json!([foreign_marks::CROSSPLANE_FINALIZER]));
}

#[test]
fn a_grant_by_another_hand_is_taken_back_at_once_also_where_a_move_was_let_through() {
    let mut world = living();
    pause(&mut world.snapshot);
    world.settle();
    assert!(!is_move_blocked(&world.snapshot));
    let workspace = world.workspace_mut();
    workspace.spec["managementPolicies"] = json!(["*"]);
    workspace.generation += 1;
    let decision = world.decide();
    let written = written(&decision).expect("the Workspace is written");
    assert_eq!(policies(&written.fields), &json!([]));
    world.step();
    assert!(is_move_blocked(&world.snapshot));
}

#[test]
fn who_asks_for_a_plan_while_it_is_paused_gets_one_of_what_it_would_have() {
    let mut world = living();
    annotate(&mut world.snapshot, foreign_marks::PAUSED, "");
    world.settle();
    let before = world.workspace().spec.clone();
    world.snapshot.rendering = Ok(rendered("r2"));
    world.settle();
    assert!(
        !world.workspace().annotations.contains_key(marks::CANDIDATE),
        "nobody asks"
    );

    annotate(&mut world.snapshot, marks::PLAN_REQUESTED, "token");
    let decision = world.settle();
    assert_eq!(world.workspace().annotations[marks::PLAN_REQUESTED], "token");
    let packed = &world.workspace().annotations[marks::CANDIDATE];
    assert_eq!(candidate::unpack(packed), Some(rendered("r2").spec));
    assert_eq!(world.workspace().spec, before, "it goes on having what it has");
    assert_eq!(reason(&world.snapshot, &decision, "Paused"), "True/Paused");
    assert!(!is_move_blocked(&world.snapshot));
    let is_applied = |world: &World| {
        world
            .snapshot
            .wta
            .status
            .as_ref()
            .is_some_and(|status| status.applied)
    };
    assert_eq!(reason(&world.snapshot, &decision, "Applied"), "False/Rendered");
    assert!(!is_applied(&world), "the column says what the condition says");

    world.snapshot.rendering = Ok(rendered("r1"));
    world.settle();
    assert!(is_applied(&world));
    assert!(
        !world.workspace().annotations.contains_key(marks::CANDIDATE),
        "it has that already"
    );
    world.snapshot.rendering = Ok(rendered("r3"));
    world.settle();
    assert!(world.workspace().annotations.contains_key(marks::CANDIDATE));
    let annotations = world.snapshot.wta.metadata.annotations.get_or_insert_default();
    annotations.remove(foreign_marks::PAUSED);
    world.settle();
    assert!(!world.workspace().annotations.contains_key(marks::CANDIDATE));
    assert_eq!(
        world.workspace().spec["forProvider"],
        rendered("r3").spec["forProvider"]
    );
}

#[test]
fn what_cannot_be_planned_while_it_is_paused_is_told() {
    let elsewhere = Rendered {
        backend: Some("another".to_owned()),
        ..rendered("r2")
    };
    let unfilled = Problem {
        reason: Reason::VariableMissing,
        message: "No variable fills it".to_owned(),
    };
    for (rendering, expected) in [
        (Err(vec![unfilled]), "False/VariableMissing"),
        (Ok(elsewhere), "False/StateLocationChanged"),
    ] {
        let mut world = living();
        annotate(&mut world.snapshot, foreign_marks::PAUSED, "");
        world.settle();
        annotate(&mut world.snapshot, marks::PLAN_REQUESTED, "token");
        world.snapshot.rendering = rendering;
        let decision = world.settle();
        assert_eq!(reason(&world.snapshot, &decision, "Applied"), expected);
        let annotations = &world.workspace().annotations;
        assert!(
            !annotations.contains_key(marks::PLAN_REQUESTED),
            "nothing else is planned instead"
        );
    }
}

#[test]
fn what_a_move_leaves_is_told_and_nothing_else() {
    let mut paused = living();
    pause(&mut paused.snapshot);
    paused.settle();
    let left = left_behind(paused.workspace()).expect("it is told");
    assert_eq!(left.event.reason, "LeftBehind");
    let mark = (marks::MOVED_AWAY.to_owned(), Some("true".to_owned()));
    assert_eq!(left.annotations, BTreeMap::from([mark]));
    assert_eq!(left_behind(living().workspace()), None, "somebody may act on it");
    let workspace = paused.workspace_mut();
    let annotations = &mut workspace.annotations;
    annotations.insert(marks::RETAINED.to_owned(), "true".to_owned());
    assert_eq!(left_behind(workspace), None, "it is kept on purpose");
    workspace.annotations.remove(marks::RETAINED);
    workspace.deleting = true;
    assert_eq!(left_behind(workspace), None, "it goes already");
}

/// What is moved without its state is made a second time over there.
#[test]
fn what_has_its_state_in_another_namespace_is_not_moved_unless_a_person_says_so() {
    for (home, is_kept_back) in [
        ("secret/default/tfstate-x-capt", true),
        ("secret/team/tfstate-x-capt", false),
        ("backend/s3", false),
    ] {
        let mut world = living();
        label_cluster(&mut world.snapshot);
        let annotations = &mut world.workspace_mut().annotations;
        annotations.insert(marks::STATE_HOME.to_owned(), home.to_owned());
        pause(&mut world.snapshot);
        let decision = world.settle();
        assert_eq!(
            reason(&world.snapshot, &decision, "Paused"),
            "True/Paused",
            "{home}"
        );
        assert_eq!(is_move_blocked(&world.snapshot), is_kept_back, "{home}");
        let told = message(&decision).contains("namespace default");
        assert_eq!(told, is_kept_back, "{home}: {}", message(&decision));
        annotate(&mut world.snapshot, marks::MOVES_WITHOUT_STATE, "true");
        world.settle();
        assert!(!is_move_blocked(&world.snapshot), "{home}");
        world.snapshot.cluster = None;
        world.settle();
        pause(&mut world.snapshot);
        world.settle();
        assert_eq!(
            is_move_blocked(&world.snapshot),
            is_kept_back,
            "it counts once: {home}"
        );
    }
}

#[test]
fn what_does_not_say_its_cluster_gets_the_label_of_its_owner() {
    let mut world = owned();
    let owner = world.snapshot.owner.get_or_insert_default();
    owner.cluster = Some("prod".to_owned());
    world.settle();
    let labels = world.snapshot.wta.metadata.labels.clone().unwrap_or_default();
    assert_eq!(
        labels.get(foreign_marks::CLUSTER_NAME).map(String::as_str),
        Some("prod")
    );
}

fn label_cluster(snapshot: &mut Snapshot) {
    let labels = snapshot.wta.metadata.labels.get_or_insert_default();
    labels.insert(foreign_marks::CLUSTER_NAME.to_owned(), "prod".to_owned());
}

/// A Workspace that another object of the same name left here, paused and made.
fn left_here() -> World {
    let mut world = living();
    pause(&mut world.snapshot);
    world.settle();
    let uid = "another".to_owned();
    let workspace = world.workspace_mut();
    workspace.labels.insert(marks::WTA_UID.to_owned(), uid);
    for (name, value) in [
        (marks::STATE_HOME, "secret/team/tfstate-team-vpc-capt"),
        (foreign_marks::EXTERNAL_CREATE_SUCCEEDED, "2026-01-02T03:04:05Z"),
    ] {
        workspace.annotations.insert(name.to_owned(), value.to_owned());
    }
    world.snapshot.kept = None;
    world.snapshot.wta.status = None;
    world.snapshot.state_secrets.clear();
    world.snapshot.cluster = None;
    let metadata = &mut world.snapshot.wta.metadata;
    metadata.annotations = None;
    world
}

#[test]
fn what_was_moved_away_is_taken_over_only_by_what_comes_back_with_it() {
    type Change = fn(&mut World);
    let mark: Change = |world| {
        let annotations = &mut world.workspace_mut().annotations;
        annotations.insert(marks::MOVED_AWAY.to_owned(), "true".to_owned());
    };
    let state: Change = |world| {
        world.snapshot.state_secrets = vec![StateSecretSeen {
            name: "tfstate-team-vpc-capt".to_owned(),
            ..StateSecretSeen::default()
        }];
    };
    let other_backend: Change = |world| {
        world.workspace_mut().annotations.remove(marks::STATE_HOME);
    };
    let other_namespace: Change = |world| {
        let home = "secret/default/tfstate-x-capt".to_owned();
        let annotations = &mut world.workspace_mut().annotations;
        annotations.insert(marks::STATE_HOME.to_owned(), home);
    };
    let alive: Change = |world| {
        let alive = living().workspace().spec.clone();
        world.workspace_mut().spec = alive;
    };
    let recorded: Change = |world| {
        let record = format!("tf.m.upbound.io/{}", world.workspace().name);
        annotate(&mut world.snapshot, marks::WORKSPACE, &record);
    };
    let consent: Change = |world| {
        let name = world.workspace().name.clone();
        annotate(&mut world.snapshot, marks::ADOPT_RETAINED, &name);
    };
    let cases: [(&str, &[Change], bool); 9] = [
        ("its state went too", &[], true),
        ("it is marked", &[mark], true),
        (
            "it is marked, and its state is elsewhere",
            &[mark, other_backend],
            true,
        ),
        ("its state is here", &[state], false),
        ("nobody knows where its state is", &[other_backend], false),
        ("its state was never here", &[other_namespace], false),
        ("somebody acts on it", &[alive], false),
        ("the object was moved back", &[mark, recorded], false),
        ("a person says so", &[mark, consent], false),
    ];
    for (case, changes, is_refused) in cases {
        let mut world = left_here();
        for change in changes {
            change(&mut world);
        }
        let before = world.workspace().clone();
        let decision = world.calm();
        let told = reason(&world.snapshot, &decision, "Applied");
        assert_eq!(told == "False/WorkspaceMovedAway", is_refused, "{case}: {told}");
        if is_refused {
            assert_eq!(*world.workspace(), before, "{case}");
            assert!(world.snapshot.workspaces.len() == 1, "{case}");
            let words = message(&decision);
            let is_offered = words.contains("kubectl delete workspaces.tf.m.upbound.io");
            let went_along = world.workspace().annotations.contains_key(marks::STATE_HOME);
            assert_eq!(is_offered, went_along, "{case}: {words}");
        } else {
            let annotations = &world.workspace().annotations;
            assert!(!annotations.contains_key(marks::MOVED_AWAY), "{case}");
        }
    }
}

#[test]
fn an_object_whose_namesake_was_moved_away_goes_and_leaves_it() {
    let mut world = left_here();
    world.calm();
    delete(&mut world.snapshot);
    annotate(&mut world.snapshot, marks::LET_GO, "true");
    let decision = world.calm();
    let told = reason(&world.snapshot, &decision, "Deleting");
    assert_eq!(told, "True/WorkspaceMovedAway", "its owner would make it again");
    assert!(message(&decision).contains("moved-away=true"));
    let annotations = &mut world.workspace_mut().annotations;
    annotations.insert(marks::MOVED_AWAY.to_owned(), "true".to_owned());
    let before = world.workspace().clone();
    world.calm();
    assert!(
        world
            .snapshot
            .wta
            .metadata
            .finalizers
            .as_deref()
            .unwrap_or_default()
            .is_empty()
    );
    assert_eq!(*world.workspace(), before);
}

#[test]
fn what_cannot_be_read_is_not_proved_to_rest() {
    let mut world = living();
    pause(&mut world.snapshot);
    world.snapshot.served.namespaced = Serving::Hidden;
    world.snapshot.workspaces.clear();
    let decision = world.calm();
    assert_eq!(reason(&world.snapshot, &decision, "Paused"), "True/Pausing");
    assert!(
        message(&decision).contains("cannot read"),
        "{}",
        message(&decision)
    );
    assert!(is_move_blocked(&world.snapshot));
}
