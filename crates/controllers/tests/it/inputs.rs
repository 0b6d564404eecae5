//! Secrets and ConfigMaps that a module is given.

use capt_api::WorkspaceTemplate;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, ResourceExt as _, api::DeleteParams};
use serde_json::json;

use crate::stage::{Stage, User as _, template};

#[tokio::test]
async fn a_missing_input_is_named_and_changes_nothing() {
    let stage = Stage::new().await;
    let mut with_inputs = template("net", "small");
    let fields = &mut with_inputs["spec"]["template"]["spec"]["forProvider"];
    fields["env"] = json!([
        {"name": "TOKEN", "secretKeyRef": {"name": "cloud", "key": "token"}},
        {"name": "ZONE", "configMapKeyRef": {"name": "zones", "key": "first"}},
    ]);
    let _: WorkspaceTemplate = stage.create(with_inputs).await;
    stage.make_apply("blue", "net").await;
    stage.until_says("blue", "Applied", "True/InputMissing").await;
    let message = async || {
        let status = stage.apply("blue").await.unwrap().status.unwrap();
        status.message.unwrap_or_default()
    };
    let text = message().await;
    assert!(
        text.contains("Secret cloud") && text.contains("ConfigMap zones"),
        "{text}"
    );
    let _: Secret = stage
        .create(json!({"metadata": {"name": "cloud"}, "stringData": {"other": "hidden-value"}}))
        .await;
    let _: ConfigMap = stage
        .create(json!({"metadata": {"name": "zones"}, "data": {"first": "a"}}))
        .await;
    stage
        .until("the key to be named", async || {
            let text = message().await;
            text.contains("key token of the Secret cloud") && !text.contains("zones")
        })
        .await;
    let _: Secret = stage
        .patch("cloud", json!({"stringData": {"token": "hidden-value"}}))
        .await;
    stage.until_ready("blue").await;
    let before = stage.workspace("blue").await.unwrap();
    let secrets: Api<Secret> = stage.api();
    secrets.delete("cloud", &DeleteParams::default()).await.unwrap();
    stage.until_says("blue", "Applied", "True/InputMissing").await;
    let after = stage.workspace("blue").await.unwrap();
    assert_eq!(before.metadata.generation, after.metadata.generation);
    let seen = format!("{:?}", stage.apply("blue").await);
    assert!(!seen.contains("hidden-value"), "{seen}");
    assert_eq!(before.uid(), after.uid());
    stage.world.finish().await;
}
