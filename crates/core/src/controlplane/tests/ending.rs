//! How a control plane goes.

use capt_api::{
    CAPTControlPlane,
    captcontrolplane::{
        AdditionalFargateProfile, ControlPlanePhase as Phase, ControlPlaneState as State, OperationResult,
    },
    marks,
};
use serde_json::json;

use super::{World, fresh, living, message, said, world::Terraform};
use crate::{
    controlplane::names_left,
    crds::{self, CrdObstacle},
    decision::Guard,
    owned::{Left, OwnedSeen, Role, TroubleClass, Wanted},
};

/// Another child of the control plane, whose Workspace is there.
pub(super) fn add_child(world: &mut World, name: &str, role: Role) {
    let owner = crate::owned::Owner {
        api_version: "controlplane.cluster.x-k8s.io/v1beta1",
        kind: "CAPTControlPlane",
        namespace: "team",
        name: "blue",
        uid: "cp-1",
        cluster: Some("blue"),
    };
    if let Role::FargateProfile(profile) = &role {
        let template = world.snapshot.control_plane.spec.workspace_template_ref.clone();
        let profile = AdditionalFargateProfile {
            name: profile.clone(),
            workspace_template_ref: template,
            ..AdditionalFargateProfile::default()
        };
        world.edit(|spec| {
            spec.additional_fargate_profiles
                .get_or_insert_default()
                .push(profile)
        });
    }
    let wanted = Wanted {
        name: name.to_owned(),
        role,
        template: world.snapshot.control_plane.spec.workspace_template_ref.clone(),
        revision: None,
        variables: std::collections::BTreeMap::new(),
        connection_secret: None,
        wait_for_secrets: Vec::new(),
        wait_for_workspaces: Vec::new(),
        retain: false,
        retry: None,
    };
    let desired = wanted.change(&owner, None).expect("it has to be made");
    assert_eq!(desired.guard, Guard::Absent);
    let decision = super::world::Decided {
        children: vec![desired],
        ..super::world::Decided::default()
    };
    world.carry_out(&decision, usize::MAX);
}

#[test]
fn consent_comes_before_deletion_and_nothing_is_left() {
    let mut world = living();
    world.delete();
    let first = world.step();
    assert!(first.removals.is_empty(), "the mark comes first");
    assert_eq!(world.apply().annotation(marks::LET_GO), Some("true"));
    assert_eq!(said(&world.status(), "Deleting"), "True/Deleting");
    assert!(message(&world.status(), "Deleting").contains("blue-eks-controlplane-apply"));
    assert_eq!(said(&world.status(), "Available"), "False/Deleting");
    assert!(!world.status().ready);
    let second = world.step();
    assert_eq!(second.removals.len(), 1);
    assert!(world.apply().is_deleting());
    assert!(!world.is_gone, "it waits for its infrastructure");
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.destroyed, ["blue-eks-controlplane-apply"]);
    assert!(world.snapshot.kubeconfig.is_none() && world.snapshot.ca.is_none());
}

#[test]
fn deletion_at_every_step_leaves_nothing_and_destroys_only_what_was_made() {
    for steps in 0..12 {
        for terraform in [
            Terraform::Works,
            Terraform::Hangs,
            Terraform::Fails(TroubleClass::Terminal),
        ] {
            let mut world = World::new(fresh());
            world.terraform = terraform;
            for _ in 0..steps {
                world.step();
                world.act();
            }
            let was_made = world.snapshot.applies.iter().any(OwnedSeen::has_workspace);
            let was_asked_for = !world.snapshot.applies.is_empty();
            world.delete();
            world.snapshot.cluster = None;
            world.settle();
            for (words, expected) in [
                ("The EKS cluster goes", was_made),
                ("No EKS cluster was made", was_asked_for && !was_made),
            ] {
                let is_told = world.events.iter().any(|event| event.contains(words));
                assert_eq!(is_told, expected, "{steps} {terraform:?}: {words}");
            }
            let is_held = world.snapshot.control_plane.metadata.finalizers.is_some();
            assert!(world.is_gone || !is_held, "{steps} {terraform:?}");
            assert!(world.snapshot.applies.is_empty());
            assert_eq!(
                world.destroyed.len(),
                usize::from(was_made),
                "{steps} {terraform:?}"
            );
        }
    }
}

