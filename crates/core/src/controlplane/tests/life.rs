//! From nothing to ready, and what may come between.

use capt_api::{
    captcontrolplane::{ControlPlanePhase as Phase, ControlPlaneState as State, OperationResult},
    endpoint::ApiEndpoint,
    marks,
};
use serde_json::json;

use super::{
    super::{
        Snapshot, decide, kubeconfig,
        snapshot::{ClusterSeen, Silence},
        wants,
    },
    World, at, fresh, living, message, said,
    world::Terraform,
};
use crate::{
    metadata,
    owned::{OwnedSeen, TroubleClass, WorkspaceGlance},
};

#[test]
fn a_control_plane_goes_from_nothing_to_ready_and_comes_to_rest() {
    let mut world = World::new(fresh());
    world.settle();
    let status = world.status();
    assert_eq!(status.state, Some(State::Ready));
    assert_eq!(status.phase, Some(Phase::Ready));
    assert!(status.ready && status.initialized);
    assert_eq!(
        status
            .initialization
            .as_ref()
            .and_then(|one| one.control_plane_initialized),
        Some(true)
    );
    assert_eq!(status.external_managed_control_plane, Some(true));
    assert_eq!(status.version.as_deref(), Some("1.31"));
    assert_eq!(status.endpoint.as_deref(), Some("10.0.0.1:6443"));
    for (type_, expected) in [
        ("Available", "True/Available"),
        ("Ready", "True/Ready"),
        ("Initialized", "True/Initialized"),
        ("Creating", "False/Ready"),
        ("Failed", "False/NotFailed"),
        ("RollingOut", "False/NotRollingOut"),
        ("EndpointAnswers", "True/EndpointReady"),
        ("KubeconfigReady", "True/KubeconfigGenerated"),
        ("Paused", "False/NotPaused"),
        ("Deleting", "False/NotDeleting"),
    ] {
        assert_eq!(said(&status, type_), expected, "{type_}");
    }
    let spec = &world.snapshot.control_plane.spec;
    assert_eq!(
        spec.workspace_template_apply_name.as_deref(),
        Some("blue-eks-controlplane-apply")
    );
    assert_eq!(
        spec.control_plane_endpoint,
        Some(ApiEndpoint {
            host: "10.0.0.1".to_owned(),
            port: 6443
        })
    );
    let apply = &world.apply().wta.spec;
    assert_eq!(world.variable("vpc_id"), Some("vpc-1"));
    assert_eq!(apply.template_revision.as_deref(), Some("t1"));
    let secret = apply.write_connection_secret_to_ref.as_ref();
    assert_eq!(
        secret.map(|secret| secret.name.as_str()),
        Some("blue-eks-connection")
    );
    let awaited = apply.wait_for_workspaces.as_deref().unwrap_or_default();
    assert_eq!(awaited[0].name, "blue-vpc", "so that the network goes after it");
    let kubeconfig = world.snapshot.kubeconfig.as_ref().expect("a kubeconfig");
    assert_eq!(
        kubeconfig.text(kubeconfig::VALUE),
        Some("clusters: []\nusers: []\n")
    );
    let progress = status.progress.expect("progress");
    assert_eq!(
        (progress.current_operation, progress.percent_complete),
        (None, Some(100))
    );
    let record = &progress.history.expect("a record")[0];
    assert_eq!(
        (record.operation.as_str(), record.result),
        ("Create", Some(OperationResult::Succeeded))
    );
    let decision = world.decide();
    assert!(decision.is_quiet(), "{decision:#?}");
    assert_eq!(decision.look_again, None, "a steady cluster costs nothing");
}

/// Somebody empties the status of the network before the Workspace is made, after which nothing is added any more.
#[test]
fn a_network_that_says_nothing_for_a_moment_still_goes_after_its_control_plane() {
    let mut world = World::new(fresh());
    world.calm();
    assert!(!world.apply().has_workspace());
    let infrastructure = world.snapshot.infrastructure.as_mut().expect("a network");
    infrastructure.vpc_workspace_name = None;
    world.settle();
    let awaited = world.apply().wta.spec.wait_for_workspaces.clone();
    assert_eq!(awaited.unwrap_or_default()[0].name, "blue-vpc");
}

