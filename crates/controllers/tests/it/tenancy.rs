//! A hostile tenant with every right in its own namespace, written as the attacks. Each victim is there and works first.

use std::time::Duration;

use capt_api::{WorkspaceTemplate, WorkspaceTemplateApply, foreign::marks as foreign_marks, marks};
use capt_controllers::Credentials;
use capt_core::{render::WorkspaceGroup, tenancy::NamespaceSet};
use capt_testkit::World;
use k8s_openapi::{
    api::core::v1::Secret, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::DynamicObject,
};
use serde_json::{Value, json};

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, text},
    runner::resource,
    stage::{Neighbour, Setting, Stage, User as _, apply, start_runner_in, template},
};

const HOUR: Duration = Duration::from_secs(3600);
const VICTIM: &str = "victim";

/// A world whose controllers see all namespaces.
async fn shared_cluster() -> Stage {
    let setting = Setting {
        everywhere: true,
        ..Setting::default()
    };
    Stage::set(World::embedded_only().await, &setting)
}

fn cluster_workspaces(stage: &Stage) -> Api<DynamicObject> {
    Api::all_with(stage.client(), &resource("tf.upbound.io"))
}

/// A cluster-scoped Workspace that a platform team made by hand, with these annotations.
async fn platform_workspace(stage: &Stage, name: &str, annotations: Value) -> DynamicObject {
    let workspace = serde_json::from_value(json!({
        "apiVersion": "tf.upbound.io/v1beta1", "kind": "Workspace",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "forProvider": {"source": "Inline", "module": "# the platform's"},
            "writeConnectionSecretToRef": {"name": "outputs", "namespace": VICTIM},
        },
    }));
    let api = cluster_workspaces(stage);
    api.create(&PostParams::default(), &workspace.unwrap())
        .await
        .unwrap()
}

/// What an attack must not change of an object.
fn essence(object: &DynamicObject) -> (Option<String>, Value, Value, bool) {
    let labels = json!(object.metadata.labels);
    let is_deleting = object.metadata.deletion_timestamp.is_some();
    (object.uid(), labels, object.data["spec"].clone(), is_deleting)
}

#[tokio::test]
async fn workspaces_outside_the_namespace_are_neither_taken_over_nor_destroyed() {
    for annotations in [
        json!({}),
        json!({marks::RETAINED: "victim/prod"}),
        json!({marks::RETAINED: "true"}),
        json!({marks::ADOPTABLE_BY: "victim/prod"}),
        json!({marks::LEGACY_OF: "victim/prod"}),
    ] {
        for finalizer in [
            marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER,
            marks::WORKSPACETEMPLATEAPPLY_FINALIZER,
        ] {
            let stage = shared_cluster().await;
            stage.make_template("net").await;
            let victim = platform_workspace(&stage, "prod", annotations.clone()).await;
            let mut attack = apply("prod", "net");
            attack["metadata"]["finalizers"] = json!([finalizer]);
            attack["metadata"]["annotations"] = json!({
                marks::ADOPT_RETAINED: "prod",
                marks::WORKSPACE: "tf.upbound.io/prod",
            });
            let made: WorkspaceTemplateApply = stage.create(attack).await;
            let status = json!({"status": {
                "workspaceName": "prod", "workspaceUID": victim.uid(), "applied": true,
            }});
            let applies: Api<WorkspaceTemplateApply> = stage.api();
            applies
                .patch_status(&made.name_any(), &PatchParams::default(), &Patch::Merge(status))
                .await
                .unwrap();
            stage
                .until_says("prod", "Applied", "False/WorkspaceNotOurs")
                .await;
            stage.delete_apply("prod").await;
            stage.settle().await;
            stage.advance(HOUR).await;
            let now = cluster_workspaces(&stage).get("prod").await.unwrap();
            assert_eq!(essence(&now), essence(&victim), "{annotations} {finalizer}");
            stage.world.finish().await;
        }
    }
}

