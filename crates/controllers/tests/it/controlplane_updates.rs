//! Changes of clusters that serve, and how long they may take.

use std::time::Duration;

use capt_api::{
    CAPTControlPlane,
    captcontrolplane::ControlPlaneState as State,
    foreign::{Cluster, marks as foreign_marks},
    marks,
};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, start_witness},
    network::NetworkUser as _,
    runner::Obstacle,
    stage::{CAPT, Stage, User as _},
};

const MINUTE: Duration = Duration::from_secs(60);

async fn ready() -> Stage {
    let stage = Stage::embedded().await;
    start_witness(&stage);
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    stage.settle().await;
    stage
}

async fn set_version(stage: &Stage, version: &str) {
    let _: CAPTControlPlane = stage.patch("blue", json!({"spec": {"version": version}})).await;
}

async fn version(stage: &Stage) -> String {
    stage.status("blue").await.version.unwrap_or_default()
}

#[tokio::test]
async fn several_minors_are_walked_one_at_a_time_also_through_a_restart() {
    for restarts in [false, true] {
        let stage = ready().await;
        set_version(&stage, "v1.34.2").await;
        if restarts {
            stage
                .until("the first step", async || stage.ledger.versions().len() > 1)
                .await;
            stage.crash(CAPT);
        }
        stage
            .until("the version", async || version(&stage).await == "v1.34.2")
            .await;
        stage.until_state("blue", State::Ready).await;
        assert_eq!(stage.ledger.versions(), ["1.31", "1.32", "1.33", "1.34"]);
        assert!(stage.status("blue").await.ready);
        assert_eq!(stage.ledger.made().len(), 1);
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn a_version_below_what_runs_is_refused_with_the_reason() {
    let stage = ready().await;
    set_version(&stage, "1.30").await;
    stage.until_state("blue", State::Degraded).await;
    stage.settle().await;
    let status = stage.status("blue").await;
    assert!(status.ready);
    let told = format!("{:?}", status.conditions);
    assert!(told.contains("1.31") && told.contains("1.30"), "{told}");
    assert_eq!(stage.ledger.versions(), ["1.31"]);
    set_version(&stage, "1.31").await;
    stage.until_state("blue", State::Ready).await;
    stage.world.finish().await;
}

#[tokio::test]
async fn a_failed_update_degrades_what_serves_until_somebody_asks_for_another_try() {
    let stage = ready().await;
    stage.ledger.obstruct(Some(Obstacle::TroubleWithNews(
        "Error: AccessDenied: not authorized",
    )));
    set_version(&stage, "1.32").await;
    stage.until_plane_says("blue", "Ready", "True/UpdateFailed").await;
    let status = stage.status("blue").await;
    assert_eq!(status.state, Some(State::Degraded));
    assert!(status.ready && status.failure_reason.is_none());
    assert!(format!("{:?}", status.conditions).contains("AccessDenied"));
    stage.settle().await;
    stage.ledger.obstruct(None);
    let _: CAPTControlPlane = stage
        .patch(
            "blue",
            json!({"metadata": {"annotations": {marks::RETRY_REQUESTED: "1"}}}),
        )
        .await;
    stage.until_state("blue", State::Ready).await;
    assert_eq!(stage.ledger.versions(), ["1.31", "1.32"]);
    stage.world.finish().await;
}

#[tokio::test]
async fn an_update_that_somebody_paused_below_says_so_and_goes_on_when_that_ends() {
    const APPLY: &str = "blue-eks-controlplane-apply";
    for by_hand in [false, true] {
        let stage = ready().await;
        let apply = stage.apply(APPLY).await.unwrap();
        let workspace = apply.status.unwrap().workspace_name.unwrap();
        let set = async |value: Option<&str>| match by_hand {
            false => stage.annotate(APPLY, foreign_marks::PAUSED, value).await,
            true => {
                let patch = json!({"metadata": {"annotations": {foreign_marks::CROSSPLANE_PAUSED: value}}});
                let workspaces = stage.workspaces();
                let patch = Patch::Merge(patch);
                workspaces
                    .patch(&workspace, &PatchParams::default(), &patch)
                    .await
                    .unwrap();
            }
        };
        set(Some("true")).await;
        stage.settle().await;
        assert_eq!(stage.status("blue").await.state, Some(State::Ready));
        set_version(&stage, "1.32").await;
        stage.until_plane_says("blue", "Ready", "True/Paused").await;
        let told = format!("{:?}", stage.status("blue").await.conditions);
        let object = if by_hand { workspace.as_str() } else { APPLY };
        let named = format!(" {object} -n {} c", stage.home());
        assert!(
            told.contains("The update waits (upgrading 1.31 → 1.32)"),
            "{told}"
        );
        assert!(told.contains(&named) && told.contains("/paused-"), "{told}");
        stage.settle().await;
        let mark = stage.recorder().mark();
        stage.advance(300 * MINUTE).await;
        assert!(stage.recorder().writes_since(mark).is_empty());
        set(None).await;
        stage.until_state("blue", State::Ready).await;
        assert_eq!(version(&stage).await, "1.32");
        assert_eq!(stage.ledger.versions(), ["1.31", "1.32"]);
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn what_passes_is_waited_for_and_what_does_not_fails_until_it_is_mended() {
    for (trouble, reason, state) in [
        (
            "Error: ThrottlingException: Rate exceeded",
            "False/Retrying",
            State::Provisioning,
        ),
        (
            "Error: AccessDenied: not authorized",
            "False/WorkspaceError",
            State::Failed,
        ),
    ] {
        let stage = Stage::embedded().await;
        start_witness(&stage);
        stage.ledger.obstruct(Some(Obstacle::Trouble(trouble)));
        stage.make_whole_cluster("blue", control_plane("blue")).await;
        stage.until_plane_says("blue", "Ready", reason).await;
        assert_eq!(stage.status("blue").await.state, Some(state));
        stage.ledger.obstruct(None);
        stage.until_state("blue", State::Ready).await;
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn every_timeout_ends_when_the_fact_arrives_and_paused_time_does_not_count() {
    for is_paused in [false, true] {
        for (obstacle, field, limit, reason) in [
            (
                Obstacle::Slowness,
                "workspaceReadyTimeout",
                10,
                "WorkspaceReadyTimeout",
            ),
            (
                Obstacle::Slowness,
                "controlPlaneTimeout",
                10,
                "ControlPlaneTimeout",
            ),
            (Obstacle::NoSecret, "secretTimeout", 3, "SecretTimeout"),
        ] {
            let stage = Stage::embedded().await;
            start_witness(&stage);
            stage.ledger.obstruct(Some(obstacle));
            let mut plane = control_plane("blue");
            let mut timeouts = json!({"controlPlaneTimeout": 600, "workspaceReadyTimeout": 600});
            timeouts[field] = json!(limit);
            plane["spec"]["controlPlaneConfig"] = json!({"timeouts": timeouts});
            stage.make_whole_cluster("blue", plane).await;
            stage.settle().await;
            if is_paused {
                stage.pause("blue", true).await;
                stage.advance(60 * MINUTE).await;
                stage.pause("blue", false).await;
                stage.until_plane_says("blue", "Paused", "False/NotPaused").await;
            }
            stage.advance((limit - 2) * MINUTE).await;
            assert_ne!(stage.status("blue").await.state, Some(State::Failed), "{reason}");
            stage
                .until_plane_says("blue", "Failed", &format!("True/{reason}"))
                .await;
            stage.settle().await;
            let mark = stage.recorder().mark();
            stage.advance(60 * MINUTE).await;
            assert!(stage.recorder().writes_since(mark).is_empty());
            stage.ledger.obstruct(None);
            stage.until_state("blue", State::Ready).await;
            stage.world.finish().await;
        }
    }
}

#[tokio::test]
async fn a_network_that_does_not_come_is_waited_for_and_told() {
    let stage = Stage::embedded().await;
    start_witness(&stage);
    stage.ledger.obstruct(Some(Obstacle::Slowness));
    stage
        .make_cluster_with_network("blue", control_plane("blue"))
        .await;
    stage
        .until_plane_says("blue", "Ready", "False/WaitingForVPC")
        .await;
    assert!(stage.apply("blue-eks-controlplane-apply").await.is_none());
    stage
        .until_plane_says("blue", "Failed", "True/VPCReadyTimeout")
        .await;
    stage.ledger.obstruct(None);
    stage.until_state("blue", State::Ready).await;
    let made = stage.ledger.made();
    assert!(made.len() == 2 && made[0].contains("vpc"), "{made:?}");
    // The network goes last.
    stage.settle().await;
    stage.delete_cluster("blue").await;
    stage.until_cluster_is_gone("blue").await;
    let destroyed = stage.ledger.destroyed();
    assert!(
        destroyed.len() == 2 && destroyed[1].contains("vpc"),
        "{destroyed:?}"
    );
    stage.world.finish().await;
}

#[tokio::test]
async fn a_changed_endpoint_is_taken_over_and_told() {
    let stage = ready().await;
    stage.ledger.say("cluster_endpoint", json!("10.0.0.2"));
    stage
        .until_plane_says("blue", "Ready", "True/EndpointChanged")
        .await;
    let plane = stage.plane("blue").await.unwrap();
    assert_eq!(plane.spec.control_plane_endpoint.unwrap().host, "10.0.0.2");
    let _: Cluster = stage
        .patch(
            "blue",
            json!({"spec": {"controlPlaneEndpoint": {"host": "10.0.0.2", "port": 443}}}),
        )
        .await;
    stage.until_state("blue", State::Ready).await;
    stage.world.finish().await;
}

#[tokio::test]
async fn operations_are_learned_from_in_one_map_for_each_template() {
    let stage = ready().await;
    set_version(&stage, "1.32").await;
    stage.until_state("blue", State::Ready).await;
    stage.settle().await;
    let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> = stage.api();
    let of_templates = kube::api::ListParams::default().labels(marks::STATISTICS_OF);
    let found = maps.list(&of_templates).await.unwrap().items;
    assert_eq!(found.len(), 1);
    let data = found[0].data.clone().unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["create", "upgrade"]);
    stage.world.finish().await;
}
