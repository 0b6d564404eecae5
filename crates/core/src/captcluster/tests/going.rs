//! How a CAPTCluster goes.

use super::*;
use crate::{
    captcluster::{decide, name_left},
    crds::{self, CrdObstacle},
    owned::{Left, LeftWorkspace},
};

#[test]
fn deletion_waits_for_the_control_planes_and_says_which() {
    let mut world = ready();
    delete(&mut world.snapshot);
    world.snapshot.control_planes = vec![
        "CAPTControlPlane red".to_owned(),
        "CAPTControlPlane blue".to_owned(),
    ];
    world.rest();
    assert_eq!(world.verdict("Deleting"), "True/WaitingForControlPlane");
    let told = condition(&world.snapshot, &Decided::default(), "Deleting").message;
    assert!(
        told.contains("CAPTControlPlane blue, CAPTControlPlane red"),
        "{told}"
    );
    assert!(world.status().ready, "it serves them to their end");
    assert_eq!(world.verdict("Ready"), "True/VPCCreated");
    assert!(!world.apply().is_deleting());
}

#[test]
fn what_is_deleted_before_it_served_does_not_say_that_it_is_being_made() {
    let mut world = ready();
    let status = world.snapshot.captcluster.status.as_mut().expect("a status");
    status.ready = false;
    delete(&mut world.snapshot);
    world.snapshot.control_planes = vec!["CAPTControlPlane blue".to_owned()];
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/Deleting");
    let told = condition(&world.snapshot, &Decided::default(), "Ready").message;
    assert!(told.contains("CAPTControlPlane blue"), "{told}");
}

#[test]
fn consent_comes_before_deletion_and_the_end_after_the_workspace() {
    let mut world = ready();
    delete(&mut world.snapshot);
    let decision = world.step();
    let apply = written(&decision, "WorkspaceTemplateApply").expect("consent is written");
    assert_eq!(apply.fields["metadata"]["annotations"][marks::LET_GO], "true");
    assert!(decision.removals.is_empty());
    assert_eq!(world.verdict("Deleting"), "True/WaitingForWorkspace");
    assert!(!world.status().ready);
    let decision = world.step();
    assert_eq!(decision.removals[0].target.name, "net-vpc");
    assert!(decision.own.remove_finalizers.is_empty());
    world.rest();
    assert!(world.apply().is_deleting());
    world::say(world.apply(), "Deleting", "True", "Destroying", at(1));
    world.rest();
    let told = condition(&world.snapshot, &Decided::default(), "Deleting").message;
    assert!(told.contains("about Deleting"), "{told}");
    world.snapshot.applies.clear();
    let decision = world.step();
    assert_eq!(decision.own.remove_finalizers, [marks::CAPTCLUSTER_FINALIZER]);
    assert_eq!(
        decision.own.status, None,
        "nobody can write the status of what is gone"
    );
}

/// Somebody deleted the WorkspaceTemplateApply a moment before, and its Workspace outlived it.
fn outlived(retain: Option<bool>) -> World {
    let mut world = ready();
    world.snapshot.captcluster.spec.retain_vpc_on_delete = retain;
    world.rest();
    world.snapshot.applies.clear();
    delete(&mut world.snapshot);
    let name = name_left(&world.snapshot.captcluster, &[]);
    world.snapshot.left = name.map(|apply| Left {
        apply,
        workspaces: vec![LeftWorkspace {
            resource: "workspaces.tf.m.upbound.io".to_owned(),
            namespace: Some("team".to_owned()),
            name: "net-vpc".to_owned(),
            state: "ready".to_owned(),
        }],
    });
    assert!(world.snapshot.left.is_some());
    world
}

