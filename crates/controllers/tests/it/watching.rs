//! What the controllers do not look at stays as it is: other namespaces, objects that are not labelled for them, and
//! Clusters that somebody else looks after.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    captcontrolplane::ControlPlaneState as State,
    foreign::{Cluster, marks::WATCH_FILTER},
    marks,
};
use capt_controllers::ClusterController;
use capt_testkit::{Entry, World};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, eks_template, whole_cluster},
    network::{NetworkUser as _, existing_network, made_network},
    stage::{Neighbour, Setting, Stage, User as _, apply},
};

/// What was written that is like this, in words.
fn writes(stage: &Stage, is_meant: impl Fn(&Entry) -> bool) -> Vec<String> {
    let all = stage.recorder().writes();
    let meant = all.iter().filter(|entry| is_meant(entry));
    meant.map(|entry| entry.call.to_string()).collect()
}

#[tokio::test]
async fn objects_of_other_namespaces_are_left_alone() {
    let stage = Stage::embedded().await;
    let neighbour = Neighbour::of(&stage, "elsewhere").await;
    neighbour
        .make_cluster_with_network("blue", control_plane("blue"))
        .await;
    neighbour.make_apply("alone", "net").await;
    stage
        .make_cluster_with_network("blue", control_plane("blue"))
        .await;
    stage.make_apply("alone", "net").await;
    stage.until_state("blue", State::Ready).await;
    stage.until_ready("alone").await;
    stage.settle().await;
    let untouched = || writes(&stage, |entry| entry.call.namespace == "elsewhere");
    assert!(untouched().is_empty(), "{:#?}", untouched());
    let templates: Api<WorkspaceTemplate> = neighbour.api();
    assert!(templates.get("net").await.unwrap().finalizers().is_empty());
    neighbour.delete_cluster("blue").await;
    neighbour.delete_apply("alone").await;
    stage.settle().await;
    assert!(neighbour.cluster("blue").await.is_none());
    assert!(neighbour.network("blue").await.unwrap().status.is_none());
    assert!(neighbour.plane("blue").await.unwrap().status.is_none());
    assert!(untouched().is_empty(), "{:#?}", untouched());
    stage.world.finish().await;
}

#[tokio::test]
async fn objects_of_any_kind_are_worked_on_only_with_the_label() {
    let setting = Setting {
        watch_filter: Some("ours".to_owned()),
        ..Setting::default()
    };
    let stage = Stage::set(World::embedded_only().await, &setting);
    stage.make_template("net").await;
    let _: WorkspaceTemplate = stage.create(eks_template("eks")).await;
    let labels = json!({"metadata": {"labels": {WATCH_FILTER: "ours"}}});
    for (name, is_ours) in [("red", false), ("blue", true)] {
        let mut objects = [
            whole_cluster(name),
            existing_network(name),
            control_plane(name),
            apply(&format!("{name}-alone"), "net"),
        ];
        for object in &mut objects {
            let value = if is_ours { "ours" } else { "theirs" };
            object["metadata"]["labels"] = json!({WATCH_FILTER: value});
        }
        let [cluster, network, plane, apply] = objects;
        let _: Cluster = stage.create(cluster).await;
        let _: CAPTCluster = stage.create(network).await;
        let _: CAPTControlPlane = stage.create(plane).await;
        let _: WorkspaceTemplateApply = stage.create(apply).await;
    }
    stage.until_state("blue", State::Ready).await;
    stage.until_ready("blue-alone").await;
    stage.settle().await;
    let untouched = writes(&stage, |entry| {
        let body = String::from_utf8_lossy(&entry.call.body);
        entry.call.name.starts_with("red") || body.contains("\"red\"") || body.contains("\"red-alone\"")
    });
    assert!(untouched.is_empty(), "{untouched:#?}");
    assert!(stage.plane("red").await.unwrap().status.is_none());
    assert!(stage.apply("red-alone").await.unwrap().status.is_none());

    let _: WorkspaceTemplateApply = stage.patch("red-alone", labels.clone()).await;
    stage.until_ready("red-alone").await;
    // One that nobody owns is waited for; that it is said shows that it is worked on.
    let _: CAPTControlPlane = stage.patch("red", labels).await;
    stage
        .until_plane_says("red", "Ready", "False/WaitingForCluster")
        .await;
    stage.world.finish().await;
}

/// The definition of Clusters becomes Cluster API's own.
async fn install_cluster_api(world: &World) {
    let definitions: Api<CustomResourceDefinition> = Api::all(world.client());
    let theirs = json!({"metadata": {
        "labels": {"cluster.x-k8s.io/provider": "cluster-api"},
        "annotations": {marks::LEAN_VIEW: null},
    }});
    definitions
        .patch(
            "clusters.cluster.x-k8s.io",
            &PatchParams::default(),
            &Patch::Merge(&theirs),
        )
        .await
        .unwrap();
}

#[tokio::test]
async fn clusters_that_somebody_else_looks_after_are_never_written() {
    for (wish, is_theirs) in [(ClusterController::Off, false), (ClusterController::Auto, true)] {
        let world = World::embedded_only().await;
        if is_theirs {
            install_cluster_api(&world).await;
        }
        let setting = Setting {
            cluster_controller: wish,
            ..Setting::default()
        };
        let stage = Stage::set(world, &setting);
        stage.make_template("net").await;
        let _: WorkspaceTemplate = stage.create(eks_template("eks")).await;
        let of: Cluster = stage.create(whole_cluster("blue")).await;
        let (mut network, mut plane) = (made_network("blue"), control_plane("blue"));
        // What Cluster API does with what a Cluster refers to.
        for object in [&mut network, &mut plane] {
            object["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "blue"});
            object["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "blue", "uid": of.uid(),
                "controller": true,
            }]);
        }
        let _: CAPTCluster = stage.create(network).await;
        let _: CAPTControlPlane = stage.create(plane).await;
        stage.until_state("blue", State::Ready).await;
        stage.settle().await;
        stage.delete_plane("blue").await;
        stage.until_plane_is_gone("blue").await;
        stage.delete_network("blue").await;
        stage.until_network_is_gone("blue").await;
        stage.settle().await;
        let written = writes(&stage, |entry| {
            entry.call.resource == "clusters" && entry.call.group == "cluster.x-k8s.io"
        });
        assert!(written.is_empty(), "{wish:?}: {written:#?}");
        let now = stage.cluster("blue").await.unwrap();
        assert_eq!(now.resource_version(), of.resource_version(), "{wish:?}");
        assert!(stage.ledger.exists().is_empty());
        stage.world.finish().await;
    }
}
