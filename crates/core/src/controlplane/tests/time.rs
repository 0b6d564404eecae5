//! How long things may take.

use std::time::Duration;

use capt_api::{
    captcontrolplane::{CAPTControlPlaneSpec, ControlPlaneState as State},
    version::Version,
};
use serde_json::json;

use super::{World, at, fresh, living, message, said, world::Terraform};
use crate::decision::EventKind;

/// A world in which a step does not end, and what makes it end.
type Case = (&'static str, fn() -> World, &'static str, i64, fn(&mut World));

fn without_infrastructure() -> World {
    let mut world = World::new(fresh());
    world
        .snapshot
        .cluster
        .as_mut()
        .expect("a Cluster")
        .infrastructure_provisioned = false;
    let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
    infrastructure.provisioned = false;
    infrastructure.ready = false;
    // What it brings is not there either.
    world.snapshot.vpc_secret = None;
    world
}

fn hanging() -> World {
    let mut world = World::new(fresh());
    world.terraform = Terraform::Hangs;
    world
}

fn cases() -> Vec<Case> {
    vec![
        (
            "the infrastructure",
            without_infrastructure,
            "VPCReadyTimeout",
            15,
            |world| {
                let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
                infrastructure.provisioned = true;
                infrastructure.ready = true;
                infrastructure.ready_since = Some(at(world.clock));
                world.snapshot.vpc_secret = fresh().vpc_secret;
            },
        ),
        (
            "the control plane",
            || {
                let mut world = hanging();
                set(
                    &mut world.snapshot.control_plane.spec,
                    "workspaceReadyTimeout",
                    "3h",
                );
                world
            },
            "ControlPlaneTimeout",
            30,
            |world| world.terraform = Terraform::Works,
        ),
        (
            "the Workspace",
            || {
                let mut world = hanging();
                set(
                    &mut world.snapshot.control_plane.spec,
                    "controlPlaneTimeout",
                    "3h",
                );
                world
            },
            "WorkspaceReadyTimeout",
            30,
            |world| world.terraform = Terraform::Works,
        ),
        (
            "the Secret",
            || {
                let mut world = World::new(fresh());
                world.hidden_outputs.clear();
                world
            },
            "SecretTimeout",
            5,
            |world| {
                world
                    .hidden_outputs
                    .insert("kubeconfig".to_owned(), "clusters: []\nusers: []\n".to_owned());
            },
        ),
    ]
}

fn set(spec: &mut CAPTControlPlaneSpec, timeout: &str, value: &str) {
    let mut config = json!(spec.control_plane_config.clone().unwrap_or_default());
    config["timeouts"][timeout] = json!(value);
    spec.control_plane_config = Some(serde_json::from_value(config).expect("a config"));
}

#[test]
fn a_connection_secret_that_is_lost_is_named_and_has_its_time_to_come_back() {
    let mut world = living();
    let secret = world.snapshot.connection.take();
    let hidden = std::mem::take(&mut world.hidden_outputs);
    // Long ago it was set up for the first time.
    world.pass(600);
    let lost = world.decide().events;
    assert!(
        lost.iter()
            .any(|event| event.kind == EventKind::Warning && event.reason == "SecretError"),
        "somebody deleted it, and has to know: {lost:?}"
    );
    let before = world.status().progress.and_then(|progress| progress.history);
    world.settle();
    assert_eq!(world.status().state, Some(State::Degraded));
    assert_eq!(said(&world.status(), "Ready"), "True/SecretError");
    let told = message(&world.status(), "Ready");
    for words in ["blue-eks-connection", "capt retry captcontrolplane/blue -n team"] {
        assert!(told.contains(words), "{told}");
    }
    world.pass(5);
    world.settle();
    assert_eq!(world.status().state, Some(State::Degraded));
    assert_eq!(said(&world.status(), "Ready"), "True/SecretTimeout");
    // Another try is passed on although nothing else is the matter.
    world.annotate(capt_api::marks::RETRY_REQUESTED, "1");
    world.step();
    assert_eq!(
        world.apply().annotation(capt_api::marks::RETRY_REQUESTED),
        Some("1")
    );
    world.snapshot.connection = secret;
    world.hidden_outputs = hidden;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    let after = world.status().progress.and_then(|progress| progress.history);
    assert_eq!(after, before, "Terraform did nothing");
}

