//! What the module of an EKS cluster says reaches everybody who needs it, wherever it is said and when it changes.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::{
    CAPTControlPlane, captcontrolplane::ControlPlaneState as State, workspacestatus::WorkspaceTemplateStatus,
};
use capt_controllers::Credentials;
use serde_json::json;

use crate::{
    controlplane::{CA, ControlPlaneUser as _, control_plane, start_witness, text},
    network::NetworkUser as _,
    runner::Obstacle,
    stage::{Stage, User as _},
};

const EKS: &str = "https://0A1B.gr7.eu-central-1.eks.amazonaws.com";
const OTHER_CA: &str = "-----BEGIN CERTIFICATE-----\ny\n-----END CERTIFICATE-----\n";

#[tokio::test]
async fn a_changed_certificate_authority_reaches_its_secret_and_the_kubeconfigs() {
    let stage = Stage::embedded().await;
    stage.ledger.say("cluster_endpoint", json!(EKS));
    stage.ledger.say("kubeconfig", json!(null));
    stage
        .elsewhere
        .keys(Some(Credentials::fixed("AKIAPROCESS", "x", None)));
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    let known = async |certificate: &str| {
        let ca = stage.secret("blue-ca").await.unwrap();
        let mut all = vec![text(&ca, "tls.crt") == certificate];
        for name in ["blue-kubeconfig", "blue-user-kubeconfig"] {
            let kubeconfig = text(&stage.secret(name).await.unwrap(), "value");
            all.push(kubeconfig.contains(&STANDARD.encode(certificate)));
        }
        all
    };
    assert_eq!(known(CA).await, [true; 3]);
    let other = json!(STANDARD.encode(OTHER_CA));
    stage.ledger.say("cluster_certificate_authority_data", other);
    stage
        .until("the other certificate", async || {
            known(OTHER_CA).await == [true; 3]
        })
        .await;
    stage.settle().await;
    assert_eq!(known(CA).await, [false; 3]);
    assert!(stage.status("blue").await.ready);
    stage.world.finish().await;
}

#[tokio::test]
async fn an_endpoint_that_only_the_connection_secret_has_is_found_there() {
    let stage = Stage::embedded().await;
    stage.ledger.hide("cluster_endpoint");
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    let workspace = stage.workspace("blue-eks-controlplane").await.unwrap();
    let outputs = workspace.data.pointer("/status/atProvider/outputs").unwrap();
    assert!(outputs.get("cluster_version").is_some() && outputs.get("cluster_endpoint").is_none());
    assert_eq!(
        stage.status("blue").await.endpoint.as_deref(),
        Some("10.0.0.1:6443")
    );
    let cluster = stage.cluster("blue").await.unwrap();
    let endpoint = cluster.spec.control_plane_endpoint.unwrap();
    assert_eq!(endpoint.host.as_deref(), Some("10.0.0.1"));
    // A change of the Secret alone is news, too.
    stage.settle().await;
    stage.ledger.say("cluster_endpoint", json!("10.0.0.2"));
    stage
        .until_plane_says("blue", "Ready", "True/EndpointChanged")
        .await;
    assert_eq!(
        stage.status("blue").await.endpoint.as_deref(),
        Some("10.0.0.2:443")
    );
    stage.world.finish().await;
}

#[tokio::test]
async fn a_cluster_that_goes_tells_no_endpoint() {
    let stage = Stage::embedded().await;
    start_witness(&stage);
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    stage.settle().await;
    assert!(stage.status("blue").await.endpoint.is_some());
    let held = json!({"metadata": {"finalizers": ["example.org/held"]}});
    let workspaces = stage.workspaces();
    let parameters = kube::api::PatchParams::default();
    let patch = kube::api::Patch::Merge(&held);
    workspaces
        .patch("blue-eks-controlplane", &parameters, &patch)
        .await
        .unwrap();
    stage.delete_plane("blue").await;
    stage.until_state("blue", State::Deleting).await;
    stage.settle().await;
    let status = stage.status("blue").await;
    assert_eq!(status.endpoint, None, "{status:#?}");
    assert!(!status.ready);
    let free = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
    workspaces
        .patch("blue-eks-controlplane", &parameters, &free)
        .await
        .unwrap();
    stage.until_plane_is_gone("blue").await;
    stage.world.finish().await;
}

/// What the status says about the Workspace of the EKS cluster, or of the network.
async fn told(stage: &Stage, of_network: bool) -> WorkspaceTemplateStatus {
    let told = if of_network {
        let network = stage.network("blue").await.unwrap();
        network.status.unwrap().workspace_template_status
    } else {
        stage.status("blue").await.workspace_template_status
    };
    told.unwrap()
}

#[tokio::test]
async fn what_was_applied_last_and_what_failed_is_told() {
    for of_network in [false, true] {
        let stage = Stage::embedded().await;
        stage
            .make_cluster_with_network("blue", control_plane("blue"))
            .await;
        stage.until_state("blue", State::Ready).await;
        stage.settle().await;
        let before = told(&stage, of_network).await;
        let (apply, output, value) = if of_network {
            ("blue-vpc", "vpc_id", "vpc-1")
        } else {
            ("blue-eks-controlplane-apply", "cluster_version", "1.31")
        };
        let status = stage.apply(apply).await.unwrap().status.unwrap();
        assert!(before.ready);
        assert_eq!(before.state.as_deref(), Some("Available"));
        assert_eq!(before.workspace_name, status.workspace_name);
        assert_eq!(before.last_applied_revision, status.last_applied_revision);
        assert!(before.last_applied_revision.is_some() && before.last_applied_time.is_some());
        assert_eq!(before.outputs.as_ref().unwrap()[output], value);
        assert_eq!(before.last_failed_revision, None);
        assert_eq!(before.last_failure_message, None);

        let trouble = "Error: AccessDenied: not authorized";
        stage.ledger.obstruct(Some(Obstacle::TroubleWithNews(trouble)));
        if of_network {
            let edited = crate::stage::template("net", "large");
            let _: capt_api::WorkspaceTemplate = stage.patch("net", json!({"spec": edited["spec"]})).await;
        } else {
            let _: CAPTControlPlane = stage.patch("blue", json!({"spec": {"version": "1.32"}})).await;
        }
        stage
            .until("the failure to be told", async || {
                told(&stage, of_network).await.last_failed_revision.is_some()
            })
            .await;
        stage.settle().await;
        let failed = told(&stage, of_network).await;
        let status = stage.apply(apply).await.unwrap().status.unwrap();
        assert_eq!(failed.last_failed_revision, status.last_applied_revision);
        assert_ne!(failed.last_failed_revision, before.last_applied_revision);
        assert_eq!(failed.last_applied_revision, before.last_applied_revision);
        assert!(failed.last_failure_message.unwrap().contains("AccessDenied"));

        stage.ledger.obstruct(None);
        stage
            .until("the change to be told", async || {
                let now = told(&stage, of_network).await;
                now.ready && now.last_applied_revision == failed.last_failed_revision
            })
            .await;
        stage.world.finish().await;
    }
}
