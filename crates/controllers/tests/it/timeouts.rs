//! Verdicts about time that people can set otherwise, and that no pause brings about.

use std::time::Duration;

use capt_api::{
    CAPTCluster, CAPTControlPlane, captcontrolplane::ControlPlaneState as State, foreign::Cluster,
};
use serde_json::json;

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, start_witness},
    network::{NetworkUser as _, cluster, made_network},
    runner::Obstacle,
    stage::{Stage, User as _},
};

const MINUTE: Duration = Duration::from_secs(60);

/// Pauses a Cluster for longer than anything may take, if that is wanted.
async fn pass_a_pause(stage: &Stage, is_wanted: bool) {
    if is_wanted {
        stage.pause("blue", true).await;
        stage.advance(60 * MINUTE).await;
        stage.pause("blue", false).await;
        stage.settle().await;
    }
}

#[tokio::test]
async fn an_update_has_its_time_without_pauses_and_is_waited_for_after_it() {
    for (timeout, limit, is_paused) in [
        (json!(null), 60, false),
        (json!(20), 20, true),
        (json!("90m"), 90, false),
    ] {
        let stage = Stage::embedded().await;
        start_witness(&stage);
        let mut plane = control_plane("blue");
        plane["spec"]["controlPlaneConfig"] = json!({"timeouts": {"updateTimeout": timeout}});
        stage.make_whole_cluster("blue", plane).await;
        stage.until_state("blue", State::Ready).await;
        stage.settle().await;
        stage.ledger.obstruct(Some(Obstacle::SlownessWithNews));
        let _: CAPTControlPlane = stage.patch("blue", json!({"spec": {"version": "1.32"}})).await;
        stage.until_state("blue", State::Provisioning).await;
        pass_a_pause(&stage, is_paused).await;
        stage.advance((limit - 2) * MINUTE).await;
        assert_eq!(
            stage.status("blue").await.state,
            Some(State::Provisioning),
            "{timeout}"
        );
        stage.advance(3 * MINUTE).await;
        assert_eq!(
            stage.plane_says("blue", "Ready").await,
            "True/UpdateTimeout",
            "{timeout}"
        );
        let status = stage.status("blue").await;
        assert_eq!(status.state, Some(State::Degraded), "it still serves");
        assert!(status.ready && status.failure_reason.is_none());
        let words = format!("{:?}", status.conditions);
        assert!(words.contains("timeouts.updateTimeout"), "{words}");
        let mark = stage.recorder().mark();
        stage.advance(60 * MINUTE).await;
        assert!(stage.recorder().writes_since(mark).is_empty());
        stage.ledger.obstruct(None);
        stage.until_state("blue", State::Ready).await;
        assert_eq!(stage.ledger.versions(), ["1.31", "1.32"]);
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn the_workspace_of_a_network_has_its_time_without_pauses_and_is_waited_for_after_it() {
    for (timeout, limit, is_paused) in [
        (json!(null), 30, false),
        (json!(10), 10, true),
        (json!("45m"), 45, false),
    ] {
        let stage = Stage::embedded().await;
        stage.ledger.obstruct(Some(Obstacle::Slowness));
        stage.make_template("net").await;
        let mut network = made_network("blue");
        network["spec"]["timeouts"] = json!({
            "vpcCreationTimeout": 600, "workspaceReadyTimeout": timeout,
        });
        let _: Cluster = stage.create(cluster("blue")).await;
        let _: CAPTCluster = stage.create(network).await;
        stage.settle().await;
        pass_a_pause(&stage, is_paused).await;
        stage.advance((limit - 2) * MINUTE).await;
        let said = stage.network_says("blue", "VPCFailed").await;
        assert!(said.starts_with("False/"), "{timeout}: {said}");
        stage.advance(3 * MINUTE).await;
        assert_eq!(
            stage.network_says("blue", "VPCFailed").await,
            "True/WorkspaceReadyTimeout",
            "{timeout}"
        );
        let status = stage.network("blue").await.unwrap().status.unwrap();
        assert_eq!(status.failure_reason.as_deref(), Some("WorkspaceReadyTimeout"));
        let words = status.failure_message.unwrap();
        assert!(words.contains("spec.timeouts.workspaceReadyTimeout"), "{words}");
        let mark = stage.recorder().mark();
        stage.advance(60 * MINUTE).await;
        assert!(stage.recorder().writes_since(mark).is_empty());
        stage.ledger.obstruct(None);
        stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
        assert_eq!(stage.ledger.made().len(), 1);
        stage.world.finish().await;
    }
}