/// Somebody deletes the network before the Workspace is made, and makes it again with a VPC that exists.
#[test]
fn what_made_a_network_that_is_gone_is_waited_for_no_more() {
    let replace = |world: &mut World| {
        let infrastructure = world.snapshot.infrastructure.as_mut().expect("a network");
        infrastructure.vpc_workspace_name = None;
        infrastructure.existed_before = true;
    };
    let mut world = World::new(fresh());
    world.calm();
    assert!(world.apply().wta.spec.wait_for_workspaces.is_some());
    replace(&mut world);
    world.calm();
    let awaited = world.apply().wta.spec.wait_for_workspaces.clone();
    assert_eq!(awaited.unwrap_or_default(), []);
    assert!(world.apply().wta.spec.wait_for_secrets.is_some());
    // What is made keeps what it waited for: nothing is written for what does not matter any more.
    let mut world = living();
    replace(&mut world);
    assert!(world.decide().children.is_empty());
}

#[test]
fn every_state_on_the_way_is_told() {
    let mut world = World::new(fresh());
    let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
    cluster.infrastructure_provisioned = false;
    let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
    infrastructure.provisioned = false;
    infrastructure.ready = false;
    world.calm();
    assert_eq!(world.status().state, Some(State::Pending));
    assert_eq!(said(&world.status(), "Ready"), "False/WaitingForVPC");
    assert!(world.snapshot.applies.is_empty());
    world
        .snapshot
        .infrastructure
        .as_mut()
        .expect("infrastructure")
        .provisioned = true;
    world
        .snapshot
        .infrastructure
        .as_mut()
        .expect("infrastructure")
        .ready = true;
    world.terraform = Terraform::Hangs;
    world.settle();
    assert_eq!(world.status().state, Some(State::Provisioning));
    assert_eq!(
        world
            .status()
            .progress
            .and_then(|progress| progress.percent_complete),
        Some(47)
    );
    world.terraform = Terraform::Works;
    world.answers = false;
    world.settle();
    assert_eq!(world.status().state, Some(State::Configuring));
    assert_eq!(world.status().phase, Some(Phase::Creating));
    assert!(!world.status().ready, "never before it answers");
    let told = message(&world.status(), "Ready");
    assert!(told.contains("refused. If it cannot be reached from here, write spec.endpointCheck: Optional"));
    // Who answers and is somebody else can be reached, and is no case for that.
    let mut mistaken = world.clone();
    let probe = mistaken.snapshot.probe.as_mut().unwrap();
    let why = "this certificate authority did not sign its certificate";
    probe.silence = Some((probe.seen_at, Silence::Stranger(why.to_owned())));
    mistaken.step();
    let told = message(&mistaken.status(), "Ready");
    assert!(
        told.contains(why) && told.contains("cluster_certificate_authority_data"),
        "{told}"
    );
    assert!(!told.contains("Optional"), "{told}");
    world.answers = true;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    let ways: Vec<&str> = world
        .events
        .iter()
        .filter_map(|event| event.split_once(": ")?.1.split_once(": "))
        .map(|(way, _)| way)
        .filter(|way| way.contains("->"))
        .collect();
    assert_eq!(
        ways,
        [
            "Pending -> Validating (the infrastructure is ready) -> Provisioning",
            "Provisioning -> Configuring",
            "Configuring -> Ready",
        ]
    );
}

