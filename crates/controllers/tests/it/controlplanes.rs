//! CAPTControlPlanes: from YAML to ready, and away again.

use std::time::Duration;

use capt_api::{
    CAPTControlPlane,
    captcontrolplane::{ControlPlanePhase as Phase, ControlPlaneState as State},
    endpoint::ApiEndpoint,
};
use kube::ResourceExt as _;
use serde_json::json;

use crate::{
    controlplane::{CA, ControlPlaneUser as _, KUBECONFIG, control_plane, start_witness, text},
    network::NetworkUser as _,
    stage::{CAPT, Stage, User as _},
};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn from_yaml_to_ready_and_away_again() {
    let stage = Stage::new().await;
    let states = start_witness(&stage);
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_plane_says("blue", "Ready", "True/Ready").await;
    stage
        .until_cluster_says("blue", "Available", "True/Available")
        .await;
    let plane = stage.plane("blue").await.unwrap();
    let status = plane.status.clone().unwrap();
    assert_eq!(status.state, Some(State::Ready));
    assert_eq!(status.phase, Some(Phase::Ready));
    assert!(status.ready && status.initialized);
    assert_eq!(status.external_managed_control_plane, Some(true));
    assert_eq!(
        status.version.as_ref().map(ToString::to_string).as_deref(),
        Some("1.31")
    );
    assert_eq!(status.endpoint.as_deref(), Some("10.0.0.1:6443"));
    let endpoint = ApiEndpoint {
        host: "10.0.0.1".to_owned(),
        port: 6443,
    };
    assert_eq!(plane.spec.control_plane_endpoint, Some(endpoint));
    assert_eq!(
        plane.spec.workspace_template_apply_name.as_deref(),
        Some("blue-eks-controlplane-apply")
    );
    let apply = stage.apply("blue-eks-controlplane-apply").await.unwrap();
    let variables = apply.spec.variables.unwrap();
    for (name, value) in [
        ("cluster_name", "blue"),
        ("kubernetes_version", "1.31"),
        ("vpc_id", "vpc-0a1b2c"),
    ] {
        assert_eq!(variables[name], value);
    }
    let cluster = stage.cluster("blue").await.unwrap();
    assert_eq!(
        cluster.spec.control_plane_endpoint.unwrap().host.as_deref(),
        Some("10.0.0.1")
    );
    let secret = stage.secret("blue-kubeconfig").await.unwrap();
    assert_eq!(secret.type_.as_deref(), Some("cluster.x-k8s.io/secret"));
    assert_eq!(secret.labels()["cluster.x-k8s.io/cluster-name"], "blue");
    assert_eq!(secret.owner_references()[0].uid, plane.uid().unwrap());
    assert_eq!(text(&secret, "value"), KUBECONFIG);
    let ca = stage.secret("blue-ca").await.unwrap();
    assert_eq!(text(&ca, "tls.crt"), CA);
    // It never goes back on its way.
    let order = [
        State::Pending,
        State::Validating,
        State::Provisioning,
        State::Configuring,
        State::Ready,
    ];
    let seen = states.lock().clone();
    let places: Vec<_> = seen
        .iter()
        .map(|one| order.iter().position(|state| state == one))
        .collect();
    assert!(places.is_sorted() && !places.contains(&None), "{seen:?}");

    stage.settle().await;
    stage.delete_cluster("blue").await;
    stage.until_cluster_is_gone("blue").await;
    assert!(stage.plane("blue").await.is_none());
    for secret in ["blue-kubeconfig", "blue-ca"] {
        assert!(stage.secret(secret).await.is_none(), "{secret}");
    }
    assert!(stage.apply("blue-eks-controlplane-apply").await.is_none());
    assert_eq!(stage.ledger.destroyed().len(), 1);
    assert!(stage.ledger.exists().is_empty());
    stage.world.finish().await;
}

#[tokio::test]
async fn hours_of_rest_cost_nothing() {
    let stage = Stage::embedded().await;
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    stage.settle().await;
    let mark = stage.recorder().mark();
    stage.advance(3 * HOUR).await;
    let requests = stage.recorder().requests_since(mark);
    assert!(requests.is_empty(), "{requests:?}");
}