#[test]
fn a_workspace_that_outlived_its_apply_waits_for_a_word() {
    let mut world = outlived(None);
    world.rest();
    assert_eq!(world.verdict("Deleting"), "True/VPCDeletionFailed");
    let told = condition(&world.snapshot, &Decided::default(), "Deleting").message;
    for part in [
        "the WorkspaceTemplateApply net-vpc before",
        "workspaces.tf.m.upbound.io/net-vpc (ready)",
        "kubectl annotate captcluster net -n team infrastructure.cluster.x-k8s.io/let-go=net-vpc",
        "let-go=keep:net-vpc",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(world.status().failure_message.as_deref(), Some(told.as_str()));
    let decision = world.step();
    assert!(decision.children.is_empty() && decision.own.remove_finalizers.is_empty());
    assert!(
        decision.events.is_empty(),
        "it is told once: {:?}",
        decision.events
    );

    annotate(&mut world.snapshot, marks::LET_GO, "net-vpc");
    let decision = world.step();
    let made = written(&decision, "WorkspaceTemplateApply").expect("it is made again");
    assert_eq!(made.target.name, "net-vpc");
    assert_eq!(world.verdict("Deleting"), "True/WaitingForWorkspace");
    assert_eq!(world.status().failure_message, None);
    world.snapshot.left = None;
    world.rest();
    assert!(!world.apply().is_deleting(), "it holds nothing yet");
    world.apply().wta.metadata.finalizers = Some(vec![marks::WORKSPACETEMPLATEAPPLY_FINALIZER.to_owned()]);
    world.rest();
    assert!(world.apply().is_deleting());
    assert_eq!(world.apply().annotation(marks::LET_GO), Some("true"));
}

#[test]
fn a_workspace_that_outlived_its_apply_is_kept_where_somebody_wants_that() {
    for (retain, answer) in [
        (None, Some("false")),
        (Some(true), None),
        (Some(true), Some("false")),
    ] {
        let mut world = outlived(retain);
        if let Some(answer) = answer {
            annotate(&mut world.snapshot, marks::LET_GO, answer);
        }
        let decision = world.step();
        assert!(decision.children.is_empty());
        assert_eq!(decision.own.remove_finalizers, [marks::CAPTCLUSTER_FINALIZER]);
        let told = |event: &crate::decision::Event| event.message.contains("net-vpc");
        assert!(decision.events.iter().any(told), "{:?}", decision.events);
    }
}

/// A name that would be given may be something else's.
#[test]
fn only_what_was_made_can_be_left() {
    let mut world = ready();
    world.rest();
    let applies = std::mem::take(&mut world.snapshot.applies);
    let captcluster = &mut world.snapshot.captcluster;
    assert_eq!(name_left(captcluster, &[]), None, "it is made again");
    captcluster.metadata.deletion_timestamp = Some(Time(at(9)));
    assert_eq!(name_left(captcluster, &applies), None, "it is there");
    assert_eq!(name_left(captcluster, &[]).as_deref(), Some("net-vpc"));
    captcluster.status.as_mut().expect("a status").vpc_workspace_name = None;
    assert_eq!(name_left(captcluster, &[]), None);
}

#[test]
fn a_vpc_that_cannot_be_destroyed_is_a_failure_that_says_how_it_is_tried_again() {
    let mut world = ready();
    delete(&mut world.snapshot);
    world.rest();
    let apply = world.apply();
    assert!(apply.is_deleting());
    world::say(apply, "Deleting", "True", "Destroying", at(1));
    world::say(apply, "Synced", "False", "ReconcileError", at(1));
    apply.trouble = Some(crate::owned::Trouble {
        class: crate::owned::TroubleClass::Terminal,
        message: "a load balancer is left".to_owned(),
    });
    // What failed before the Workspace goes says nothing about its destruction.
    world.rest();
    assert_eq!(world.verdict("Deleting"), "True/WaitingForWorkspace");
    world.apply().workspace = Some(crate::owned::WorkspaceGlance {
        deleting: true,
        ..crate::owned::WorkspaceGlance::default()
    });
    let decision = world.step();
    assert_eq!(world.verdict("Deleting"), "True/VPCDeletionFailed");
    let told = condition(&world.snapshot, &Decided::default(), "Deleting").message;
    for words in ["a load balancer is left", "net-vpc", "capt retry captcluster/net"] {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(
        world.status().failure_reason.as_deref(),
        Some("VPCDeletionFailed")
    );
    assert_eq!(world.status().failure_message, Some(told));
    let events = decision.events.iter();
    assert!(
        events
            .filter(|event| event.kind == crate::decision::EventKind::Warning)
            .count()
            == 1,
        "{:?}",
        decision.events
    );
    world.apply().trouble = None;
    world::say(world.apply(), "Synced", "True", "ReconcileSuccess", at(2));
    world.rest();
    assert_eq!(world.verdict("Deleting"), "True/WaitingForWorkspace");
    assert_eq!(world.status().failure_reason, None);
}

/// The Go implementation leaves the WorkspaceTemplateApply to the garbage collector, which destroys what was to be kept.
#[test]
fn a_retained_vpc_is_kept_from_the_beginning_to_the_end() {
    let mut world = World::new(fresh());
    world.snapshot.captcluster.spec.retain_vpc_on_delete = Some(true);
    world.settle();
    // Whoever deletes the WorkspaceTemplateApply, and whenever: it says that its Workspace stays.
    assert_eq!(world.apply().wta.spec.retain_workspace_on_delete, Some(true));
    delete(&mut world.snapshot);
    world.rest();
    for decision in &world.history {
        for child in &decision.children {
            assert!(
                child.fields["metadata"]["annotations"]
                    .get(marks::LET_GO)
                    .is_none(),
                "no consent"
            );
        }
    }
    assert!(
        world.apply().is_deleting(),
        "it goes before the object does, not after it"
    );
    assert_eq!(world.apply().wta.spec.retain_workspace_on_delete, Some(true));
    assert_eq!(world.verdict("Deleting"), "True/VPCRetained");
    world.snapshot.applies.clear();
    assert_eq!(world.step().own.remove_finalizers, [marks::CAPTCLUSTER_FINALIZER]);
}

#[test]
fn retention_that_is_decided_late_counts_too() {
    let mut world = ready();
    world.snapshot.captcluster.spec.retain_vpc_on_delete = Some(true);
    delete(&mut world.snapshot);
    let decision = world.step();
    let apply = written(&decision, "WorkspaceTemplateApply").expect("it is written first");
    assert_eq!(apply.fields["spec"]["retainWorkspaceOnDelete"], true);
    assert!(decision.removals.is_empty());
}

#[test]
fn what_was_never_taken_over_is_not_ended() {
    let mut world = ready();
    let mut apply = world.apply().clone();
    apply.wta.metadata.labels = None;
    apply.wta.metadata.owner_references = None;
    let mut snapshot = held();
    snapshot.captcluster.spec.workspace_template_apply_name = Some("net-vpc".to_owned());
    snapshot.applies = vec![apply];
    delete(&mut snapshot);
    let decision = decide(&snapshot, at(1));
    assert!(decision.children.is_empty() && decision.removals.is_empty());
    assert_eq!(decision.own.remove_finalizers, [marks::CAPTCLUSTER_FINALIZER]);
}

#[test]
fn deletion_at_every_step_ends_with_nothing_left() {
    for steps in 0..6 {
        for is_real in [false, true] {
            let mut world = World::new(fresh());
            for _ in 0..steps {
                world.step();
            }
            if is_real && !world.snapshot.applies.is_empty() {
                world.make_real();
                world.step();
            }
            delete(&mut world.snapshot);
            let was_made = !world.snapshot.applies.is_empty();
            world.rest();
            if was_made {
                assert!(world.apply().is_deleting(), "after {steps} steps");
                assert_eq!(world.apply().annotation(marks::LET_GO), Some("true"));
                world.snapshot.applies.clear();
                world.rest();
            }
            let finalizers = world.snapshot.captcluster.metadata.finalizers.unwrap_or_default();
            assert!(finalizers.is_empty(), "after {steps} steps");
        }
    }
}

#[test]
fn what_lives_elsewhere_by_now_is_neither_shown_nor_told_as_destroyed() {
    let mut world = World::new(fresh());
    world.rest();
    // The Workspace of the same name and its Secret were left here when a Cluster was moved.
    world.snapshot.secrets = vec![secret("net-vpc-connection", "vpc-7")];
    let apply = world.apply();
    let generation = apply.wta.metadata.generation;
    apply.wta.status.get_or_insert_default().observed_generation = generation;
    world::say(apply, "Applied", "False", "WorkspaceMovedAway", at(0));
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/WorkspaceNotOurs");
    assert_eq!(world.status().vpc_id, None);
    delete(&mut world.snapshot);
    world.history.clear();
    world.rest();
    let events = world.history.iter().flat_map(|decision| &decision.events);
    let told: Vec<&str> = events.map(|event| event.message.as_str()).collect();
    assert!(!told.join(" ").contains("destroyed"), "{told:?}");
    let told = condition(&world.snapshot, &Decided::default(), "Deleting").message;
    assert!(told.contains("No VPC was made for it"), "{told}");

    // Where nobody saw the move, a person has to say so first.
    let apply = world.apply();
    apply.wta.metadata.deletion_timestamp = Some(Time(at(1)));
    world::say(apply, "Deleting", "True", "WorkspaceMovedAway", at(1));
    world.rest();
    assert_eq!(world.verdict("Deleting"), "True/VPCDeletionFailed");
    let told = condition(&world.snapshot, &Decided::default(), "Deleting").message;
    assert!(told.contains("about Deleting"), "{told}");
}

#[test]
fn a_terminating_definition_gets_no_consent_and_is_asked_for_again() {
    let mut world = ready();
    delete(&mut world.snapshot);
    let mut obstructed = world.snapshot.clone();
    obstructed.crd_obstacle = Some(CrdObstacle::Terminating("x.example.com".to_owned()));
    let decision = decide(&obstructed, at(1));
    assert_eq!(verdict(&obstructed, &decision, "Deleting"), "True/CRDTerminating");
    assert!(decision.children.is_empty() && decision.removals.is_empty());
    assert_eq!(decision.look_again, Some(crds::LOOK_AGAIN));
    assert!(written(&world.step(), "WorkspaceTemplateApply").is_some());
}