#[test]
fn nothing_is_made_before_a_cluster_owns_it_and_before_it_is_held() {
    let mut world = World::new(fresh());
    let owners = world.snapshot.control_plane.metadata.owner_references.take();
    world.calm();
    assert_eq!(world.status().state, Some(State::Pending));
    assert_eq!(said(&world.status(), "Ready"), "False/WaitingForCluster");
    assert!(world.snapshot.applies.is_empty());
    let mut unheld = World::new(fresh());
    let first = unheld.step();
    assert!(
        first.children.is_empty() && first.own.status.is_none(),
        "{first:#?}"
    );
    assert_eq!(first.own.add_finalizers, [marks::CAPTCONTROLPLANE_FINALIZER]);
    world.snapshot.control_plane.metadata.owner_references = owners;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    // An owner reference that is stripped later changes nothing.
    world.snapshot.control_plane.metadata.owner_references = None;
    assert!(world.decide().is_quiet());
    world.snapshot.cluster = None;
    world.calm();
    assert_eq!(
        world.status().state,
        Some(State::Ready),
        "it still is what it was"
    );
}

#[test]
fn a_cluster_of_another_name_gives_its_name_to_what_others_see() {
    let mut world = World::new(fresh());
    world.snapshot.control_plane.metadata.name = Some("blue-x7k2p".to_owned());
    let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
    cluster.control_plane_ref = Some("blue-x7k2p".to_owned());
    world.settle();
    assert_eq!(world.variable("cluster_name"), Some("blue"));
    assert_eq!(world.apply().name(), "blue-x7k2p-eks-controlplane-apply");
    assert!(
        world.snapshot.kubeconfig.is_some(),
        "blue-kubeconfig, by the contract"
    );
}

#[test]
fn the_end_is_the_same_whichever_write_was_the_last_before_a_restart() {
    let expected = living();
    for limit in 0..4 {
        for round in 0..8 {
            let mut world = World::new(fresh());
            for past in 0..8 {
                let decision = world.decide();
                let limit = if past == round { limit } else { usize::MAX };
                world.carry_out(&decision, limit);
                world.act();
            }
            world.settle();
            let (found, wanted) = (world.status(), expected.status());
            assert_eq!(found.state, wanted.state, "{limit} writes in round {round}");
            assert_eq!(found.endpoint, wanted.endpoint);
            assert_eq!(world.snapshot.applies.len(), 1);
            assert_eq!(world.snapshot.kubeconfig, expected.snapshot.kubeconfig);
            assert_eq!(
                world.snapshot.control_plane.spec,
                expected.snapshot.control_plane.spec
            );
        }
    }
}

/// The hands may leave the first status to a later decision.
#[test]
fn what_was_made_is_told_with_the_first_status_whenever_that_is_written() {
    for postponed in 0..3 {
        let mut world = World::new(fresh());
        world.step();
        for _ in 0..postponed {
            let mut decision = world.decide();
            decision.own.status = None;
            world.carry_out(&decision, usize::MAX);
        }
        world.settle();
        let made = "The WorkspaceTemplateApply blue-eks-controlplane-apply is made";
        let told = world.events.iter().filter(|event| event.contains(made));
        assert_eq!(told.count(), 1, "{postponed}: {:?}", world.events);
    }
}

#[test]
fn a_pause_stops_everything_at_every_step_and_nothing_is_lost() {
    for steps in 0..10 {
        for by_cluster in [false, true] {
            let mut world = World::new(fresh());
            for _ in 0..steps {
                world.step();
                world.act();
            }
            let before = world.status();
            pause(&mut world, by_cluster, true);
            let decision = world.step();
            assert!(decision.children.is_empty() && decision.removals.is_empty());
            assert!(decision.own.annotations.is_empty() && decision.own.spec.is_empty());
            assert_eq!(said(&world.status(), "Paused"), "True/Paused");
            assert_eq!(world.status().state, before.state, "frozen");
            world.delete();
            let decision = world.step();
            assert!(decision.children.is_empty() && decision.removals.is_empty());
            assert!(
                decision.own.remove_finalizers.is_empty(),
                "paused comes before deletion"
            );
            if metadata::has_finalizer(
                &world.snapshot.control_plane.metadata,
                marks::CAPTCONTROLPLANE_FINALIZER,
            ) {
                assert_eq!(said(&world.status(), "Deleting"), "True/Paused");
                let told = message(&world.status(), "Deleting");
                let has_workspace = world.snapshot.applies.iter().any(OwnedSeen::has_workspace);
                assert_eq!(
                    told.contains(
                        "destroys what these WorkspaceTemplateApplies made, in this order: blue-eks"
                    ),
                    has_workspace,
                    "{told}"
                );
            }
            assert!(world.decide().is_quiet(), "it is said once");
            world.snapshot.control_plane.metadata.deletion_timestamp = None;
            pause(&mut world, by_cluster, false);
            world.settle();
            assert_eq!(world.status().state, Some(State::Ready), "after {steps} steps");
        }
    }
}

