//! The proof of rest, and what `clusterctl move` finds.

use std::collections::BTreeMap;

use capt_api::{foreign::marks as foreign_marks, marks};
use serde_json::json;

use super::{
    super::{left_behind, snapshot::StateSecretSeen},
    *,
};

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
