//! Pauses, deletions and crashes of control planes, at every step.

use std::time::Duration;

use capt_api::{CAPTControlPlane, captcontrolplane::ControlPlaneState as State};
use capt_testkit::{Fault, Sweep, World};
use serde_json::json;

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, start_witness},
    network::NetworkUser as _,
    runner::Obstacle,
    stage::{CAPT, Setting, Stage, User as _, start_controllers, start_runner},
};

const APPLY: &str = "blue-eks-controlplane-apply";
const LONG: Duration = Duration::from_secs(2 * 3600);

/// Brings a control plane to a state.
async fn brought_to(state: State) -> Stage {
    let stage = Stage::embedded().await;
    start_witness(&stage);
    match state {
        State::Validating => {
            let mut plane = control_plane("blue");
            plane["spec"]["workspaceTemplateRef"] = json!({"name": "none"});
            stage.make_whole_cluster("blue", plane).await;
        }
        State::Provisioning => {
            stage.ledger.obstruct(Some(Obstacle::Slowness));
            stage.make_whole_cluster("blue", control_plane("blue")).await;
        }
        State::Configuring => {
            stage.elsewhere.silence(Some("not yet"));
            stage.make_whole_cluster("blue", control_plane("blue")).await;
        }
        State::Failed => {
            stage
                .ledger
                .obstruct(Some(Obstacle::Trouble("Error: AccessDenied")));
            stage.make_whole_cluster("blue", control_plane("blue")).await;
        }
        State::Degraded => {
            stage.make_whole_cluster("blue", control_plane("blue")).await;
            stage.until_state("blue", State::Ready).await;
            stage
                .ledger
                .obstruct(Some(Obstacle::TroubleWithNews("Error: AccessDenied")));
            let _: CAPTControlPlane = stage.patch("blue", json!({"spec": {"version": "1.32"}})).await;
        }
        _ => stage.make_whole_cluster("blue", control_plane("blue")).await,
    }
    stage.until_state("blue", state).await;
    stage
}

const STATES: [State; 6] = [
    State::Validating,
    State::Provisioning,
    State::Configuring,
    State::Failed,
    State::Ready,
    State::Degraded,
];

#[tokio::test]
async fn deletion_works_at_every_step_and_leaves_nothing() {
    for state in STATES {
        let stage = brought_to(state).await;
        stage.delete_cluster("blue").await;
        stage.settle().await;
        // Terraform destroys what it half made, too.
        stage.ledger.obstruct(None);
        stage.until_cluster_is_gone("blue").await;
        assert!(stage.plane("blue").await.is_none(), "{state:?}");
        assert!(stage.apply(APPLY).await.is_none(), "{state:?}");
        assert!(stage.secret("blue-kubeconfig").await.is_none(), "{state:?}");
        assert!(stage.ledger.exists().is_empty(), "{state:?}");
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn a_pause_at_any_step_stops_everything_also_deletion() {
    for state in STATES {
        let stage = brought_to(state).await;
        stage.pause("blue", true).await;
        stage.until_plane_says("blue", "Paused", "True/Paused").await;
        stage.settle().await;
        let exists = stage.ledger.exists();
        stage.ledger.obstruct(None);
        stage.elsewhere.silence(None);
        let _: CAPTControlPlane = stage.patch("blue", json!({"spec": {"version": "1.32"}})).await;
        stage.delete_plane("blue").await;
        stage.advance(LONG).await;
        assert!(stage.plane("blue").await.is_some(), "{state:?}");
        assert_eq!(stage.status("blue").await.state, Some(state), "it is frozen");
        assert_eq!(stage.ledger.exists(), exists, "{state:?}");
        assert!(stage.ledger.destroyed().is_empty(), "{state:?}");
        stage.pause("blue", false).await;
        stage.until_plane_is_gone("blue").await;
        assert!(stage.ledger.exists().is_empty(), "{state:?}");
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn a_restart_at_any_step_changes_nothing() {
    for state in STATES {
        let stage = brought_to(state).await;
        stage.settle().await;
        let before = stage.status("blue").await;
        let mark = stage.recorder().mark();
        stage.crash(CAPT);
        stage.settle().await;
        let writes = stage.recorder().writes_since(mark);
        assert!(
            writes.iter().all(|entry| entry.call.resource == "events"),
            "{state:?}: {writes:?}"
        );
        assert_eq!(stage.status("blue").await, before, "{state:?}");
        stage.world.finish().await;
    }
}

/// Longer than the first tries of whatever fails.
const QUIET: Duration = Duration::from_secs(60);

/// Made, updated, gone.
async fn a_whole_life(world: &World) {
    start_controllers(world, &Setting::default());
    let ledger = start_runner(world);
    world.make_whole_cluster("blue", control_plane("blue")).await;
    world.until_state("blue", State::Ready).await;
    world.settle().await;
    let newer = json!({"spec": {"version": "1.33"}});
    let _: CAPTControlPlane = world.patch("blue", newer).await;
    world
        .until("the version", async || {
            ledger.versions().last().is_some_and(|last| last == "1.33")
        })
        .await;
    world.until_state("blue", State::Ready).await;
    world.settle().await;
    assert_eq!(ledger.versions(), ["1.31", "1.32", "1.33"]);
    assert!(ledger.destroyed().is_empty());
    world.delete_plane("blue").await;
    world.until_plane_is_gone("blue").await;
    world.settle().await;
    assert_eq!(ledger.made().len(), 1, "nothing is made twice");
    assert_eq!(ledger.destroyed(), ledger.made());
}

async fn nothing_is_left(world: &World) {
    let left = world.snapshot().await;
    let ours: Vec<&String> = left
        .objects()
        .keys()
        .filter(|key| {
            [
                "upbound.io",
                "workspacetemplateapplies",
                "rendering",
                "kubeconfig",
                "blue-ca",
                "captcontrolplanes",
            ]
            .iter()
            .any(|word| key.contains(word))
        })
        .collect();
    assert!(ours.is_empty(), "{ours:?}");
}

#[test]
fn a_crash_at_any_write_changes_nothing() {
    let report = Sweep::new(World::builder().embedded_only())
        .may_miss()
        .one_in(5)
        .quiet(QUIET)
        .faults([Fault::CrashBefore, Fault::CrashAfter])
        .run_and_check(a_whole_life, nothing_is_left);
    assert!(report.writes.len() > 30, "{:#?}", report.writes);
}

#[test]
fn an_answer_that_is_lost_at_any_write_changes_nothing() {
    Sweep::new(World::builder().embedded_only())
        .may_miss()
        .one_in(5)
        .quiet(QUIET)
        .faults([Fault::DropAnswer])
        .run_and_check(a_whole_life, nothing_is_left);
}