#[tokio::test]
async fn an_endpoint_is_understood_in_any_spelling() {
    for (spelling, host, port) in [
        ("https://API.example.org", "API.example.org", 443),
        ("api.example.org", "api.example.org", 443),
        ("api.example.org:6443", "api.example.org", 6443),
        ("https://[fd00::7]:6443/", "fd00::7", 6443),
    ] {
        let stage = Stage::embedded().await;
        stage.ledger.say("cluster_endpoint", json!(spelling));
        stage.make_whole_cluster("blue", control_plane("blue")).await;
        stage.until_state("blue", State::Ready).await;
        let endpoint = stage
            .plane("blue")
            .await
            .unwrap()
            .spec
            .control_plane_endpoint
            .unwrap();
        assert_eq!(
            (endpoint.host.as_str(), endpoint.port),
            (host, port),
            "{spelling}"
        );
        assert_eq!(stage.elsewhere.asked(), Some(format!("{host}:{port}")));
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn whoever_never_answers_is_not_ready_and_is_in_the_end_too_late() {
    let stage = Stage::embedded().await;
    start_witness(&stage);
    stage.elsewhere.silence(Some("nobody listens"));
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Configuring).await;
    stage
        .until_plane_says("blue", "EndpointAnswers", "False/EndpointNotReady")
        .await;
    let status = stage.status("blue").await;
    assert!(!status.ready && !status.initialized);
    let message = status.conditions.unwrap();
    assert!(
        message.iter().any(|one| one.message.contains("nobody listens")),
        "{message:?}"
    );
    stage
        .until_plane_says("blue", "Failed", "True/ControlPlaneTimeout")
        .await;
    // Nothing more is written, however long nobody answers.
    stage.settle().await;
    let mark = stage.recorder().mark();
    stage.advance(HOUR).await;
    assert!(stage.recorder().writes_since(mark).is_empty());
    // It was a verdict about time, which ends when the fact arrives.
    stage.elsewhere.silence(None);
    stage.until_state("blue", State::Ready).await;
    stage.world.finish().await;
}

#[tokio::test]
async fn a_private_endpoint_need_not_answer() {
    let optional = json!({"endpointCheck": "Optional"});
    let private = json!({"controlPlaneConfig": {"endpointAccess": {"public": false, "private": true}}});
    for spec in [optional, private] {
        let stage = Stage::embedded().await;
        stage.elsewhere.silence(Some("it is private"));
        let mut plane = control_plane("blue");
        for (name, value) in spec.as_object().unwrap() {
            plane["spec"][name] = value.clone();
        }
        stage.make_whole_cluster("blue", plane).await;
        stage.until_state("blue", State::Ready).await;
        stage
            .until_plane_says("blue", "EndpointAnswers", "Unknown/EndpointNotChecked")
            .await;
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn whoever_stops_answering_is_degraded_and_then_failed_until_he_answers() {
    let stage = Stage::embedded().await;
    start_witness(&stage);
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    stage.elsewhere.silence(Some("connection refused"));
    stage.advance(Duration::from_secs(45)).await;
    assert_eq!(
        stage.status("blue").await.state,
        Some(State::Ready),
        "silence is no news yet"
    );
    stage.until_state("blue", State::Degraded).await;
    assert!(stage.status("blue").await.ready);
    stage.until_state("blue", State::Failed).await;
    let status = stage.status("blue").await;
    assert!(!status.ready && status.initialized);
    stage.elsewhere.silence(None);
    stage.until_state("blue", State::Ready).await;
    assert!(stage.ledger.destroyed().is_empty());
    stage.world.finish().await;
}

#[tokio::test]
async fn nothing_is_done_before_a_cluster_owns_it() {
    let stage = Stage::embedded().await;
    let _: CAPTControlPlane = stage.create(control_plane("blue")).await;
    stage
        .until_plane_says("blue", "Ready", "False/WaitingForCluster")
        .await;
    stage.settle().await;
    let mark = stage.recorder().mark();
    stage.advance(24 * HOUR).await;
    assert!(
        stage
            .recorder()
            .requests_since(mark)
            .iter()
            .all(|entry| entry.call.caller != CAPT)
    );
    assert!(stage.apply("blue-eks-controlplane-apply").await.is_none());
    stage.delete_plane("blue").await;
    stage.until_plane_is_gone("blue").await;
    stage.world.finish().await;
}
