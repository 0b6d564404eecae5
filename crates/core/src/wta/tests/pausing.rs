//! Pauses, and plans that are made during one.

use capt_api::{
    conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason,
    foreign::marks as foreign_marks, marks, workspacetemplateapply::WorkspaceProgress,
};
use serde_json::json;

use super::{
    super::{
        candidate,
        snapshot::{ClusterSeen, KeptSeen, Problem},
    },
    *,
};

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
fn what_is_taken_back_during_a_pause_waits_for_nothing() {
    let mut world = living();
    annotate(&mut world.snapshot, foreign_marks::PAUSED, "");
    world.settle();
    let observed = |world: &World| {
        let status = world.snapshot.wta.status.as_ref();
        status.and_then(|status| status.observed_generation)
    };
    let first = observed(&world);
    world.snapshot.wta.metadata.generation = Some(7);
    world.snapshot.rendering = Ok(rendered("r2"));
    world.settle();
    assert_eq!(observed(&world), first, "a change waits");
    world.snapshot.wta.metadata.generation = Some(8);
    world.snapshot.rendering = Ok(rendered("r1"));
    world.settle();
    assert_eq!(observed(&world), Some(8));
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
