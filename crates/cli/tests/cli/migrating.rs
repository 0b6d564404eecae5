//! A cluster that the Go implementation worked on.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, DynamicObject, PostParams},
    runtime::conditions::{is_crd_established, is_deleted},
};
use serde_json::{Value, json};

use crate::{asking::World, support::awaited};

const NAME: &str = "captcontrolplanetemplates.controlplane.cluster.x-k8s.io";
const API_VERSION: &str = "controlplane.cluster.x-k8s.io/v1beta1";

/// Puts the CRD of the Go implementation in the place of ours, with a template in it.
async fn old_world(version: &str) -> World {
    let world = World::quiet().await;
    let crds: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    let ours = crds.get(NAME).await.unwrap();
    crds.delete(NAME, &DeleteParams::default()).await.unwrap();
    let uid = ours.uid().unwrap();
    awaited(crds.clone(), NAME, "gone", is_deleted(&uid)).await;
    let old = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": NAME},
        "spec": {
            "group": "controlplane.cluster.x-k8s.io", "scope": "Namespaced",
            "names": {
                "kind": "CaptControlPlaneTemplate", "listKind": "CaptControlPlaneTemplateList",
                "plural": "captcontrolplanetemplates", "singular": "captcontrolplanetemplate",
            },
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    let old: CustomResourceDefinition = serde_json::from_value(old).unwrap();
    crds.create(&PostParams::default(), &old).await.unwrap();
    awaited(crds, NAME, "established", is_crd_established()).await;
    let template = json!({
        "apiVersion": API_VERSION, "kind": "CaptControlPlaneTemplate",
        "metadata": {"name": "eks", "namespace": "default", "labels": {"team": "a"}},
        "spec": {"template": {"spec": {"version": version, "workspaceTemplateRef": {"name": "eks"}}}},
    });
    let template: DynamicObject = serde_json::from_value(template).unwrap();
    let api = templates(&world, "CaptControlPlaneTemplate");
    api.create(&PostParams::default(), &template).await.unwrap();
    world
}

fn templates(world: &World, kind: &str) -> Api<DynamicObject> {
    world.objects(API_VERSION, kind, "captcontrolplanetemplates")
}

async fn kind(world: &World) -> String {
    let crds: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    crds.get(NAME).await.unwrap().spec.names.kind
}

async fn crds(world: &World) -> usize {
    let crds: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    crds.list(&Default::default()).await.unwrap().items.len()
}

#[tokio::test]
async fn a_crd_of_another_casing_is_replaced_and_its_objects_are_kept() {
    let world = old_world("v1.31.2").await;
    let known = crds(&world).await;
    let told = world.text(&["migrate", "--dry-run"]);
    assert!(
        told.contains("The CRD of CaptControlPlaneTemplate is replaced by that of CAPTControlPlaneTemplate"),
        "{told}"
    );
    let refusal = world.refusal(&["migrate"]);
    assert!(refusal.contains("capt migrate --backup FILE"), "{refusal}");
    assert_eq!(kind(&world).await, "CaptControlPlaneTemplate");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("templates.yaml");
    let told = world.text(&["migrate", "--backup", file.to_str().unwrap()]);
    assert!(told.ends_with("with 1 objects.\n"), "{told}");
    assert_eq!(kind(&world).await, "CAPTControlPlaneTemplate");
    let kept = templates(&world, "CAPTControlPlaneTemplate")
        .get("eks")
        .await
        .unwrap();
    assert_eq!(kept.data["spec"]["template"]["spec"]["version"], "v1.31.2");
    assert_eq!(kept.labels()["team"], "a");
    let backup: Value = serde_saphyr::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(backup["kind"], "CAPTControlPlaneTemplate");
    assert_eq!(backup["spec"], kept.data["spec"]);
    assert_eq!(crds(&world).await, known);

    assert_eq!(
        world.text(&["migrate"]),
        "Nothing of the Go implementation is here that capt has not taken over.\n"
    );
}

#[tokio::test]
async fn an_object_that_could_not_be_put_back_is_not_taken_away() {
    let world = old_world("no version").await;
    let known = crds(&world).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("templates.yaml");
    let refusal = world.refusal(&["migrate", "--backup", file.to_str().unwrap()]);
    assert!(
        refusal.contains("capt's schema does not accept captcontrolplanetemplate/eks in default"),
        "{refusal}"
    );
    assert_eq!(kind(&world).await, "CaptControlPlaneTemplate");
    let api = templates(&world, "CaptControlPlaneTemplate");
    assert_eq!(
        api.get("eks").await.unwrap().data["spec"]["template"]["spec"]["version"],
        "no version"
    );
    assert_eq!(crds(&world).await, known);

    // A file of somebody else is not written over.
    std::fs::write(&file, "mine").unwrap();
    let good = json!({"spec": {"template": {"spec": {"version": "1.31"}}}});
    let patch = kube::api::Patch::Merge(good);
    api.patch("eks", &Default::default(), &patch).await.unwrap();
    let refusal = world.refusal(&["migrate", "--backup", file.to_str().unwrap()]);
    assert!(refusal.contains("cannot keep the objects"), "{refusal}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(kind(&world).await, "CaptControlPlaneTemplate");
}

#[tokio::test]
async fn the_endpoint_of_a_cluster_that_is_a_url_is_shown_and_then_put_right() {
    let world = World::quiet().await;
    let planes = world.objects(API_VERSION, "CAPTControlPlane", "captcontrolplanes");
    let clusters = world.objects("cluster.x-k8s.io/v1beta2", "Cluster", "clusters");
    let metadata = json!({"name": "blue", "namespace": "default"});
    let plane = json!({
        "apiVersion": API_VERSION, "kind": "CAPTControlPlane", "metadata": metadata,
        "spec": {
            "version": "1.31", "workspaceTemplateRef": {"name": "eks"},
            "controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443},
        },
    });
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata,
        "spec": {
            "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "CAPTControlPlane", "name": "blue"},
            "controlPlaneEndpoint": {"host": "https://10.0.0.1", "port": 6443},
        },
    });
    for (api, object) in [(&planes, plane), (&clusters, cluster)] {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    let host = async || {
        let cluster = clusters.get("blue").await.unwrap();
        cluster.data["spec"]["controlPlaneEndpoint"].clone()
    };
    let told = world.text(&["migrate", "--dry-run"]);
    let shown = "The endpoint https://10.0.0.1 of the Cluster default/blue is written as host and port: 10.0.0.1:6443";
    assert!(told.contains(shown), "{told}");
    for (namespace, is_shown) in [("default", true), ("kube-system", false)] {
        let told = world.text(&["migrate", "--dry-run", "-n", namespace]);
        assert_eq!(told.contains(shown), is_shown, "{namespace}: {told}");
    }
    let refusal = world.refusal(&["migrate", "--dry-run", "-n", "elsewhere"]);
    assert!(refusal.contains("there is no namespace elsewhere"), "{refusal}");
    assert_eq!(host().await["host"], "https://10.0.0.1");
    let told = world.text(&["migrate"]);
    assert!(
        told.ends_with("The endpoint of the Cluster default/blue is 10.0.0.1:6443 now.\n"),
        "{told}"
    );
    assert_eq!(host().await, json!({"host": "10.0.0.1", "port": 6443}));
    assert_eq!(
        world.text(&["migrate"]),
        "Nothing of the Go implementation is here that capt has not taken over.\n"
    );
}