fn pause(world: &mut World, by_cluster: bool, on: bool) {
    if by_cluster {
        world.snapshot.cluster.as_mut().expect("a Cluster").paused = on;
    } else if on {
        world.annotate("cluster.x-k8s.io/paused", "");
    } else {
        world.snapshot.control_plane.metadata.annotations = world
            .snapshot
            .control_plane
            .metadata
            .annotations
            .take()
            .map(|mut annotations| {
                annotations.remove("cluster.x-k8s.io/paused");
                annotations
            });
    }
}

#[test]
fn what_passes_by_itself_keeps_the_state_and_what_does_not_fails() {
    let mut world = World::new(fresh());
    world.terraform = Terraform::Fails(TroubleClass::Transient);
    world.settle();
    assert_eq!(world.status().state, Some(State::Provisioning));
    assert_eq!(said(&world.status(), "Ready"), "False/Retrying");
    assert!(message(&world.status(), "Ready").contains("no subnets"));
    world.terraform = Terraform::Fails(TroubleClass::Terminal);
    world.settle();
    let status = world.status();
    assert_eq!(
        (status.state, status.phase),
        (Some(State::Failed), Some(Phase::Failed))
    );
    assert_eq!(status.failure_reason.as_deref(), Some("WorkspaceError"));
    let words = status.failure_message.expect("what to do");
    assert!(
        words.contains("no subnets")
            && words.contains(": capt retry captcontrolplane/")
            && words.contains(" -n "),
        "{words}"
    );
    assert_eq!(said(&world.status(), "Failed"), "True/WorkspaceError");
    let history = world.status().progress.and_then(|progress| progress.history);
    let last = history
        .and_then(|history| history.last().cloned())
        .expect("a record");
    assert_eq!(last.result, Some(OperationResult::Failed));
    assert!(world.decide().is_quiet(), "no endless retry");
    // It recovers by itself, or by somebody's help that is not ours to know.
    world.terraform = Terraform::Works;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(world.status().failure_reason, None);
}

#[test]
fn a_request_for_another_try_is_passed_on_once() {
    let mut world = World::new(fresh());
    world.terraform = Terraform::Fails(TroubleClass::Terminal);
    world.settle();
    world.annotate(marks::RETRY_REQUESTED, "7");
    world.step();
    assert_eq!(world.apply().annotation(marks::RETRY_REQUESTED), Some("7"));
    assert_eq!(
        world.status().state,
        Some(State::Provisioning),
        "it is told at once"
    );
    let annotations = world
        .snapshot
        .control_plane
        .metadata
        .annotations
        .clone()
        .unwrap_or_default();
    assert!(!annotations.contains_key(marks::RETRY_REQUESTED));
    world.terraform = Terraform::Works;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(
        world.apply().annotation(marks::RETRY_REQUESTED),
        Some("7"),
        "a request stays"
    );
}

#[test]
fn another_try_of_what_is_under_way_cancels_nothing() {
    let mut world = World::new(fresh());
    world.terraform = Terraform::Hangs;
    world.settle();
    world.annotate(marks::RETRY_REQUESTED, "1");
    world.pass(1);
    world.settle();
    let history = world.status().progress.and_then(|progress| progress.history);
    let results: Vec<_> = history.iter().flatten().map(|record| record.result).collect();
    assert_eq!(results, [None], "{history:?}");
    assert_eq!(world.status().state, Some(State::Provisioning));
}