#[test]
fn every_step_times_out_at_its_limit_and_the_verdict_ends_when_the_fact_arrives() {
    for (name, world, reason, minutes, arrive) in cases() {
        let mut world = world();
        world.settle();
        let state = world.status().state;
        assert_ne!(state, Some(State::Failed), "{name}");
        let left = world.decide().look_again.expect("a time to look again");
        assert_eq!(left, Duration::from_secs(60 * minutes.unsigned_abs()), "{name}");
        world.clock += 60 * minutes - 1;
        world.settle();
        assert_eq!(world.status().state, state, "{name}: not yet");
        world.clock += 1;
        world.settle();
        assert_eq!(
            said(&world.status(), "Failed"),
            format!("True/{reason}"),
            "{name}"
        );
        assert!(world.decide().is_quiet(), "{name}");
        let told = message(&world.status(), "Failed");
        let doing = message(&world.status(), "Ready");
        assert!(told.contains("after ") && told.contains(": "), "{told}");
        assert_eq!(told, doing);
        let cause = match reason {
            "VPCReadyTimeout" => "Waiting for the CAPTCluster blue",
            "SecretTimeout" => "The connection Secret blue-eks-connection of the EKS cluster is not there",
            _ => "Terraform is at work",
        };
        assert!(told.contains(cause), "{name}: {told}");
        arrive(&mut world);
        world.settle();
        assert_eq!(world.status().state, Some(State::Ready), "{name}");
        assert_eq!(said(&world.status(), "Failed"), "False/NotFailed", "{name}");
    }
}

#[test]
fn paused_time_does_not_count() {
    for (name, world, reason, minutes, _) in cases() {
        let mut world = world();
        world.settle();
        world.clock += 60 * (minutes - 1);
        for _ in 0..2 {
            world.snapshot.cluster.as_mut().expect("a Cluster").paused = true;
            world.calm();
            world.pass(500);
            world.calm();
            world.snapshot.cluster.as_mut().expect("a Cluster").paused = false;
            world.settle();
            assert_ne!(world.status().state, Some(State::Failed), "{name}");
        }
        world.pass(1);
        world.settle();
        assert_eq!(
            said(&world.status(), "Failed"),
            format!("True/{reason}"),
            "{name}"
        );
    }
}

#[test]
fn a_retry_and_a_change_of_the_spec_start_the_clock_anew() {
    for by_retry in [true, false] {
        let mut world = hanging();
        world.settle();
        world.pass(31);
        world.settle();
        assert_eq!(world.status().state, Some(State::Failed));
        if by_retry {
            world.annotate(capt_api::marks::RETRY_REQUESTED, "1");
        } else {
            world.edit(|spec| spec.version = Version::from("1.32"));
        }
        world.settle();
        assert_eq!(
            world.status().state,
            Some(State::Provisioning),
            "by retry: {by_retry}"
        );
        world.pass(29);
        world.settle();
        assert_eq!(
            world.status().state,
            Some(State::Provisioning),
            "by retry: {by_retry}"
        );
        world.pass(1);
        world.settle();
        assert_eq!(world.status().state, Some(State::Failed), "by retry: {by_retry}");
    }
}

#[test]
fn an_update_that_takes_too_long_degrades_and_is_still_waited_for() {
    let mut world = living();
    world.edit(|spec| spec.version = Version::from("1.32"));
    world.terraform = Terraform::Hangs;
    world.settle();
    assert_eq!(world.decide().look_again, Some(Duration::from_secs(3600)));
    world.pass(60);
    world.settle();
    assert_eq!(world.status().state, Some(State::Degraded));
    assert_eq!(said(&world.status(), "Ready"), "True/UpdateTimeout");
    world.terraform = Terraform::Works;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
}

#[test]
fn each_step_of_an_upgrade_may_take_as_long_as_an_update() {
    let mut world = living();
    world.edit(|spec| spec.version = Version::from("1.35"));
    for version in ["1.31", "1.32", "1.33", "1.34"] {
        world.terraform = Terraform::Hangs;
        world.settle();
        assert_eq!(world.status().version.as_deref(), Some(version));
        assert_eq!(
            world.decide().look_again,
            Some(Duration::from_secs(3600)),
            "{version}"
        );
        world.pass(59);
        world.settle();
        assert_eq!(world.status().state, Some(State::Provisioning), "{version}");
        world.pass(1);
        world.settle();
        assert_eq!(said(&world.status(), "Ready"), "True/UpdateTimeout", "{version}");
        world.terraform = Terraform::Works;
        world.act();
        world.step();
        assert_ne!(
            said(&world.status(), "Ready"),
            "True/UpdateTimeout",
            "the verdict ends with the step, {version}"
        );
    }
    world.settle();
    assert_eq!(world.status().version.as_deref(), Some("1.35"));
    let progress = world.status().progress.expect("progress");
    let walked = progress.history.expect("records").pop().expect("a record");
    assert_eq!(
        (walked.operation.as_str(), walked.step_start_time),
        ("Update", None),
        "it is one operation, and over"
    );
}

#[test]
fn the_limits_are_the_specs_to_set() {
    let mut world = hanging();
    world.settle();
    world.pass(31);
    world.settle();
    assert_eq!(world.status().state, Some(State::Failed));
    world.edit(|spec| {
        set(spec, "controlPlaneTimeout", "45");
        set(spec, "workspaceReadyTimeout", "45m");
    });
    world.settle();
    assert_eq!(world.status().state, Some(State::Provisioning));
}