/// The Secret with the last rendering is the tenant's to write, and the template its to delete.
#[tokio::test]
async fn a_forged_rendering_leads_nowhere() {
    for group in [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped] {
        let setting = Setting {
            workspace_api: Some(group),
            ..Setting::default()
        };
        let stage = Stage::set(World::embedded_only().await, &setting);
        stage.make_template("net").await;
        stage.make_apply("blue", "net").await;
        stage.until_ready("blue").await;
        let secrets: Api<Secret> = stage.api();
        let kept = secrets.list(&Default::default()).await.unwrap();
        let kept = kept
            .items
            .into_iter()
            .find(|one| one.name_any().ends_with("-rendering"))
            .unwrap();
        let mut forged: Value = {
            let text = capt_core::wta::kept::Kept::text(&kept.data.as_ref().unwrap()["rendering"].0).unwrap();
            serde_json::from_str(&text).unwrap()
        };
        let key = json!({"namespace": VICTIM, "name": "s", "key": "k"});
        forged["isLegacy"] = json!(true);
        forged["rendering"]["spec"]["forProvider"]["env"] = json!([{"name": "A", "secretKeyRef": key}]);
        forged["rendering"]["spec"]["writeConnectionSecretToRef"] =
            json!({"namespace": VICTIM, "name": "out"});
        let forged: capt_core::wta::kept::Kept = serde_json::from_value(forged).unwrap();
        let data = k8s_openapi::ByteString(forged.to_bytes());
        let templates: Api<WorkspaceTemplate> = stage.api();
        let unheld = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        templates.delete("net", &DeleteParams::default()).await.unwrap();
        templates
            .patch("net", &PatchParams::default(), &unheld)
            .await
            .ok();
        let patch = Patch::Merge(json!({"data": {"rendering": data}}));
        secrets
            .patch(&kept.name_any(), &PatchParams::default(), &patch)
            .await
            .unwrap();
        stage.until_says("blue", "Applied", "False/OtherNamespace").await;
        stage.advance(HOUR).await;
        let workspaces = match group {
            WorkspaceGroup::Namespaced => stage.workspaces(),
            WorkspaceGroup::ClusterScoped => cluster_workspaces(&stage),
        };
        let now = workspaces.get("blue").await.unwrap();
        assert!(!now.data.to_string().contains(VICTIM), "{}", now.data);
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn a_token_is_never_signed_with_credentials_of_the_controllers_or_of_another_namespace() {
    for (own_credentials, expected) in [(NamespaceSet::All, true), (NamespaceSet::only([VICTIM]), false)] {
        let setting = Setting {
            everywhere: true,
            own_credentials,
            ..Setting::default()
        };
        let stage = Stage::set(World::embedded_only().await, &setting);
        stage.ledger.say(
            "cluster_endpoint",
            json!("https://0A1B.gr7.eu-central-1.eks.amazonaws.com"),
        );
        stage.ledger.say("cluster_name", json!("victim-prod"));
        stage.ledger.say("kubeconfig", json!(null));
        let keys = Credentials::fixed("AKIAPROCESS", "x", None);
        stage.elsewhere.keys(Some(keys));
        // Another tenant's Workspace, which runs with keys of its own.
        platform_workspace(&stage, "victims", json!({})).await;
        let env = Patch::Merge(json!({"spec": {"forProvider": {"env": [
            {"name": "AWS_ACCESS_KEY_ID", "value": "AKIAVICTIM"}, {"name": "AWS_SECRET_ACCESS_KEY", "value": "x"},
        ]}}}));
        let api = cluster_workspaces(&stage);
        api.patch("victims", &PatchParams::default(), &env).await.unwrap();
        stage.make_whole_cluster("blue", control_plane("blue")).await;
        stage
            .until("a token, or the word that there is none", async || {
                let secret = stage.secret("blue-kubeconfig").await;
                let status = stage.plane("blue").await.and_then(|plane| plane.status);
                let conditions = status.and_then(|status| status.conditions).unwrap_or_default();
                let refused = conditions
                    .iter()
                    .any(|one| one.message.contains("--own-credentials"));
                secret.is_some() || refused
            })
            .await;
        let before = stage.secret("blue-kubeconfig").await;
        assert_eq!(
            before.is_some(),
            expected,
            "the process's own identity is for those that are listed"
        );
        stage
            .annotate(
                "blue-eks-controlplane-apply",
                marks::WORKSPACE,
                Some("tf.upbound.io/victims"),
            )
            .await;
        for _ in 0..12 {
            stage.advance(HOUR / 12).await;
            let Some(secret) = stage.secret("blue-kubeconfig").await else {
                continue;
            };
            let token = text(&secret, "token-file");
            let url = base64::Engine::decode(
                &base64::engine::general_purpose::URL_SAFE_NO_PAD,
                token.strip_prefix("k8s-aws-v1.").unwrap(),
            );
            let url = String::from_utf8(url.unwrap()).unwrap();
            assert!(
                url.contains("AKIAPROCESS") && !url.contains("AKIAVICTIM"),
                "{url}"
            );
        }
        assert_eq!(stage.secret("blue-kubeconfig").await.is_some(), expected);
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn a_wait_from_another_namespace_holds_nothing_up_without_consent() {
    for is_shared in [true, false] {
        let stage = shared_cluster().await;
        let victim = Neighbour::of(&stage.world, VICTIM).await;
        start_runner_in(&stage.world, VICTIM, &stage.ledger);
        victim.make_template("net").await;
        victim.make_apply("prod", "net").await;
        victim.until_ready("prod").await;
        if is_shared {
            victim
                .annotate("prod", marks::SHARED_WITH, Some(stage.namespace()))
                .await;
        }
        let _: WorkspaceTemplate = stage.create(template("net", "small")).await;
        let mut waiting = apply("mine", "net");
        waiting["spec"]["waitForWorkspaces"] = json!([{"name": "prod", "namespace": VICTIM}]);
        let _: WorkspaceTemplateApply = stage.create(waiting).await;
        match is_shared {
            true => stage.until_ready("mine").await,
            false => stage.until_says("mine", "Waiting", "True/WaitNotShared").await,
        }
        victim.delete_apply("prod").await;
        stage.settle().await;
        if is_shared {
            assert_eq!(victim.says("prod", "Deleting").await, "True/WaitingForDependents");
            stage.delete_apply("mine").await;
        }
        victim.until_gone("prod").await;
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn deleting_a_definition_destroys_nothing() {
    for crd in [
        "workspacetemplateapplies.infrastructure.cluster.x-k8s.io",
        "captclusters.infrastructure.cluster.x-k8s.io",
        "clusters.cluster.x-k8s.io",
    ] {
        let stage = Stage::embedded().await;
        stage.make_template("net").await;
        stage.make_apply("blue", "net").await;
        stage.until_ready("blue").await;
        let exists = stage.ledger.exists();
        assert_eq!(exists.len(), 1, "the victim is there");
        let definitions: Api<CustomResourceDefinition> = Api::all(stage.client());
        // Something of the kind keeps the definition terminating.
        let held = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/held"]}}));
        definitions
            .patch(crd, &PatchParams::default(), &held)
            .await
            .unwrap();
        definitions.delete(crd, &DeleteParams::default()).await.unwrap();
        if !crd.starts_with("workspacetemplateapplies") {
            stage.delete_apply("blue").await;
        }
        stage.until_says("blue", "Deleting", "True/CRDTerminating").await;
        stage.advance(HOUR).await;
        assert_eq!(stage.ledger.exists(), exists, "{crd}");
        // The way out that the message names keeps everything.
        let _: WorkspaceTemplateApply = stage
            .patch("blue", json!({"spec": {"retainWorkspaceOnDelete": true}}))
            .await;
        stage
            .until("the Workspace to be retained", async || {
                let workspace = stage.workspace("blue").await.unwrap();
                workspace.annotations().contains_key(marks::RETAINED)
            })
            .await;
        assert_eq!(stage.ledger.exists(), exists, "{crd}");
        let workspace = stage.workspace("blue").await.unwrap();
        let by = format!("{}/blue", stage.namespace());
        assert_eq!(workspace.annotations()[marks::RETAINED], by);
        assert!(workspace.annotations().contains_key(foreign_marks::EXTERNAL_NAME));
        stage.world.finish().await;
    }
}
