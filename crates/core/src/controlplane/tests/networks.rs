//! A network that is there only in part, or that nobody makes: what is said, and what stays.

use std::time::Duration;

use capt_api::captcontrolplane::ControlPlaneState as State;
use serde_json::json;

use super::{super::snapshot::LeftAlone, World, fresh, living, message};

type Edit = fn(&mut World);

/// The CAPTCluster is not there, so that the region is known from elsewhere.
fn without_network(world: &mut World) {
    world.snapshot.infrastructure = None;
    let config = json!({"region": "eu-central-1"});
    world.snapshot.control_plane.spec.control_plane_config =
        Some(serde_json::from_value(config).expect("a config"));
}

#[test]
fn a_secret_that_somebody_else_has_to_make_is_named_with_its_keys() {
    let managed: Edit = |world| {
        let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
        infrastructure.left_alone = Some(LeftAlone::ExternallyManaged);
    };
    let of_another_kind: Edit = |world| {
        world.snapshot.infrastructure = None;
        let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
        cluster.infrastructure_ref = Some(("OtherCluster".to_owned(), "net".to_owned()));
        cluster.infrastructure_provisioned = true;
        let config = json!({"region": "eu-central-1"});
        world.snapshot.control_plane.spec.control_plane_config =
            Some(serde_json::from_value(config).expect("a config"));
    };
    for (change, name) in [
        (managed, "blue-vpc-connection"),
        (of_another_kind, "vpc-connection"),
    ] {
        let mut world = World::new(fresh());
        change(&mut world);
        world.snapshot.vpc_secret = None;
        world.calm();
        let told = message(&world.status(), "Ready");
        assert!(told.contains(&format!("the Secret {name},")), "{told}");
        assert!(
            told.ends_with("Make it, with the keys vpc_id and private_subnets"),
            "{told}"
        );
    }
}

#[test]
fn nobody_is_told_to_try_again_where_that_does_not_help() {
    let paused: Edit = |world| {
        let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
        infrastructure.left_alone = Some(LeftAlone::Paused);
    };
    let deleted: Edit = |world| {
        let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
        infrastructure.left_alone = Some(LeftAlone::Deleted);
    };
    let refused: Edit = |world| {
        world.snapshot.refused_vpc_secret = Some("blue-vpc-connection".to_owned());
    };
    for (change, way) in [
        (
            paused,
            "To end the pause: kubectl annotate captcluster blue -n team cluster.x-k8s.io/paused-",
        ),
        (
            deleted,
            "The CAPTCluster blue is being deleted, and does not write it any more",
        ),
        (
            refused,
            "Delete or rename that, or name another one in spec.connectionSecretName of the CAPTCluster blue",
        ),
        (
            without_network,
            "The CAPTCluster blue sees to it, and does not exist: make it",
        ),
    ] {
        let mut world = World::new(fresh());
        change(&mut world);
        world.snapshot.vpc_secret = None;
        world.calm();
        let told = message(&world.status(), "Ready");
        assert!(
            told.starts_with("Waiting for the Secret blue-vpc-connection,"),
            "{told}"
        );
        assert!(told.ends_with(way) && !told.contains("capt retry"), "{told}");
    }
}

#[test]
fn a_network_that_goes_is_not_waited_for_as_if_it_came() {
    let mut world = World::new(fresh());
    let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
    infrastructure.left_alone = Some(LeftAlone::Deleted);
    infrastructure.provisioned = false;
    infrastructure.message = "The WorkspaceTemplateApply blue-vpc makes the VPC".to_owned();
    let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
    cluster.infrastructure_provisioned = false;
    world.calm();
    let told = message(&world.status(), "Ready");
    assert!(told.contains("which is being deleted"), "{told}");
    assert!(!told.contains("makes the VPC"), "{told}");
}

/// The template could not find the subnets that it got before, and to go without any would make the cluster anew.
#[test]
fn subnets_that_are_named_no_more_are_kept_and_that_is_said() {
    let mut world = living();
    let before = world.variable("private_subnets").map(str::to_owned);
    assert!(before.is_some());
    for existed_before in [false, true] {
        let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
        infrastructure.existed_before = existed_before;
        let secret = world.snapshot.vpc_secret.as_mut().expect("a Secret");
        secret.data.remove("private_subnets");
        world.settle();
        assert_eq!(world.variable("private_subnets").map(str::to_owned), before);
        assert_eq!(world.status().state, Some(State::Ready));
        let told = message(&world.status(), "Ready");
        assert_eq!(
            told.contains("write them to its spec.existingSubnetIds again"),
            existed_before,
            "{told}"
        );
    }
    world.snapshot.vpc_secret = fresh().vpc_secret;
    world.settle();
    assert_eq!(message(&world.status(), "Ready"), "The control plane serves");
}

#[test]
fn nobody_promises_an_end_of_what_waits_for_somebody() {
    let made: Edit = |_| {};
    let managed: Edit = |world| {
        let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
        infrastructure.left_alone = Some(LeftAlone::ExternallyManaged);
    };
    let failed: Edit = |world| {
        let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
        infrastructure.waits_for_person = true;
    };
    let of_another: Edit = |world| {
        let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
        infrastructure.cluster = Some("green".to_owned());
    };
    let invalid: Edit = |world| world.snapshot.template = None;
    for (name, change, is_promised) in [
        ("it is made", made, true),
        ("somebody else manages it", managed, false),
        ("a person has to mend it", failed, false),
        ("it is another cluster's", of_another, false),
        ("it is not there", without_network, false),
        ("nor is the template", invalid, false),
    ] {
        let mut world = World::new(fresh());
        world.snapshot.statistics.create = Some(Duration::from_secs(600));
        let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
        cluster.infrastructure_provisioned = false;
        let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
        infrastructure.provisioned = false;
        world.snapshot.vpc_secret = None;
        let made = world.snapshot.clone();
        change(&mut world);
        world.calm();
        let progress = world.status().progress.expect("progress");
        assert_eq!(progress.current_operation.as_deref(), Some("Create"), "{name}");
        assert_eq!(progress.estimated_time_remaining.is_some(), is_promised, "{name}");
        world.snapshot.infrastructure = made.infrastructure;
        world.snapshot.template = made.template;
        world.calm();
        let progress = world.status().progress.expect("progress");
        assert_eq!(progress.percent_complete, Some(0), "{name}");
        assert!(progress.estimated_time_remaining.is_some(), "{name}: it goes on");
    }
}

/// Its status was emptied by somebody, and tells again in a moment.
#[test]
fn nothing_is_made_before_the_network_tells_what_is_to_be_waited_for() {
    let mut world = World::new(fresh());
    let network = world.snapshot.infrastructure.as_mut().expect("infrastructure");
    let told = network.vpc_workspace_name.take();
    assert!(told.is_some());
    world.calm();
    assert!(world.snapshot.applies.is_empty());
    let network = world.snapshot.infrastructure.as_mut().expect("infrastructure");
    network.vpc_workspace_name.clone_from(&told);
    world.calm();
    let awaited = world.apply().wta.spec.wait_for_workspaces.iter().flatten();
    assert_eq!(awaited.map(|one| one.name.clone()).next(), told);
    // One that nobody tells anything of has no such Workspace.
    let mut managed = World::new(fresh());
    let network = managed.snapshot.infrastructure.as_mut().expect("infrastructure");
    network.vpc_workspace_name = None;
    network.left_alone = Some(LeftAlone::ExternallyManaged);
    managed.calm();
    assert_eq!(managed.snapshot.applies.len(), 1);
}
