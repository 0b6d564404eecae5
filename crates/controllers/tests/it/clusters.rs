//! Clusters where nothing of Cluster API runs: what our own controller does for them.

use std::time::Duration;

use capt_api::{CAPTCluster, conditions::find_condition, foreign::Cluster};
use capt_testkit::World;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::json;

use crate::{
    controlplane::whole_cluster,
    network::{
        NetworkUser as _, cluster, cluster_with_control_plane, existing_network, made_network,
        other_control_plane,
    },
    stage::{Setting, Stage, User as _, start_controllers},
};

/// With a kind of control planes that nobody here knows.
async fn stage() -> Stage {
    let world = World::builder()
        .embedded_only()
        .crd(other_control_plane())
        .start()
        .await;
    Stage::set(world, &Setting::default())
}

#[tokio::test]
async fn a_cluster_owns_what_it_names_and_takes_what_that_tells() {
    let stage = stage().await;
    let _: Cluster = stage.create(cluster_with_control_plane("blue")).await;
    stage
        .until_cluster_says("blue", "InfrastructureReady", "False/ObjectDoesNotExist")
        .await;
    let phase = async || {
        let cluster = stage.cluster("blue").await.unwrap();
        cluster.status.and_then(|status| status.phase).unwrap_or_default()
    };
    assert_eq!(phase().await, "Provisioning");
    let _: CAPTCluster = stage.create(existing_network("blue")).await;
    stage.make_control_plane("blue").await;
    stage
        .until_cluster_says("blue", "InfrastructureReady", "True/ExistingVPCUsed")
        .await;
    stage.settle().await;
    let uid = stage.cluster("blue").await.unwrap().uid().unwrap();
    let network = stage.network("blue").await.unwrap();
    let control_plane = stage.control_planes().get("blue").await.unwrap();
    for (owners, labels) in [
        (network.owner_references(), network.labels()),
        (control_plane.owner_references(), control_plane.labels()),
    ] {
        assert_eq!(owners.len(), 1);
        assert_eq!(
            (owners[0].kind.as_str(), owners[0].uid.as_str()),
            ("Cluster", uid.as_str())
        );
        assert_eq!(labels["cluster.x-k8s.io/cluster-name"], "blue");
    }
    assert_eq!(
        stage.cluster_says("blue", "ControlPlaneInitialized").await,
        "False/NotInitialized"
    );
    stage
        .patch_control_plane(
            "blue",
            json!({
                "spec": {"controlPlaneEndpoint": {"host": "api.example.org", "port": 443}},
                "status": {
                    "initialization": {"controlPlaneInitialized": true},
                    "conditions": [{"type": "Available", "status": "True"}],
                },
            }),
        )
        .await;
    stage
        .until_cluster_says("blue", "Available", "True/Available")
        .await;
    let cluster = stage.cluster("blue").await.unwrap();
    let endpoint = cluster.spec.control_plane_endpoint.unwrap();
    assert_eq!(endpoint.host.as_deref(), Some("api.example.org"));
    assert_eq!(endpoint.port, Some(443));
    assert_eq!(phase().await, "Provisioned");
    stage.settle().await;
    let network = stage.network("blue").await.unwrap();
    assert_eq!(
        network.status.unwrap().endpoint.as_deref(),
        Some("api.example.org:443")
    );
    let mark = stage.recorder().mark();
    stage.advance(Duration::from_secs(24 * 3600)).await;
    let requests = stage.recorder().requests_since(mark);
    assert!(requests.is_empty(), "{requests:?}");
}

