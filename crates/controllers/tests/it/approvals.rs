//! What a person has to approve, with our runner and with one that cannot plan.

use capt_api::{
    WorkspaceTemplateApply, foreign::ClusterProviderConfig, marks, workspacetemplate::WorkspaceTemplateSpec,
};
use capt_core::wta::snapshot::Runner;
use capt_testkit::World;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;

use crate::stage::{Setting, Stage, User as _, external_name, template};

#[tokio::test]
async fn a_plan_of_our_runner_that_waits_is_shown_and_its_approval_passed_down() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    let workspace = stage.workspace("blue").await.unwrap();
    let report = json!({
        "group": "tf.m.upbound.io", "workspace": "blue", "engine": "terraform 1.11.4",
        "progress": {"operation": "plan", "percentComplete": 40},
        "plan": {"id": "plan-7", "summary": "1 to replace", "destructive": true, "awaitsApproval": true},
    });
    let told = |report: &serde_json::Value| {
        json!({
            "metadata": {"name": "blue-run", "labels": {marks::RUN_OF: workspace.uid()}},
            "data": {"run.json": report.to_string(), "log": "a long log"},
        })
    };
    let _: ConfigMap = stage.create(told(&report)).await;
    stage
        .until_says("blue", "ApprovalNeeded", "True/DestructiveChange")
        .await;
    let status = stage.apply("blue").await.unwrap().status.unwrap();
    assert!(status.message.unwrap().contains("plan-7"));
    assert_eq!(status.progress.unwrap().percent_complete, Some(40));
    stage.annotate("blue", marks::APPROVED, Some("plan-7")).await;
    stage
        .until("the approval on the Workspace", async || {
            let workspace = stage.workspace("blue").await.unwrap();
            workspace.annotations().get(marks::APPROVED).map(String::as_str) == Some("plan-7")
        })
        .await;
    stage
        .until_says("blue", "ApprovalNeeded", "False/NotNeeded")
        .await;
    let done = json!({
        "group": "tf.m.upbound.io", "workspace": "blue", "engine": "terraform 1.11.4",
        "answered": {(marks::APPROVED): "plan-7"},
    });
    let patch = json!({"data": {"run.json": done.to_string()}});
    let _: ConfigMap = stage.patch("blue-run", patch).await;
    stage
        .until("the used approval to be gone from the Workspace", async || {
            let workspace = stage.workspace("blue").await.unwrap();
            !workspace.annotations().contains_key(marks::APPROVED)
        })
        .await;
    // The same plan comes up again, and nobody remembers the approval but the controllers.
    let mut again = report.clone();
    again["progress"] = json!(null);
    let patch = json!({"data": {"run.json": again.to_string()}});
    let _: ConfigMap = stage.patch("blue-run", patch).await;
    stage
        .until_says("blue", "ApprovalNeeded", "True/DestructiveChange")
        .await;
    let status = stage.apply("blue").await.unwrap().status.unwrap();
    assert!(status.message.unwrap().contains("used up"));
    stage
        .annotate("blue", marks::APPROVED, Some("plan-7/again"))
        .await;
    stage
        .until_says("blue", "ApprovalNeeded", "False/NotNeeded")
        .await;
    let patch = json!({"data": {"run.json": done.to_string()}});
    let _: ConfigMap = stage.patch("blue-run", patch).await;
    stage
        .until("no progress", async || {
            let status = stage.apply("blue").await.unwrap().status.unwrap();
            status.progress.is_none()
        })
        .await;
    stage.world.finish().await;
}

fn foreign() -> Setting {
    Setting {
        runner: Runner::Foreign,
        ..Setting::default()
    }
}

/// Provider configurations of all namespaces are shared by all tests on a real API server, so each has its own.
async fn make_config(stage: &Stage, name: &str, configuration: &str) {
    let configs: Api<ClusterProviderConfig> = Api::all(stage.client());
    let config = serde_json::from_value(json!({
        "metadata": {"name": name}, "spec": {"configuration": configuration},
    }));
    configs
        .create(&PostParams::default(), &config.unwrap())
        .await
        .unwrap();
}

const BACKEND: &str = "terraform {\n  backend \"kubernetes\" {\n    secret_suffix = \"x\"\n  }\n}\n";

