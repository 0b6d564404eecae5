//! Tokens of EKS clusters: who signs them, and that there always is a valid one.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use capt_api::{
    CAPTControlPlane, captcontrolplane::ControlPlaneState as State,
    foreign::providerconfig::ClusterProviderConfig,
};
use capt_controllers::Credentials;
use capt_testkit::{Calls, Fault, Times};
use k8s_openapi::{api::core::v1::Secret, jiff::SignedDuration};
use kube::{Api, api::PostParams};
use serde_json::json;

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, text},
    network::NetworkUser as _,
    stage::{CAPT, Stage, User as _},
};

const EKS: &str = "https://0A1B.gr7.eu-central-1.eks.amazonaws.com";
const MINUTE: Duration = Duration::from_secs(60);

/// A world whose EKS clusters are real as far as anybody can tell.
async fn stage() -> Stage {
    let stage = Stage::embedded().await;
    stage.ledger.say("cluster_endpoint", json!(EKS));
    stage.ledger.say("kubeconfig", json!(null));
    stage
}

/// The address that a token is, and how long it will still be honoured.
async fn token(stage: &Stage) -> (String, SignedDuration) {
    let secret = stage.secret("blue-kubeconfig").await.unwrap();
    let token = text(&secret, "token-file");
    assert!(text(&secret, "value").contains(&token));
    let url = URL_SAFE_NO_PAD
        .decode(token.strip_prefix("k8s-aws-v1.").unwrap())
        .unwrap();
    let url = String::from_utf8(url).unwrap();
    let (_, rest) = url.split_once("X-Amz-Date=").unwrap();
    let signed = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", &rest[..16]).unwrap();
    let signed = signed.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
    let end = signed.checked_add(SignedDuration::from_mins(15)).unwrap();
    (url, end.duration_since(stage.clock().now()))
}

/// Lets hours pass, minute by minute, in which the token must be valid.
async fn hours_with_a_token(stage: &Stage, hours: u32) {
    for _ in 0..60 * hours {
        let (_, left) = token(stage).await;
        assert!(left > SignedDuration::from_mins(4), "{left:?}");
        stage.advance(MINUTE).await;
    }
}

async fn give_keys_to_provider(stage: &Stage) {
    let _: Secret = stage
        .create(json!({
            "metadata": {"name": "aws"},
            "stringData": {"credentials": "[default]\naws_access_key_id = AKIAPROVIDER\naws_secret_access_key = x\n"},
        }))
        .await;
    let config: ClusterProviderConfig = serde_json::from_value(json!({
        "metadata": {"name": "default"},
        "spec": {"credentials": [{
            "filename": "aws.ini", "source": "Secret",
            "secretRef": {"namespace": stage.namespace(), "name": "aws", "key": "credentials"},
        }]},
    }))
    .unwrap();
    let api: Api<ClusterProviderConfig> = Api::all(stage.client());
    api.create(&PostParams::default(), &config).await.unwrap();
}

#[tokio::test]
async fn a_token_is_signed_as_terraform_and_renewed_for_hours_by_one_write_each() {
    let stage = stage().await;
    give_keys_to_provider(&stage).await;
    stage
        .elsewhere
        .keys(Some(Credentials::fixed("AKIAPROCESS", "x", None)));
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    let (url, _) = token(&stage).await;
    assert!(
        url.starts_with("https://sts.eu-central-1.amazonaws.com/?"),
        "{url}"
    );
    assert!(url.contains("X-Amz-Credential=AKIAPROVIDER%2F"), "{url}");
    let people = stage.secret("blue-user-kubeconfig").await.unwrap();
    assert!(text(&people, "value").contains("get-token"));
    stage.settle().await;
    let mark = stage.recorder().mark();
    hours_with_a_token(&stage, 2).await;
    let writes = stage.recorder().writes_since(mark);
    assert!(
        writes.iter().all(|entry| entry.call.resource == "secrets"),
        "{writes:?}"
    );
    assert!((13..=17).contains(&writes.len()), "{}", writes.len());
    stage.world.finish().await;
}

#[tokio::test]
async fn without_credentials_it_is_told_what_is_missing_until_there_are_some() {
    let stage = stage().await;
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage
        .until_plane_says("blue", "KubeconfigReady", "False/KubeconfigGenerationFailed")
        .await;
    stage.settle().await;
    let status = stage.status("blue").await;
    assert!(!status.ready, "{status:?}");
    let message = format!("{:?}", status.conditions);
    assert!(message.contains("there are none"), "{message}");
    stage
        .elsewhere
        .keys(Some(Credentials::fixed("AKIAPROCESS", "x", None)));
    stage.until_state("blue", State::Ready).await;
    let (url, _) = token(&stage).await;
    assert!(url.contains("X-Amz-Credential=AKIAPROCESS%2F"), "{url}");
    stage.world.finish().await;
}

#[tokio::test]
async fn a_pause_and_a_restart_lock_nobody_out() {
    let stage = stage().await;
    stage
        .elsewhere
        .keys(Some(Credentials::fixed("AKIAPROCESS", "x", None)));
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    stage.pause("blue", true).await;
    stage.until_plane_says("blue", "Paused", "True/Paused").await;
    hours_with_a_token(&stage, 1).await;
    stage.crash(CAPT);
    hours_with_a_token(&stage, 1).await;
    stage.pause("blue", false).await;
    stage.until_plane_says("blue", "Paused", "False/NotPaused").await;
    hours_with_a_token(&stage, 1).await;
    stage.world.finish().await;
}

#[tokio::test]
async fn a_write_that_is_refused_for_hours_locks_nobody_out() {
    let stage = stage().await;
    stage
        .elsewhere
        .keys(Some(Credentials::fixed("AKIAPROCESS", "x", None)));
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    stage.settle().await;
    let refused = Calls::by(CAPT).writes().resource("workspacetemplateapplies");
    let rule = stage.faults().inject(refused, Times::Every, Fault::fail(403));
    let _: CAPTControlPlane = stage.patch("blue", json!({"spec": {"version": "1.32"}})).await;
    hours_with_a_token(&stage, 1).await;
    assert_eq!(stage.ledger.versions(), ["1.31"]);
    rule.release();
    stage
        .until("the update", async || stage.ledger.versions() == ["1.31", "1.32"])
        .await;
    stage.world.finish().await;
}

#[tokio::test]
async fn credentials_that_are_lost_leave_the_token_until_it_ends() {
    let stage = stage().await;
    stage
        .elsewhere
        .keys(Some(Credentials::fixed("AKIAPROCESS", "x", None)));
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    stage.elsewhere.keys(None);
    stage.advance(10 * MINUTE).await;
    assert_eq!(
        stage.plane_says("blue", "KubeconfigReady").await,
        "True/KubeconfigGenerationFailed"
    );
    assert!(stage.status("blue").await.ready);
    stage.advance(10 * MINUTE).await;
    assert_eq!(
        stage.plane_says("blue", "KubeconfigReady").await,
        "False/KubeconfigGenerationFailed"
    );
    stage
        .elsewhere
        .keys(Some(Credentials::fixed("AKIAPROCESS", "x", None)));
    stage.until_state("blue", State::Ready).await;
    let (_, left) = token(&stage).await;
    assert!(left > SignedDuration::from_mins(4));
    stage.world.finish().await;
}