#[tokio::test]
async fn a_cluster_goes_after_its_control_plane_and_its_network() {
    let stage = stage().await;
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster_with_control_plane("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage.make_control_plane("blue").await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    stage.delete_cluster("blue").await;
    stage
        .until_cluster_says("blue", "Deleting", "True/WaitingForControlPlaneDeletion")
        .await;
    // Somebody is in a hurry.
    stage.delete_network("blue").await;
    stage
        .until_network_says("blue", "Deleting", "True/WaitingForControlPlane")
        .await;
    stage.advance(Duration::from_secs(24 * 3600)).await;
    assert!(stage.ledger.destroyed().is_empty());
    stage
        .patch_control_plane("blue", json!({"metadata": {"finalizers": null}}))
        .await;
    stage.until_cluster_is_gone("blue").await;
    assert!(stage.network("blue").await.is_none());
    assert!(stage.apply("blue-vpc").await.is_none());
    assert_eq!(stage.ledger.destroyed().len(), 1);
    stage.world.finish().await;
}

#[tokio::test]
async fn a_reference_that_leads_nowhere_says_why() {
    let stage = stage().await;
    let mut lost = cluster("blue");
    lost["spec"]["infrastructureRef"] =
        json!({"apiGroup": "tf.m.upbound.io", "kind": "Workspace", "name": "blue"});
    let _: Cluster = stage.create(lost).await;
    let mut unknown = cluster("red");
    unknown["spec"]["infrastructureRef"]["kind"] = json!("Unheard");
    let _: Cluster = stage.create(unknown).await;
    for (name, words) in [
        ("blue", "has no label"),
        ("red", "does not serve the kind Unheard"),
    ] {
        stage
            .until_cluster_says(name, "InfrastructureReady", "Unknown/InternalError")
            .await;
        let status = stage.cluster(name).await.unwrap().status.unwrap();
        let conditions = status.conditions.unwrap();
        let said = capt_api::conditions::find_condition(&conditions, "InfrastructureReady").unwrap();
        assert!(said.message.contains(words), "{}", said.message);
    }
    stage.world.finish().await;
}

#[tokio::test]
async fn a_kind_that_is_installed_later_is_found() {
    let stage = Stage::embedded().await;
    let mut late = cluster_with_control_plane("blue");
    late["spec"].as_object_mut().unwrap().remove("infrastructureRef");
    let _: Cluster = stage.create(late).await;
    stage
        .until_cluster_says("blue", "ControlPlaneAvailable", "Unknown/InternalError")
        .await;
    let definitions = Api::all(stage.client());
    definitions
        .create(&PostParams::default(), &other_control_plane())
        .await
        .unwrap();
    stage
        .until_cluster_says("blue", "ControlPlaneAvailable", "False/ObjectDoesNotExist")
        .await;
    stage.make_control_plane("blue").await;
    stage
        .until_cluster_says("blue", "ControlPlaneAvailable", "False/NotAvailable")
        .await;
    stage.world.finish().await;
}

#[tokio::test]
async fn what_others_say_about_a_cluster_stays() {
    let stage = Stage::embedded().await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(existing_network("blue")).await;
    stage
        .until_cluster_says("blue", "InfrastructureReady", "True/ExistingVPCUsed")
        .await;
    let api: Api<Cluster> = stage.api();
    let theirs = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "status": {"observed": "by somebody", "conditions": [{
            "type": "Blessed", "status": "True", "reason": "Sunday", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    });
    let somebody = PatchParams::apply("somebody").force();
    api.patch_status("blue", &somebody, &Patch::Apply(&theirs))
        .await
        .unwrap();
    stage.pause("blue", true).await;
    stage.until_cluster_says("blue", "Paused", "True/Paused").await;
    assert_eq!(stage.cluster_says("blue", "Blessed").await, "True/Sunday");
    let status = stage.cluster("blue").await.unwrap().status.unwrap();
    assert_eq!(status.rest["observed"], json!("by somebody"));
    stage.world.finish().await;
}

#[tokio::test]
async fn a_cluster_goes_after_its_workers() {
    let definition = serde_json::from_value(json!({
        "metadata": {"name": "machinedeployments.cluster.x-k8s.io"},
        "spec": {
            "group": "cluster.x-k8s.io",
            "names": {"kind": "MachineDeployment", "plural": "machinedeployments",
                      "singular": "machinedeployment", "listKind": "MachineDeploymentList"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1beta2", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    }))
    .unwrap();
    let world = World::builder().embedded_only().crd(definition).start().await;
    let stage = Stage::set(world, &Setting::default());
    let made: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(existing_network("blue")).await;
    stage
        .until_cluster_says("blue", "InfrastructureReady", "True/ExistingVPCUsed")
        .await;
    let kind = GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "MachineDeployment");
    let workers: Api<DynamicObject> =
        Api::namespaced_with(stage.client(), stage.namespace(), &ApiResource::from_gvk(&kind));
    let worker = serde_json::from_value(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
        "metadata": {
            "name": "blue", "finalizers": ["example.org/held"],
            "labels": {"cluster.x-k8s.io/cluster-name": "blue"},
            "ownerReferences": [{
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "blue", "uid": made.uid(),
            }],
        },
    }))
    .unwrap();
    workers.create(&PostParams::default(), &worker).await.unwrap();
    stage.settle().await;
    stage.delete_cluster("blue").await;
    stage
        .until_cluster_says("blue", "Deleting", "True/WaitingForWorkersDeletion")
        .await;
    stage.settle().await;
    assert!(
        workers
            .get("blue")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_some()
    );
    let network = stage.network("blue").await.unwrap();
    assert!(network.metadata.deletion_timestamp.is_none());
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    workers
        .patch("blue", &PatchParams::default(), &free)
        .await
        .unwrap();
    stage.until_cluster_is_gone("blue").await;
    assert!(stage.network("blue").await.is_none());
    stage.world.finish().await;
}

/// The contract knows two ways to pause a Cluster, and by both it takes nothing over.
#[tokio::test]
async fn what_a_paused_cluster_refers_to_says_that_it_waits_for_the_end_of_the_pause() {
    let world = World::embedded_only().await;
    start_controllers(&world, &Setting::default());
    for (name, is_by_annotation) in [("blue", false), ("green", true)] {
        let mut cluster = whole_cluster(name);
        if is_by_annotation {
            cluster["metadata"]["annotations"] = json!({capt_api::foreign::marks::PAUSED: ""});
        } else {
            cluster["spec"]["paused"] = json!(true);
        }
        let _: Cluster = world.create(cluster).await;
        let _: CAPTCluster = world
            .create(json!({
                "metadata": {"name": name},
                "spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "vpc"}},
            }))
            .await;
        world.settle().await;
        let network: CAPTCluster = world.api().get(name).await.unwrap();
        let conditions = network
            .status
            .and_then(|status| status.conditions)
            .unwrap_or_default();
        let paused = find_condition(&conditions, "Paused").unwrap();
        let expected = format!("the Cluster {name}, which refers to this object and will own it, is paused");
        assert_eq!(paused.status, "True");
        assert!(paused.message.contains(&expected), "{}", paused.message);
    }
    // Who ends the pause is heard.
    let end = json!({"metadata": {"annotations": {capt_api::foreign::marks::PAUSED: null}}});
    let _: Cluster = world.patch("green", end).await;
    world
        .until("the network to be taken over", async || {
            let network: CAPTCluster = world.api().get("green").await.unwrap();
            let conditions = network
                .status
                .and_then(|status| status.conditions)
                .unwrap_or_default();
            find_condition(&conditions, "Paused").is_some_and(|paused| paused.status == "False")
        })
        .await;
    world.finish().await;
}