#[test]
fn a_request_for_another_try_reaches_what_does_not_hand_its_outputs_out() {
    for is_emptied in [true, false] {
        let mut world = World::new(fresh());
        world.settle();
        assert_eq!(world.status().state, Some(State::Ready));
        // What is well is left alone.
        world.annotate(marks::RETRY_REQUESTED, "1");
        world.step();
        assert_eq!(world.apply().annotation(marks::RETRY_REQUESTED), None);
        let known = std::mem::take(&mut world.hidden_outputs);
        match (is_emptied, world.snapshot.connection.as_mut()) {
            (true, Some(secret)) => secret.data.clear(),
            _ => world.snapshot.connection = None,
        }
        world.step();
        world.annotate(marks::RETRY_REQUESTED, "2");
        world.step();
        assert_eq!(
            world.apply().annotation(marks::RETRY_REQUESTED),
            Some("2"),
            "emptied: {is_emptied}"
        );
        let annotations = world.snapshot.control_plane.metadata.annotations.clone();
        assert!(
            !annotations
                .unwrap_or_default()
                .contains_key(marks::RETRY_REQUESTED)
        );
        world.hidden_outputs = known;
        world.settle();
        assert_eq!(world.status().state, Some(State::Ready));
    }
}

#[test]
fn the_turn_is_given_before_it_is_used_and_kept_when_nobody_else_needs_it() {
    let mut world = World::new(fresh());
    let decision = world.step();
    let turn = decision.own.annotations.get(marks::TURN).cloned().flatten();
    assert_eq!(turn.as_deref(), Some("blue-eks-controlplane-apply"));
    assert!(decision.own.only_if_unchanged);
    let decision = world.step();
    assert_eq!(decision.children[0].target.name, "blue-eks-controlplane-apply");
    assert!(decision.own.annotations.is_empty(), "one write is enough");
    world.settle();
    let annotations = world
        .snapshot
        .control_plane
        .metadata
        .annotations
        .clone()
        .unwrap_or_default();
    assert_eq!(annotations.get(marks::TURN), turn.as_ref());
}

#[test]
fn what_is_stripped_comes_back_and_nothing_is_rolled_out_for_it() {
    let mut world = living();
    world.snapshot.control_plane.metadata.finalizers = None;
    world.apply_mut().wta.metadata.owner_references = None;
    world.apply_mut().wta.metadata.labels = None;
    world.snapshot.kubeconfig = None;
    let mut states = Vec::new();
    for _ in 0..4 {
        world.step();
        states.push(world.status().state);
    }
    assert_eq!(states, [Some(State::Ready); 4]);
    let finalizers = world.snapshot.control_plane.metadata.finalizers.clone();
    assert_eq!(
        finalizers,
        Some(vec![marks::CAPTCONTROLPLANE_FINALIZER.to_owned()])
    );
    assert_eq!(world.apply().label(marks::OWNER), Some("CAPTControlPlane.blue"));
    assert_eq!(
        world.apply().wta.metadata.owner_references.as_ref().map(Vec::len),
        Some(1)
    );
    assert!(world.snapshot.kubeconfig.is_some());
}

#[test]
fn one_that_somebody_deleted_is_made_again_around_its_workspace() {
    let mut world = living();
    world.apply_mut().wta.metadata.deletion_timestamp =
        Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(9)));
    world.calm();
    assert_eq!(world.status().state, Some(State::Degraded));
    assert!(world.status().ready, "it serves all the while");
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(world.snapshot.applies.len(), 1);
    assert!(world.destroyed.is_empty());
}

#[test]
fn that_somebody_deleted_its_workspace_is_told_as_that() {
    let mut world = living();
    let created = at(world.clock + 60);
    let seen = world.apply_mut();
    seen.workspace = Some(WorkspaceGlance {
        created_at: Some(created),
        ..seen.workspace.clone().unwrap_or_default()
    });
    let conditions = seen
        .wta
        .status
        .as_mut()
        .and_then(|status| status.conditions.as_mut());
    let is_kept = |type_: &str| type_ != "Ready" && type_ != "Synced";
    conditions.unwrap().retain(|one| is_kept(&one.type_));
    world.step();
    assert_eq!(world.status().state, Some(State::Degraded));
    let told = message(&world.status(), "Ready");
    assert!(told.contains("was deleted, or its status was emptied"), "{told}");
    assert!(!told.contains("capt retry"), "it is looked at by itself: {told}");
}

