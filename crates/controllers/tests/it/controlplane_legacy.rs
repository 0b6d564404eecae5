//! Control planes that the Go implementation made: found, referred to, and kept as they are.

use capt_api::{
    CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    captcontrolplane::ControlPlaneState as State, foreign::Cluster, marks,
};
use capt_testkit::World;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, CustomResourceExt as _, ResourceExt as _,
    api::{ListParams, Patch, PatchParams, PostParams},
    core::DynamicObject,
};
use serde_json::{Value, json};

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, eks_template, whole_cluster},
    runner::resource,
    stage::{Setting, Stage, User as _, apply, start_controllers, start_runner},
};

const DEFINITION: &str = "captcontrolplanes.controlplane.cluster.x-k8s.io";

/// A definition that lets a host be written as the Go implementation does.
fn lax() -> Value {
    let mut definition = serde_json::to_value(CAPTControlPlane::crd()).unwrap();
    let host = definition
        .pointer_mut(
            "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/controlPlaneEndpoint/properties/host",
        )
        .unwrap();
    host.as_object_mut()
        .unwrap()
        .retain(|name, _| !matches!(name.as_str(), "x-kubernetes-validations" | "pattern"));
    definition
}

async fn define(stage: &Stage, definition: Value) {
    let definitions: Api<CustomResourceDefinition> = Api::all(stage.client());
    let forced = PatchParams::apply("capt-testkit").force();
    definitions
        .patch(DEFINITION, &forced, &Patch::Apply(definition))
        .await
        .unwrap();
}

/// A cluster as the Go implementation leaves it, before our controllers are there.
async fn left_behind(name: &str, is_owned: bool) -> Stage {
    let setting = Setting::default();
    let world = World::embedded_only().await;
    let ledger = start_runner(&world);
    let stage = Stage {
        world,
        ledger,
        elsewhere: setting.elsewhere.clone(),
    };
    define(&stage, lax()).await;
    let _: WorkspaceTemplate = stage.create(eks_template("eks")).await;
    let mut cluster = whole_cluster("blue");
    cluster["spec"]
        .as_object_mut()
        .unwrap()
        .remove("infrastructureRef");
    let _: Cluster = stage.create(cluster).await;
    let mut plane = control_plane("blue");
    plane["metadata"]["finalizers"] = json!([marks::CAPTCONTROLPLANE_FINALIZER]);
    plane["spec"]["controlPlaneConfig"] = json!({"region": "eu-central-1"});
    plane["spec"]["controlPlaneEndpoint"] = json!({"host": "https://10.0.0.1:6443", "port": 443});
    let plane: CAPTControlPlane = stage.create(plane).await;
    let planes: Api<CAPTControlPlane> = stage.api();
    let status =
        json!({"status": {"ready": true, "initialized": true, "phase": "Ready", "secretsReady": true}});
    planes
        .patch_status("blue", &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
    define(&stage, serde_json::to_value(CAPTControlPlane::crd()).unwrap()).await;

    let workspace = name.trim_end_matches("-apply");
    let secret = json!({"name": "blue-eks-connection", "namespace": stage.namespace()});
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "tf.upbound.io/v1beta1", "kind": "Workspace",
        "metadata": {"name": workspace, "annotations": {"crossplane.io/external-name": workspace}},
        "spec": {
            "forProvider": {
                "source": "Inline",
                "module": "locals {\n  cluster = \"blue\"\n  version = \"1.31\"\n  vpc = \"vpc-1\"\n}\n",
            },
            "providerConfigRef": {"name": "default"},
            "writeConnectionSecretToRef": secret,
        },
    }))
    .unwrap();
    let workspaces: Api<DynamicObject> = Api::all_with(stage.client(), &resource("tf.upbound.io"));
    workspaces.create(&PostParams::default(), &object).await.unwrap();

    let mut old = apply(name, "eks");
    old["metadata"]["finalizers"] = json!([marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER]);
    old["spec"]["templateRef"] = json!({"name": "eks", "namespace": stage.namespace()});
    old["spec"]["variables"] = json!({
        "cluster_name": "blue", "kubernetes_version": "1.31", "region": "eu-central-1", "vpc_id": "vpc-1",
    });
    old["spec"]["writeConnectionSecretToRef"] = secret;
    if is_owned {
        old["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "CAPTControlPlane",
            "name": "blue", "uid": plane.uid(), "controller": true, "blockOwnerDeletion": true,
        }]);
    }
    let status = json!({"workspaceName": workspace, "applied": true});
    let _: WorkspaceTemplateApply = stage.create(old).await;
    let applies: Api<WorkspaceTemplateApply> = stage.api();
    applies
        .patch_status(
            name,
            &PatchParams::default(),
            &Patch::Merge(json!({"status": status})),
        )
        .await
        .unwrap();
    stage.settle().await;
    start_controllers(&stage, &setting);
    stage
}

#[tokio::test]
async fn every_naming_scheme_is_found_kept_and_can_be_destroyed() {
    for (name, is_owned) in [
        ("blue-eks-controlplane-apply", true),
        ("blue-eks-controlplane-apply", false),
        ("blue-apply", true),
        ("demo-eks-controlplane-apply", true),
    ] {
        let stage = left_behind(name, is_owned).await;
        stage
            .until("the endpoint to be read", async || {
                let plane = stage.plane("blue").await.unwrap();
                plane
                    .spec
                    .control_plane_endpoint
                    .is_some_and(|endpoint| endpoint.host == "10.0.0.1")
            })
            .await;
        stage.settle().await;
        let plane = stage.plane("blue").await.unwrap();
        assert_eq!(plane.spec.workspace_template_apply_name.as_deref(), Some(name));
        let status = plane.status.unwrap();
        assert!(status.ready, "it serves all the while: {status:#?}");
        assert!(
            matches!(status.state, Some(State::Ready | State::Degraded)),
            "{status:#?}"
        );
        let applies: Api<WorkspaceTemplateApply> = stage.api();
        assert_eq!(
            applies.list(&ListParams::default()).await.unwrap().items.len(),
            1,
            "{name}"
        );
        let workspaces: Api<DynamicObject> = Api::all_with(stage.client(), &resource("tf.upbound.io"));
        let found = workspaces.list(&ListParams::default()).await.unwrap().items;
        assert_eq!(found.len(), 1, "{name}");
        assert_eq!(found[0].name_any(), name.trim_end_matches("-apply"));
        assert_eq!(stage.ledger.made(), [name.trim_end_matches("-apply")], "{name}");
        assert!(stage.secret("blue-kubeconfig").await.is_some());
        stage.delete_plane("blue").await;
        stage.until_plane_is_gone("blue").await;
        assert_eq!(stage.ledger.destroyed().len(), 1, "{name}");
        stage.world.finish().await;
    }
}