#[test]
fn the_end_is_the_same_whichever_write_was_the_last_before_a_restart() {
    for limit in 0..3 {
        for round in 0..6 {
            let mut world = living();
            world.delete();
            for past in 0..6 {
                if world.is_gone {
                    break;
                }
                let decision = world.decide();
                let limit = if past == round { limit } else { usize::MAX };
                world.carry_out(&decision, limit);
                world.act();
            }
            world.settle();
            assert!(world.is_gone, "{limit} writes in round {round}");
            assert_eq!(world.destroyed, ["blue-eks-controlplane-apply"]);
        }
    }
}

#[test]
fn what_stands_on_the_cluster_goes_first_one_at_a_time() {
    let mut world = living();
    for name in ["a", "b"] {
        add_child(
            &mut world,
            &format!("blue-{name}-fargate-apply"),
            Role::FargateProfile(name.to_owned()),
        );
    }
    world.settle();
    assert!(
        world.snapshot.applies.iter().all(OwnedSeen::holds),
        "they took turns"
    );
    world.delete();
    for _ in 0..4 {
        world.step();
    }
    let eks = world.apply();
    assert_eq!(
        eks.annotation(marks::LET_GO),
        None,
        "not before the others are gone"
    );
    assert!(message(&world.status(), "Deleting").contains("blue-a-fargate-apply, blue-b-fargate-apply"));
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.destroyed.len(), 3);
    assert_eq!(world.destroyed[2], "blue-eks-controlplane-apply");
}

#[test]
fn progress_tells_of_the_deletion() {
    let mut world = living();
    world.delete();
    world.step();
    let progress = world.status().progress.expect("progress");
    assert_eq!(progress.current_operation.as_deref(), Some("Delete"));
    assert_eq!(world.status().state, Some(State::Deleting));
    assert_eq!(world.status().phase, Some(Phase::Deleting));
    assert!(
        world
            .events
            .iter()
            .any(|event| event.contains("Ready -> Deleting")),
        "{:?}",
        world.events
    );
}

