//! What the controllers write to their log, with all of it let through.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::{
    CAPTControlPlane, captcontrolplane::ControlPlaneState as State,
    foreign::providerconfig::ClusterProviderConfig,
};
use capt_controllers::Credentials;
use capt_testkit::{Calls, Fault, Times};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams},
};
use parking_lot::Mutex;
use serde_json::json;
use tracing::level_filters::LevelFilter;

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, text},
    stage::{CAPT, Stage, User as _},
};

const EKS: &str = "https://0A1B.gr7.eu-central-1.eks.amazonaws.com";
const KEY: &str = "key-of-the-provider-that-is-secret";
const SESSION: &str = "session-of-the-process-that-is-secret";
const OUTPUT: &str = "users: [{name: a, user: {token: output-that-is-secret}}]";

/// What is logged on this thread.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Keys with which Terraform works.
async fn give_keys_to_provider(stage: &Stage) {
    let keys = format!("[default]\naws_access_key_id = AKIAPROVIDER\naws_secret_access_key = {KEY}\n");
    let _: Secret = stage
        .create(json!({"metadata": {"name": "aws"}, "stringData": {"credentials": keys}}))
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

/// What the Secrets that let others in hold, and what of the others is secret.
async fn secrets(stage: &Stage) -> Vec<String> {
    let api: Api<Secret> = stage.api();
    let all = api.list(&ListParams::default()).await.unwrap();
    let mut values = Vec::new();
    for secret in &all {
        let keys = secret.data.iter().flat_map(|data| data.keys());
        let hidden = keys.filter(|key| ["value", "token-file", "kubeconfig"].contains(&key.as_str()));
        values.extend(hidden.map(|key| text(secret, key)));
    }
    values
}

#[tokio::test]
async fn no_secret_is_in_the_log_whatever_happens() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let mut hidden = [KEY, SESSION, "output-that-is-secret"]
        .map(str::to_owned)
        .to_vec();
    for is_eks in [true, false] {
        let stage = Stage::embedded().await;
        let kubeconfig = format!("clusters: []\n{OUTPUT}\n");
        stage.ledger.say("kubeconfig", json!(kubeconfig));
        if is_eks {
            stage.ledger.say("cluster_endpoint", json!(EKS));
            give_keys_to_provider(&stage).await;
            let own = Credentials::fixed("AKIAPROCESS", KEY, Some(SESSION));
            stage.elsewhere.keys(Some(own));
        }
        // What is refused is told, with what it was about.
        let writes = Calls::by(CAPT).writes();
        let rule = stage
            .faults()
            .inject(writes.resource("secrets"), Times::First(2), Fault::fail(500));
        stage.make_whole_cluster("blue", control_plane("blue")).await;
        stage.until_state("blue", State::Ready).await;
        rule.release();
        hidden.extend(secrets(&stage).await);
        let api: Api<Secret> = stage.api();
        api.delete("blue-kubeconfig", &DeleteParams::default())
            .await
            .unwrap();
        stage
            .until("the Secret to be back", async || {
                stage.secret("blue-kubeconfig").await.is_some()
            })
            .await;
        let _: CAPTControlPlane = stage.patch("blue", json!({"spec": {"version": "1.32"}})).await;
        stage
            .until("the update", async || stage.ledger.versions() == ["1.31", "1.32"])
            .await;
        // A kubeconfig that nobody can use is told without what is in it.
        stage.ledger.say("kubeconfig", json!(OUTPUT));
        stage.settle().await;
        hidden.extend(secrets(&stage).await);
        stage.delete_plane("blue").await;
        stage.until_plane_is_gone("blue").await;
        stage.world.finish().await;
    }
    let logged = String::from_utf8_lossy(&lines.0.lock()).into_owned();
    assert!(
        logged.contains("capt_controllers"),
        "something is logged: {logged}"
    );
    assert!(hidden.len() > 6, "there is something to hide");
    for value in &hidden {
        // As it is, as text in JSON, and as Secrets have it.
        let quoted = json!(value).to_string();
        for form in [value.as_str(), quoted.trim_matches('"'), &STANDARD.encode(value)] {
            let line = logged.lines().find(|line| line.contains(form));
            assert_eq!(line, None, "{value}");
        }
    }
}
