//! Fargate profiles with a real Terraform: made, failed, mended, changed, removed.

use std::path::Path;

use capt_api::{
    CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    captcontrolplane::{CAPTControlPlaneStatus, ControlPlaneState as State, FargateProfilePhase as Phase},
    foreign::{Cluster, Workspace},
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::{
    examples::apply,
    support::{Up, awaited, capt},
    terraform::has_terraform,
};

/// A module that fails until somebody mends it, in the words of the seed.
const BROKEN: &str = r#"
locals {
  subnets = 0
}
resource "terraform_data" "profile" {
  lifecycle {
    precondition {
      condition     = local.subnets > 0
      error_message = "subnet not found"
    }
  }
}
"#;
const MENDED: &str = "resource \"terraform_data\" \"profile\" {}\n";

fn planes(client: &Client) -> Api<CAPTControlPlane> {
    Api::namespaced(client.clone(), "default")
}

async fn until(
    client: &Client,
    what: &str,
    is: impl Fn(&CAPTControlPlaneStatus) -> bool,
) -> CAPTControlPlaneStatus {
    let seen =
        |plane: Option<&CAPTControlPlane>| plane.and_then(|plane| plane.status.as_ref()).is_some_and(&is);
    let plane = awaited(planes(client), "demo", what, seen).await;
    plane.unwrap().status.unwrap()
}

fn is_ready(status: &CAPTControlPlaneStatus, profiles: &str) -> bool {
    status.state == Some(State::Ready) && status.fargate_profiles_ready.as_deref() == Some(profiles)
}

fn template(module: &str) -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "WorkspaceTemplate",
        "metadata": {"name": "broken"},
        "spec": {"template": {"spec": {"forProvider": {"source": "Inline", "module": module}}}},
    })
}

async fn put(client: &Client, module: &str) {
    let api: Api<WorkspaceTemplate> = Api::namespaced(client.clone(), "default");
    let parameters = PatchParams::apply("test").force();
    api.patch("broken", &parameters, &Patch::Apply(template(module)))
        .await
        .unwrap();
}

/// The profiles of the spec.
async fn wanted(client: &Client) -> Vec<Value> {
    let plane = planes(client).get("demo").await.unwrap();
    let profiles = plane.spec.additional_fargate_profiles.unwrap();
    profiles.iter().map(|profile| json!(profile)).collect()
}

async fn want(client: &Client, profiles: &[Value]) {
    let patch = json!({"spec": {"additionalFargateProfiles": profiles}});
    planes(client)
        .patch("demo", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

fn describe(home: &Path, up: &Up) -> String {
    let mut command = capt(home);
    let output = command
        .env("KUBECONFIG", &up.kubeconfig)
        .args(["describe", "captcontrolplane/demo"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn profiles_are_made_fail_recover_and_go() {
    if !has_terraform() {
        return;
    }
    let home = tempdir().unwrap();
    let up = Up::start(home.path(), &["--in-memory"]);
    let client = up.client().await;
    put(&client, BROKEN).await;
    apply(&client, "fargate").await;
    until(&client, "ready with three profiles", |status| {
        is_ready(status, "3/3")
    })
    .await;

    let mut profiles = wanted(&client).await;
    profiles.push(json!({
        "name": "broken",
        "selectors": [{"namespace": "broken"}],
        "workspaceTemplateRef": {"name": "broken"},
    }));
    want(&client, &profiles).await;
    let status = until(&client, "degraded", |status| {
        status.state == Some(State::Degraded)
    })
    .await;
    assert!(status.ready, "it serves all the same");
    assert_eq!(status.fargate_profiles_ready.as_deref(), Some("3/4"));
    let failed = status.fargate_profile_statuses.unwrap().pop().unwrap();
    assert_eq!(failed.phase, Some(Phase::Failed));
    assert_eq!(failed.failure_reason.as_deref(), Some("FargateProfileFailed"));
    let text = failed.failure_message.unwrap();
    assert!(text.contains("subnet not found"), "{text}");
    let told = describe(home.path(), &up);
    for part in [
        "jobs{runs-on=fargate}",
        "demo-jobs-fargate",
        "broken went wrong",
        "subnet not found",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }

    put(&client, MENDED).await;
    until(&client, "ready with four profiles", |status| {
        is_ready(status, "4/4")
    })
    .await;
    profiles.pop();
    want(&client, &profiles).await;
    until(&client, "ready with three profiles again", |status| {
        is_ready(status, "3/3")
    })
    .await;

    let clusters: Api<Cluster> = Api::namespaced(client.clone(), "default");
    clusters.delete("demo", &DeleteParams::default()).await.unwrap();
    awaited(clusters, "demo", "gone", |cluster: Option<&Cluster>| {
        cluster.is_none()
    })
    .await;
    let applies: Api<WorkspaceTemplateApply> = Api::namespaced(client.clone(), "default");
    let left = applies.list(&ListParams::default()).await.unwrap();
    assert!(left.items.is_empty(), "{left:?}");
    let workspaces: Api<Workspace> = Api::namespaced(client.clone(), "default");
    let left = workspaces.list(&ListParams::default()).await.unwrap();
    let left: Vec<String> = left.items.iter().map(|left| left.name_any()).collect();
    assert!(left.is_empty(), "{left:?}");
}