#[test]
fn after_a_move_everything_is_found_again_and_nothing_is_written_twice() {
    let mut world = living();
    let apply = world.apply().wta.spec.clone();
    // Status does not move, and uids are new.
    world.snapshot.control_plane.status = None;
    world.apply_mut().wta.status = None;
    world.snapshot.probe = None;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert!(world.status().initialized);
    assert_eq!(world.apply().wta.spec, apply);
}

#[test]
fn what_was_moved_away_is_left_alone() {
    let mut world = living();
    world.annotate("clusterctl.cluster.x-k8s.io/delete-for-move", "");
    world.delete();
    assert_eq!(
        decide(&world.snapshot, at(0)),
        crate::decision::Decision::default()
    );
}

#[test]
fn nothing_is_asked_of_the_world_before_there_is_something_to_ask() {
    let empty: Snapshot = fresh();
    assert_eq!(wants(&empty, at(0)), super::super::Wants::default());
    let world = living();
    let wishes = wants(&world.snapshot, at(0));
    let probe = wishes.probe.expect("a probe");
    assert_eq!(probe.endpoint.host, "10.0.0.1");
    assert_eq!(probe.ca.as_deref(), Some(super::CA));
    assert_eq!(wishes.token, None, "no token outside of EKS");
    let mut deleting = world;
    deleting.delete();
    assert_eq!(wants(&deleting.snapshot, at(0)), super::super::Wants::default());
}

#[test]
fn infrastructure_that_is_somebody_elses_needs_a_region_and_nothing_more() {
    let mut world = World::new(fresh());
    world.snapshot.infrastructure = None;
    world.snapshot.cluster = Some(ClusterSeen {
        infrastructure_provisioned: true,
        ..world.snapshot.cluster.clone().expect("a Cluster")
    });
    world.settle();
    assert_eq!(said(&world.status(), "Failed"), "True/InvalidSpec");
    assert!(message(&world.status(), "Failed").contains("spec.controlPlaneConfig.region"));
    world.edit(|spec| {
        let config = json!({"region": "us-gov-west-1"});
        spec.control_plane_config = Some(serde_json::from_value(config).expect("a config"));
    });
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(world.variable("region"), Some("us-gov-west-1"));
}

#[test]
fn a_status_speaks_about_the_generation_that_its_own_write_makes() {
    let mut world = World::new(fresh());
    let mut writes = 0;
    for _ in 0..12 {
        let decision = world.step();
        writes += usize::from(decision.own.status.is_some());
        if decision.own.status.is_some() {
            assert!(world.decide().is_quiet(), "nothing is written twice");
        }
        world.act();
    }
    let generation = world.snapshot.control_plane.metadata.generation;
    assert_eq!(world.status().observed_generation, generation);
    assert_eq!(world.status().state, Some(State::Ready));
    assert!(writes <= 5, "{writes} statuses to get ready");
}

#[test]
fn a_paused_cluster_that_refers_to_it_is_named_before_it_owns_it() {
    let mut world = World::new(fresh());
    world.snapshot.control_plane.metadata.owner_references = None;
    world.snapshot.cluster = None;
    world.snapshot.paused_by = Some("blue".to_owned());
    let decision = world.step();
    assert!(decision.children.is_empty() && decision.own.add_finalizers.is_empty());
    assert_eq!(said(&world.status(), "Paused"), "True/Paused");
    let told = message(&world.status(), "Paused");
    assert!(
        told.contains("the Cluster blue, which refers to this object"),
        "{told}"
    );
    world.snapshot.paused_by = None;
    world.calm();
    assert_eq!(said(&world.status(), "Paused"), "False/NotPaused");
}