/// That nobody can do anything but wait would be wrong, and so would be that it takes a while.
#[test]
fn a_destruction_that_failed_says_so_and_how_it_is_tried_again() {
    let eks = "blue-eks-controlplane-apply";
    let mut world = living();
    world.snapshot.statistics.delete = Some(std::time::Duration::from_secs(20));
    world.delete();
    world.step();
    let progress = world.status().progress.expect("progress");
    assert!(progress.estimated_time_remaining.is_some());
    world.fails_for = vec![eks.to_owned()];
    world.settle();
    let status = world.status();
    assert_eq!(said(&status, "Deleting"), "True/DeletionFailed");
    let told = message(&status, "Deleting");
    for words in ["pods are left", eks, "capt retry captcontrolplane/blue -n team"] {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(said(&status, "Failed"), "True/DeletionFailed");
    assert_eq!(status.failure_reason.as_deref(), Some("DeletionFailed"));
    assert_eq!(status.failure_message.as_ref(), Some(&told));
    assert_eq!(status.phase, Some(Phase::Deleting));
    let progress = status.progress.expect("progress");
    assert_eq!(
        (progress.current_operation, progress.estimated_time_remaining),
        (None, None)
    );
    let last = progress.history.expect("a history").pop().expect("a record");
    assert_eq!(
        (last.operation.as_str(), last.result),
        ("Delete", Some(OperationResult::Failed))
    );
    let warnings = world
        .events
        .iter()
        .filter(|event| event.starts_with("DeletionFailed"));
    assert_eq!(warnings.count(), 1, "{:?}", world.events);
    // Another try is passed down, and nothing is said of the one before until it is answered.
    world.fails_for.clear();
    world.annotate(marks::RETRY_REQUESTED, "1");
    world.settle();
    assert!(world.is_gone);
}

#[test]
fn somebody_elses_secrets_stay() {
    let mut world = living();
    let secret = world.snapshot.ca.as_mut().expect("a Secret");
    secret.controller = Some(("Other/x".to_owned(), "9".to_owned()));
    world.delete();
    world.settle();
    assert!(world.is_gone);
    assert!(world.snapshot.ca.is_some());
}

#[test]
fn what_was_never_taken_over_is_not_destroyed() {
    let mut world = living();
    let mut mine = world.apply().clone();
    mine.wta.metadata.labels = None;
    mine.wta.metadata.owner_references = None;
    mine.wta.metadata.annotations = None;
    let mut other = World::new(fresh());
    other.snapshot.control_plane.spec.workspace_template_apply_name = Some(mine.name().to_owned());
    other.snapshot.control_plane.metadata.finalizers =
        Some(vec![marks::CAPTCONTROLPLANE_FINALIZER.to_owned()]);
    other.snapshot.applies = vec![mine.clone()];
    other.delete();
    other.settle();
    assert!(other.is_gone);
    assert_eq!(other.snapshot.applies[0].wta.metadata, mine.wta.metadata);
    world.delete();
    world.settle();
    assert_eq!(world.destroyed.len(), 1, "what was made is");
}

/// A name that would be given may be something else's, so that only what was made can be left.
#[test]
fn only_what_was_made_can_be_left() {
    let row = |name: &str, phase: &str, hash: Option<&str>| {
        json!({
            "name": name, "phase": phase, "ready": false, "observedSelectorsHash": hash,
            "workspaceTemplateApplyName": format!("blue-{name}-fargate-apply"),
        })
    };
    let control_plane = |is_deleting: bool, eks: Option<&str>| -> CAPTControlPlane {
        serde_json::from_value(json!({
            "metadata": {
                "name": "blue", "namespace": "team",
                "deletionTimestamp": is_deleting.then_some("2026-01-01T00:00:00Z"),
            },
            "spec": {
                "version": "1.31", "workspaceTemplateRef": {"name": "eks"},
                "workspaceTemplateApplyName": eks,
                "additionalFargateProfiles": [
                    {"name": "kept", "selectors": [], "workspaceTemplateRef": {"name": "p"}},
                    {"name": "new", "selectors": [], "workspaceTemplateRef": {"name": "p"}},
                ],
            },
            "status": {"fargateProfileStatuses": [
                row("kept", "Ready", Some("1")),
                row("gone", "Ready", Some("1")),
                row("lacking", "Waiting", Some("1")),
                row("never", "Waiting", None),
            ]},
        }))
        .expect("a control plane")
    };
    let gone = ["blue-gone-fargate-apply", "blue-lacking-fargate-apply"];
    assert_eq!(names_left(&control_plane(false, Some("blue-eks")), &[]), gone);
    let all = ["blue-eks", gone[0], "blue-kept-fargate-apply", gone[1]];
    assert_eq!(names_left(&control_plane(true, Some("blue-eks")), &[]), all);
    assert_eq!(
        names_left(&control_plane(true, None), &[]),
        all[1..],
        "it never had a name"
    );
}

/// What two control planes name may be the other one's.
#[test]
fn what_another_one_names_too_is_not_asked_about() {
    for (rivals, is_gone) in [(vec![], false), (vec!["red".to_owned()], true)] {
        let mut world = living();
        let apply = world.apply().name().to_owned();
        world.snapshot.rivals = rivals;
        world.snapshot.applies.clear();
        world.snapshot.left = vec![Left {
            apply,
            ..Left::default()
        }];
        world.delete();
        world.calm();
        assert_eq!(world.is_gone, is_gone);
    }
}

#[test]
fn a_terminating_definition_gets_no_consent_and_is_asked_for_again() {
    let mut world = living();
    world.delete();
    let mut obstructed = World::new(world.snapshot.clone());
    obstructed.snapshot.crd_obstacle = Some(CrdObstacle::Terminating("x.example.com".to_owned()));
    let decision = obstructed.step();
    assert_eq!(said(&obstructed.status(), "Deleting"), "True/CRDTerminating");
    assert!(decision.children.is_empty() && decision.removals.is_empty());
    assert_eq!(decision.look_again, Some(crds::LOOK_AGAIN));
    world.step();
    assert_eq!(world.apply().annotation(marks::LET_GO), Some("true"));
}
