//! Control planes that the Go implementation made: found, referred to, and kept as they are.

use capt_api::{
    CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    captcontrolplane::ControlPlaneState as State, foreign::Cluster, marks,
};
use capt_testkit::World;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, CustomResourceExt as _,
    api::{ListParams, Patch, PatchParams, PostParams},
    core::DynamicObject,
};
use serde_json::{Value, json};

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, eks_template, whole_cluster},
    runner::resource,
    stage::{Setting, Stage, User as _, start_controllers, start_runner},
};

const SPOT: &str = "blue-spot-role-create";
/// What templates of EKS clusters, and all others, were rendered to.
pub(crate) const EKS_MODULE: &str =
    "locals {\n  cluster = \"blue\"\n  version = \"1.31\"\n  vpc = \"vpc-1\"\n}\n";
pub(crate) const SMALL_MODULE: &str = "locals {\n  text = \"small\"\n  size = \"1\"\n}\n";
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

/// A control plane as the Go implementation leaves it.
pub(crate) async fn leave_plane(stage: &Stage, spec: &[(&str, Value)]) -> CAPTControlPlane {
    define(stage, lax()).await;
    let mut plane = control_plane("blue");
    plane["metadata"]["finalizers"] = json!([marks::CAPTCONTROLPLANE_FINALIZER]);
    plane["spec"]["controlPlaneConfig"] = json!({"region": "eu-central-1"});
    plane["spec"]["controlPlaneEndpoint"] = json!({"host": "https://10.0.0.1:6443", "port": 443});
    for (name, value) in spec {
        plane["spec"][name] = value.clone();
    }
    let plane: CAPTControlPlane = stage.create(plane).await;
    let planes: Api<CAPTControlPlane> = stage.api();
    let status =
        json!({"status": {"ready": true, "initialized": true, "phase": "Ready", "secretsReady": true}});
    planes
        .patch_status("blue", &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
    define(stage, serde_json::to_value(CAPTControlPlane::crd()).unwrap()).await;
    plane
}

/// It also made the account-wide role for spot instances, and had it destroyed with any cluster.
pub(crate) async fn leave_spot_role(stage: &Stage, name: &str, plane: &CAPTControlPlane) {
    let template = name.trim_start_matches("blue-");
    stage.make_template(template).await;
    let left = Left {
        name,
        template: json!({"name": template, "namespace": stage.namespace()}),
        module: SMALL_MODULE,
        variables: json!({"size": "1"}),
        secret: json!({"name": format!("{name}-connection"), "namespace": stage.namespace()}),
        owner: Some(owned_by(plane)),
    };
    leave(stage, left).await;
}

/// A world with somebody who runs Terraform, and nobody else.
pub(crate) async fn without_controllers() -> Stage {
    let world = World::embedded_only().await;
    let ledger = start_runner(&world);
    Stage {
        world,
        ledger,
        elsewhere: Setting::default().elsewhere,
    }
}

/// A cluster as the Go implementation leaves it, before our controllers are there.
async fn left_behind(name: &str, is_owned: bool) -> Stage {
    let stage = without_controllers().await;
    let _: WorkspaceTemplate = stage.create(eks_template("eks")).await;
    let mut cluster = whole_cluster("blue");
    cluster["spec"]
        .as_object_mut()
        .unwrap()
        .remove("infrastructureRef");
    let _: Cluster = stage.create(cluster).await;
    let plane = leave_plane(&stage, &[]).await;
    let left = Left {
        name,
        template: json!({"name": "eks", "namespace": stage.namespace()}),
        module: EKS_MODULE,
        variables: json!({
            "cluster_name": "blue", "kubernetes_version": "1.31", "region": "eu-central-1", "vpc_id": "vpc-1",
        }),
        secret: json!({"name": format!("{name}-connection"), "namespace": stage.namespace()}),
        owner: is_owned.then(|| owned_by(&plane)),
    };
    leave(&stage, left).await;
    leave_spot_role(&stage, SPOT, &plane).await;
    stage.settle().await;
    start_controllers(&stage, &Setting::default());
    stage
}

/// A WorkspaceTemplateApply with its Workspace, as the Go implementation leaves them.
pub(crate) struct Left<'a> {
    pub(crate) name: &'a str,
    pub(crate) template: Value,
    pub(crate) module: &'a str,
    pub(crate) variables: Value,
    /// Where the outputs are written.
    pub(crate) secret: Value,
    pub(crate) owner: Option<Value>,
}

/// The owner reference that the Go implementation writes.
pub(crate) fn owned_by(object: &impl kube::Resource<DynamicType = ()>) -> Value {
    let reference = object.controller_owner_ref(&()).unwrap();
    serde_json::to_value(reference).unwrap()
}

pub(crate) async fn leave(stage: &Stage, left: Left<'_>) {
    let workspace = workspace_of(left.name);
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "tf.upbound.io/v1beta1", "kind": "Workspace",
        "metadata": {"name": workspace, "annotations": {
            "crossplane.io/external-name": workspace,
            // An administrator ran `capt migrate`.
            marks::LEGACY_OF: format!("{}/{}", stage.namespace(), left.name),
        }},
        "spec": {
            "forProvider": {"source": "Inline", "module": left.module},
            "providerConfigRef": {"name": "default"},
            "writeConnectionSecretToRef": left.secret,
        },
    }))
    .unwrap();
    let workspaces: Api<DynamicObject> = Api::all_with(stage.client(), &resource("tf.upbound.io"));
    workspaces.create(&PostParams::default(), &object).await.unwrap();
    let old = json!({
        "metadata": {
            "name": left.name,
            "finalizers": [marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER],
            "ownerReferences": left.owner.into_iter().collect::<Vec<_>>(),
        },
        "spec": {
            "templateRef": left.template,
            "variables": left.variables,
            "writeConnectionSecretToRef": left.secret,
        },
    });
    let _: WorkspaceTemplateApply = stage.create(old).await;
    let status = json!({"status": {"workspaceName": workspace, "applied": true}});
    let applies: Api<WorkspaceTemplateApply> = stage.api();
    applies
        .patch_status(left.name, &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
}

/// The Workspace that the Go implementation makes for a WorkspaceTemplateApply of this name.
pub(crate) fn workspace_of(apply: &str) -> &str {
    apply.strip_suffix("-apply").unwrap_or(apply)
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
        let found = applies.list(&ListParams::default()).await.unwrap();
        assert_eq!(names(&found.items), sorted([name, SPOT]));
        let kept = sorted([workspace_of(name), SPOT]);
        let workspaces: Api<DynamicObject> = Api::all_with(stage.client(), &resource("tf.upbound.io"));
        let found = workspaces.list(&ListParams::default()).await.unwrap();
        assert_eq!(names(&found.items), kept);
        assert_eq!(stage.ledger.exists(), kept, "{name}");
        assert_eq!(stage.ledger.made().len(), 2, "{name}: nothing is made again");
        assert!(stage.secret("blue-kubeconfig").await.is_some());
        stage.delete_plane("blue").await;
        stage.until_plane_is_gone("blue").await;
        stage.settle().await;
        assert_eq!(stage.ledger.destroyed(), [workspace_of(name)]);
        assert_eq!(stage.ledger.exists(), [SPOT], "it is the whole account's");
        stage.world.finish().await;
    }
}

fn names<K: kube::Resource>(objects: &[K]) -> Vec<String> {
    objects.iter().map(kube::ResourceExt::name_any).collect()
}

fn sorted(names: [&str; 2]) -> Vec<String> {
    let mut names = names.map(str::to_owned).to_vec();
    names.sort();
    names
}