fn with_config(config: &str) -> serde_json::Value {
    let mut template = template("net", "small");
    let spec = &mut template["spec"];
    spec["template"]["spec"]["providerConfigRef"] = json!({"name": config});
    spec["variables"] = json!([{"name": "size", "replaces": true}, {"name": "tag", "default": "a"}]);
    spec["template"]["spec"]["forProvider"]["vars"] = json!([{"key": "tag", "value": "${tag}"}]);
    template
}

#[tokio::test]
async fn a_runner_that_cannot_plan_gets_changes_only_when_they_are_approved() {
    let stage = Stage::set(World::embedded_only().await, &foreign());
    make_config(&stage, "durable", BACKEND).await;
    let _: capt_api::WorkspaceTemplate = stage.create(with_config("durable")).await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    stage.settle().await;
    let name = external_name(&stage.workspace("blue").await.unwrap());
    // A value that replaces nothing passes.
    let harmless = json!({"spec": {"variables": {"tag": "b"}}});
    let _: WorkspaceTemplateApply = stage.patch("blue", harmless).await;
    stage
        .until("the tag", async || {
            let workspace = stage.workspace("blue").await.unwrap();
            workspace.data.pointer("/spec/forProvider/vars/0/value") == Some(&json!("b"))
        })
        .await;
    stage.settle().await;
    let larger = json!({"spec": {"variables": {"size": "2"}}});
    let _: WorkspaceTemplateApply = stage.patch("blue", larger).await;
    stage
        .until_says("blue", "ApprovalNeeded", "True/DestructiveChange")
        .await;
    stage.settle().await;
    assert!(stage.ledger.module(&name).contains("size = \"1\""));
    let pending = stage
        .apply("blue")
        .await
        .unwrap()
        .status
        .unwrap()
        .pending_revision;
    stage.annotate("blue", marks::APPROVED, pending.as_deref()).await;
    stage
        .until("the change", async || {
            stage.ledger.module(&name).contains("size = \"2\"")
        })
        .await;
    stage.until_ready("blue").await;
    stage.world.finish().await;
}

#[tokio::test]
async fn state_that_would_not_last_is_refused_and_where_it_lives_is_decided_once() {
    let stage = Stage::set(World::embedded_only().await, &foreign());
    make_config(&stage, "forgetful", "").await;
    make_config(&stage, "durable", BACKEND).await;
    let _: capt_api::WorkspaceTemplate = stage.create(with_config("forgetful")).await;
    stage.make_apply("blue", "net").await;
    stage.until_says("blue", "Applied", "False/NoDurableState").await;
    stage.settle().await;
    assert!(stage.workspace("blue").await.is_none());
    let configs: Api<ClusterProviderConfig> = Api::all(stage.client());
    let durable = Patch::Merge(json!({"spec": {"configuration": BACKEND}}));
    configs
        .patch("forgetful", &PatchParams::default(), &durable)
        .await
        .unwrap();
    stage.until_ready("blue").await;
    stage.settle().await;
    // Another place by the template: refused, the last rendering stays.
    let template: WorkspaceTemplateSpec =
        serde_json::from_value(with_config("durable")["spec"].clone()).unwrap();
    let _: capt_api::WorkspaceTemplate = stage.patch("net", json!({"spec": template})).await;
    stage
        .until_says("blue", "Applied", "False/StateLocationChanged")
        .await;
    stage.settle().await;
    let workspace = stage.workspace("blue").await.unwrap();
    assert_eq!(
        workspace.data.pointer("/spec/providerConfigRef/name"),
        Some(&json!("forgetful"))
    );
    let undone: WorkspaceTemplateSpec =
        serde_json::from_value(with_config("forgetful")["spec"].clone()).unwrap();
    let _: capt_api::WorkspaceTemplate = stage.patch("net", json!({"spec": undone})).await;
    stage.until_ready("blue").await;
    // Another place by the provider configuration: nothing may run.
    let moved = Patch::Merge(json!({"spec": {"configuration": BACKEND.replace("\"x\"", "\"y\"")}}));
    configs
        .patch("forgetful", &PatchParams::default(), &moved)
        .await
        .unwrap();
    stage
        .until_says("blue", "Applied", "False/StateLocationChanged")
        .await;
    stage
        .until("the Workspace to be stopped", async || {
            crate::stage::policies(&stage.workspace("blue").await.unwrap()) == json!([])
        })
        .await;
    configs
        .patch("forgetful", &PatchParams::default(), &durable)
        .await
        .unwrap();
    stage.until_ready("blue").await;
    stage.world.finish().await;
}
