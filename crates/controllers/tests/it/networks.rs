//! CAPTClusters: from YAML to ready, and away again.

use std::{collections::BTreeMap, time::Duration};

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply, foreign::Cluster, marks,
};
use capt_controllers::ClusterController;
use capt_testkit::{Call, Calls, Disturbance, Events, Fault, Times, Verb, World};
use k8s_openapi::api::{core::v1::Secret, events::v1::Event};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams},
};
use serde_json::json;

use crate::{
    network::{NetworkUser as _, cluster, cluster_with_control_plane, existing_network, made_network},
    runner::Obstacle,
    stage::{
        CAPT, RUNNER, Setting, Stage, User as _, external_name, start_controllers, start_runner_in, template,
    },
};

/// A Cluster with a network from a template.
async fn make(stage: &Stage, name: &str) {
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster(name)).await;
    let _: CAPTCluster = stage.create(made_network(name)).await;
}

/// A control plane in the Cluster of this name, which stays until somebody lets it go.
fn held_control_plane(name: &str) -> serde_json::Value {
    json!({
        "metadata": {
            "name": name,
            "labels": {"cluster.x-k8s.io/cluster-name": name},
            "finalizers": ["example.org/held"],
        },
        "spec": {"version": "1.31", "workspaceTemplateRef": {"name": "eks"}},
    })
}

#[tokio::test]
async fn a_network_is_made_told_about_and_destroyed() {
    let stage = Stage::new().await;
    make(&stage, "blue").await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    let network = stage.network("blue").await.unwrap();
    assert_eq!(
        network.spec.workspace_template_apply_name.as_deref(),
        Some("blue-vpc")
    );
    let status = network.status.unwrap();
    assert!(status.ready);
    assert_eq!(status.initialization.unwrap().provisioned, Some(true));
    assert_eq!(status.vpc_id.as_deref(), Some("vpc-1"));
    assert_eq!(status.vpc_workspace_name.as_deref(), Some("blue-vpc"));
    let zones: Vec<String> = status
        .failure_domains
        .unwrap()
        .into_iter()
        .map(|zone| zone.name)
        .collect();
    assert_eq!(zones, ["eu-central-1a", "eu-central-1b"]);
    let told = status.workspace_template_status.unwrap();
    assert!(told.ready);
    assert_eq!(told.outputs.unwrap()["vpc_id"], "vpc-1");
    let apply = stage.apply("blue-vpc").await.unwrap();
    assert_eq!(apply.labels()[marks::OWNER], "CAPTCluster.blue");
    assert_eq!(apply.spec.variables.unwrap()["cluster_name"], "blue");
    let name = external_name(&stage.workspace("blue-vpc").await.unwrap());

    stage.delete_cluster("blue").await;
    stage.until_cluster_is_gone("blue").await;
    assert!(stage.network("blue").await.is_none());
    assert!(stage.apply("blue-vpc").await.is_none());
    assert_eq!(stage.ledger.destroyed(), [name]);
    stage.world.finish().await;
}

#[tokio::test]
async fn a_network_that_exists_is_told_about_and_never_touched() {
    let stage = Stage::new().await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(existing_network("blue")).await;
    stage
        .until_network_says("blue", "Ready", "True/ExistingVPCUsed")
        .await;
    let secrets: Api<Secret> = stage.api();
    let told = async || {
        let secret = secrets.get_opt("blue-vpc-connection").await.unwrap()?;
        let text = |key: &str| {
            let value = secret.data.as_ref()?.get(key)?;
            String::from_utf8(value.0.clone()).ok()
        };
        Some((text("vpc_id")?, text("private_subnets")?))
    };
    let expected = Some(("vpc-0a1b2c".to_owned(), "[\"subnet-1\",\"subnet-2\"]".to_owned()));
    assert_eq!(told().await, expected);
    let gone = DeleteParams::default();
    secrets.delete("blue-vpc-connection", &gone).await.unwrap();
    stage
        .until("the Secret to come back", async || told().await == expected)
        .await;
    stage.delete_cluster("blue").await;
    stage.until_cluster_is_gone("blue").await;
    assert_eq!(told().await, None);
    assert!(stage.ledger.made().is_empty());
    stage.world.finish().await;
}

#[tokio::test]
async fn nothing_is_done_before_a_cluster_owns_the_network() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage
        .until_network_says("blue", "WaitingForCluster", "True/ClusterNotFound")
        .await;
    stage.settle().await;
    let network = stage.network("blue").await.unwrap();
    assert!(network.finalizers().is_empty());
    assert!(stage.apply("blue-vpc").await.is_none());
    let mark = stage.recorder().mark();
    stage.advance(Duration::from_secs(24 * 3600)).await;
    assert!(stage.recorder().requests_since(mark).is_empty());

    let _: Cluster = stage.create(cluster("blue")).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage
        .until_network_says("blue", "WaitingForCluster", "False/ClusterFound")
        .await;
    stage.world.finish().await;
}

#[tokio::test]
async fn a_day_of_rest_costs_nothing() {
    let stage = Stage::embedded().await;
    make(&stage, "blue").await;
    let _: Cluster = stage.create(cluster("red")).await;
    let _: CAPTCluster = stage.create(existing_network("red")).await;
    stage.settle().await;
    assert_eq!(stage.network_says("blue", "Ready").await, "True/VPCCreated");
    assert_eq!(stage.network_says("red", "Ready").await, "True/ExistingVPCUsed");
    let mark = stage.recorder().mark();
    stage.advance(Duration::from_secs(24 * 3600)).await;
    let requests = stage.recorder().requests_since(mark);
    assert!(requests.is_empty(), "{requests:?}");
}

/// What a network costs on its way from nothing to ready: each write is there for a reason.
#[tokio::test]
async fn a_network_costs_no_more_writes_than_it_needs() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    stage.settle().await;
    let mark = stage.recorder().mark();
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for entry in stage.recorder().writes_since(mark) {
        let call = entry.call.to_string();
        let what: Vec<&str> = call.split(' ').take(3).collect();
        *counted.entry(what.join(" ")).or_default() += 1;
    }
    let count = |what: &str| counted.get(what).copied().unwrap_or_default();
    for kind in ["captclusters", "clusters", "workspacetemplateapplies"] {
        assert!(count(&format!("capt: Apply {kind}/status")) <= 5, "{counted:#?}");
        assert_eq!(count(&format!("capt: Patch {kind}/status")), 0, "{counted:#?}");
    }
    assert_eq!(count("capt: Create workspacetemplateapplies"), 0);
    assert_eq!(
        count("capt: Apply workspacetemplateapplies"),
        1,
        "it is made by one request, and nothing is said twice"
    );
    let all: usize = counted.values().sum();
    assert!(all - count("capt: Create events") <= 28, "{counted:#?}");
    stage.world.finish().await;
}

/// From the first write on, one pause at a time.
#[tokio::test]
async fn a_pause_stops_everything_also_the_end() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    let mut paused = cluster("blue");
    paused["spec"]["paused"] = json!(true);
    let _: Cluster = stage.create(paused).await;
    let mut network = made_network("blue");
    let of = stage.cluster("blue").await.unwrap();
    network["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "blue", "uid": of.uid(),
    }]);
    let _: CAPTCluster = stage.create(network).await;
    stage.until_network_says("blue", "Paused", "True/Paused").await;
    stage.settle().await;
    assert!(stage.apply("blue-vpc").await.is_none());

    stage.pause("blue", false).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;

    stage.pause("blue", true).await;
    stage.until_network_says("blue", "Paused", "True/Paused").await;
    stage.delete_network("blue").await;
    stage.settle().await;
    stage.advance(Duration::from_secs(24 * 3600)).await;
    assert!(stage.apply("blue-vpc").await.is_some());
    assert_eq!(stage.ledger.exists().len(), 1);

    stage.pause("blue", false).await;
    stage.until_network_is_gone("blue").await;
    assert!(stage.ledger.exists().is_empty());
    stage.world.finish().await;
}

#[tokio::test]
async fn a_retained_network_stays_with_its_workspace() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let mut network = made_network("blue");
    network["spec"]["retainVpcOnDelete"] = json!(true);
    let _: CAPTCluster = stage.create(network).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.delete_cluster("blue").await;
    stage.until_cluster_is_gone("blue").await;
    assert!(stage.apply("blue-vpc").await.is_none());
    assert_eq!(stage.ledger.exists().len(), 1);
    assert!(stage.ledger.destroyed().is_empty());
    let kept = stage.workspace("blue-vpc").await.unwrap();
    assert!(kept.annotations().contains_key(marks::RETAINED));
    stage.world.finish().await;
}

/// Somebody changes his mind about keeping it in the moment in which it goes.
#[tokio::test]
async fn the_last_word_about_keeping_a_network_counts() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let mut network = made_network("blue");
    network["spec"]["retainVpcOnDelete"] = json!(true);
    let _: CAPTCluster = stage.create(network).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    stage.pause("blue", true).await;
    stage.until_network_says("blue", "Paused", "True/Paused").await;
    let destroyed = json!({"spec": {"retainVpcOnDelete": false}});
    let _: CAPTCluster = stage.patch("blue", destroyed).await;
    stage.delete_network("blue").await;
    stage.pause("blue", false).await;
    stage.until_network_is_gone("blue").await;
    assert!(stage.ledger.exists().is_empty());
    assert_eq!(stage.ledger.destroyed().len(), 1);
    stage.world.finish().await;
}

#[tokio::test]
async fn who_thinks_of_keeping_a_network_when_its_workspace_goes_already_keeps_it() {
    let stage = Stage::embedded().await;
    make(&stage, "blue").await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    stage.world.stop(RUNNER);
    stage.delete_cluster("blue").await;
    stage
        .until("the Workspace to go", async || {
            let workspace = stage.workspace("blue-vpc").await.unwrap();
            workspace.metadata.deletion_timestamp.is_some()
        })
        .await;
    let kept = json!({"spec": {"retainVpcOnDelete": true}});
    let _: CAPTCluster = stage.patch("blue", kept).await;
    stage
        .until_network_says("blue", "Deleting", "True/VPCRetained")
        .await;
    stage.settle().await;
    start_runner_in(&stage.world, stage.world.namespace(), &stage.ledger);
    stage.until_cluster_is_gone("blue").await;
    stage.settle().await;
    assert!(stage.apply("blue-vpc").await.is_none());
    assert!(stage.ledger.destroyed().is_empty());
    let kept = stage.workspace("blue-vpc").await.unwrap();
    assert!(kept.annotations().contains_key(marks::RETAINED));
    assert!(kept.metadata.deletion_timestamp.is_none());
    stage.world.finish().await;
}

#[tokio::test]
async fn a_timeout_is_a_verdict_that_ends_when_the_fact_arrives() {
    for (obstacle, after, reason) in [
        (Obstacle::Slowness, 15, "VPCCreationTimeout"),
        (Obstacle::NoSecret, 5, "SecretTimeout"),
    ] {
        let stage = Stage::embedded().await;
        stage.ledger.obstruct(Some(obstacle));
        make(&stage, "blue").await;
        stage.advance(Duration::from_secs(after * 60 - 60)).await;
        assert!(
            stage
                .network_says("blue", "VPCFailed")
                .await
                .starts_with("False/")
        );
        stage.advance(Duration::from_secs(120)).await;
        assert_eq!(
            stage.network_says("blue", "VPCFailed").await,
            format!("True/{reason}")
        );
        let status = stage.network("blue").await.unwrap().status.unwrap();
        assert_eq!(status.failure_reason.as_deref(), Some(reason));
        let mark = stage.recorder().mark();
        stage.advance(Duration::from_secs(3600)).await;
        assert!(stage.recorder().writes_since(mark).is_empty());
        stage.ledger.obstruct(None);
        stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
        let status = stage.network("blue").await.unwrap().status.unwrap();
        assert_eq!(status.failure_reason, None);
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn what_fails_for_good_says_so_and_what_passes_is_waited_for() {
    for (trouble, condition, what) in [
        (
            "Error: AccessDenied: not authorized to perform ec2:CreateVpc",
            "VPCFailed",
            "True/VPCCreationFailed",
        ),
        (
            "Error: ThrottlingException: Rate exceeded",
            "VPCCreating",
            "True/Retrying",
        ),
    ] {
        let stage = Stage::embedded().await;
        stage.ledger.obstruct(Some(Obstacle::Trouble(trouble)));
        make(&stage, "blue").await;
        stage.until_network_says("blue", condition, what).await;
        stage.ledger.obstruct(None);
        stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn what_somebody_strips_comes_back() {
    let stage = Stage::embedded().await;
    make(&stage, "blue").await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    let before = stage.network("blue").await.unwrap();
    let bare = json!({"metadata": {"ownerReferences": null, "finalizers": null, "labels": null}});
    let _: CAPTCluster = stage.patch("blue", bare.clone()).await;
    stage.settle().await;
    let after = stage.network("blue").await.unwrap();
    assert_eq!(after.labels(), before.labels());
    assert_eq!(after.owner_references(), before.owner_references());
    assert_eq!(after.finalizers(), before.finalizers());
    assert_eq!(after.spec, before.spec);

    let before = stage.apply("blue-vpc").await.unwrap();
    let _: WorkspaceTemplateApply = stage.patch("blue-vpc", bare).await;
    stage.settle().await;
    let after = stage.apply("blue-vpc").await.unwrap();
    assert_eq!(after.labels(), before.labels());
    assert_eq!(after.owner_references(), before.owner_references());
    assert_eq!(after.finalizers(), before.finalizers());
    assert_eq!(after.annotations(), before.annotations());
    assert_eq!(stage.ledger.made().len(), 1);
    stage.world.finish().await;
}

/// An owner and the owned write to the same object, and neither takes away what the other wrote.
#[tokio::test]
async fn a_changed_network_keeps_what_its_apply_knows() {
    let stage = Stage::embedded().await;
    make(&stage, "blue").await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    let before = stage.apply("blue-vpc").await.unwrap();
    let tagged = json!({"spec": {"additionalTags": {"team": "blue"}}});
    let _: CAPTCluster = stage.patch("blue", tagged).await;
    stage.settle().await;
    let after = stage.apply("blue-vpc").await.unwrap();
    assert_ne!(after.spec, before.spec);
    assert_eq!(after.finalizers(), before.finalizers());
    assert_eq!(
        after.annotations()[marks::WORKSPACE],
        before.annotations()[marks::WORKSPACE]
    );
    stage.world.finish().await;
}

#[tokio::test]
async fn what_somebody_else_manages_is_left_alone() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let mut network = made_network("blue");
    network["metadata"]["annotations"] = json!({"cluster.x-k8s.io/managed-by": "somebody"});
    let _: CAPTCluster = stage.create(network).await;
    stage.settle().await;
    let network = stage.network("blue").await.unwrap();
    assert!(network.status.is_none());
    assert!(network.finalizers().is_empty());
    assert!(stage.apply("blue-vpc").await.is_none());
    stage.world.finish().await;
}

/// What is told about objects that only their Cluster is labelled for.
async fn overlooked(stage: &Stage) -> Vec<String> {
    let events = stage.api::<Event>().list(&ListParams::default()).await.unwrap();
    let told = events.into_iter();
    told.filter(|event| event.reason.as_deref() == Some("NotWatched"))
        .filter_map(|event| event.note)
        .collect()
}

#[tokio::test]
async fn only_what_is_labelled_for_us_is_worked_on() {
    let world = World::embedded_only().await;
    let setting = Setting {
        watch_filter: Some("ours".to_owned()),
        ..Setting::default()
    };
    let stage = Stage::set(world, &setting);
    stage.make_template("net").await;
    let labels = json!({"cluster.x-k8s.io/watch-filter": "ours"});
    for (name, is_ours) in [("blue", true), ("red", false)] {
        let (mut cluster, mut network) = (cluster(name), made_network(name));
        if is_ours {
            cluster["metadata"]["labels"] = labels.clone();
            network["metadata"]["labels"] = labels.clone();
        }
        let _: Cluster = stage.create(cluster).await;
        let _: CAPTCluster = stage.create(network).await;
    }
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    let red = stage.network("red").await.unwrap();
    assert!(red.status.is_none());
    assert!(red.owner_references().is_empty());
    assert!(stage.cluster("red").await.unwrap().status.is_none());
    assert!(overlooked(&stage).await.is_empty());
    let _: Cluster = stage.patch("red", json!({"metadata": {"labels": labels}})).await;
    stage.settle().await;
    let told = overlooked(&stage).await;
    assert!(
        told.len() == 1
            && told[0].contains("the Cluster red has the label cluster.x-k8s.io/watch-filter=ours"),
        "{told:?}"
    );
    assert!(stage.network("red").await.unwrap().status.is_none());
    let _: CAPTCluster = stage.patch("red", json!({"metadata": {"labels": labels}})).await;
    stage.until_network_says("red", "Ready", "True/VPCCreated").await;
    stage.world.finish().await;
}

/// One gets it first; when that went well, the others do.
#[tokio::test]
async fn an_edit_of_a_template_reaches_networks_one_after_the_other() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    for name in ["a", "b", "c"] {
        let _: Cluster = stage.create(cluster(name)).await;
        let _: CAPTCluster = stage.create(made_network(name)).await;
    }
    stage.settle().await;
    let revisions = async || {
        let mut all = Vec::new();
        for name in ["a-vpc", "b-vpc", "c-vpc"] {
            all.push(stage.apply(name).await.unwrap().spec.template_revision.unwrap());
        }
        all
    };
    let before = revisions().await;
    assert!(before.iter().all(|revision| *revision == before[0]));
    stage.ledger.obstruct(Some(Obstacle::Slowness));
    let edited = template("net", "large");
    let _: WorkspaceTemplate = stage.patch("net", json!({"spec": edited["spec"]})).await;
    stage.settle().await;
    let during = revisions().await;
    assert_ne!(during[0], before[0]);
    assert_eq!(during[1..], before[1..]);
    stage.ledger.obstruct(None);
    stage
        .until("the edit to reach everybody", async || {
            revisions().await.iter().all(|revision| *revision == during[0])
        })
        .await;
    for name in ["a", "b", "c"] {
        stage.until_network_says(name, "Ready", "True/VPCCreated").await;
    }
    stage.world.finish().await;
}

/// The watch of control planes may be behind, and a network must not go under one that was made a moment ago.
#[tokio::test]
async fn a_control_plane_that_is_not_known_yet_keeps_its_network() {
    let stage = Stage::embedded().await;
    make(&stage, "blue").await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    let stale = stage.faults().disturb(
        Events::to(CAPT).resource("captcontrolplanes"),
        Times::Every,
        Disturbance::Hold,
    );
    let _: CAPTControlPlane = stage.create(held_control_plane("blue")).await;
    // Nor is there none because an API server that is asked has not read its definitions yet.
    let asked = Calls::by(CAPT).verb(Verb::List).resource("captcontrolplanes");
    stage.faults().inject(asked, Times::Once, Fault::fail(404));
    stage.delete_network("blue").await;
    stage
        .until_network_says("blue", "Deleting", "True/WaitingForControlPlane")
        .await;
    stale.release();
    stage.settle().await;
    assert_eq!(
        stage.network_says("blue", "Deleting").await,
        "True/WaitingForControlPlane"
    );
    assert!(stage.ledger.destroyed().is_empty());
    let control_planes: Api<CAPTControlPlane> = stage.api();
    control_planes
        .delete("blue", &DeleteParams::default())
        .await
        .unwrap();
    let _: CAPTControlPlane = stage
        .patch("blue", json!({"metadata": {"finalizers": null}}))
        .await;
    stage.until_network_is_gone("blue").await;
    assert_eq!(stage.ledger.destroyed().len(), 1);
    stage.world.finish().await;
}

/// That somebody deleted the WorkspaceTemplateApply, as a cascade does, is not the end of the network.
#[tokio::test]
async fn an_apply_that_somebody_else_deletes_does_not_begin_the_end_of_its_network() {
    let stage = Stage::embedded().await;
    make(&stage, "blue").await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    let applies: Api<WorkspaceTemplateApply> = stage.api();
    let held = json!({"metadata": {"finalizers": ["example.org/held"]}});
    let _: WorkspaceTemplateApply = stage.patch("blue-vpc", held).await;
    applies
        .delete("blue-vpc", &DeleteParams::default())
        .await
        .unwrap();
    stage.settle().await;
    let _stale = stage.faults().disturb(
        Events::to(CAPT).resource("captcontrolplanes"),
        Times::Every,
        Disturbance::Hold,
    );
    let _: CAPTControlPlane = stage.create(held_control_plane("blue")).await;
    stage.delete_network("blue").await;
    stage
        .until_network_says("blue", "Deleting", "True/WaitingForControlPlane")
        .await;
    assert!(stage.ledger.destroyed().is_empty());
    stage.world.finish().await;
}

/// A reference that was stripped must not let a network go under a control plane, also where nobody brings it back.
#[tokio::test]
async fn a_network_that_lost_its_owner_still_waits_for_its_control_plane() {
    for (by, labels) in [
        ("its own label", json!({})),
        (
            "its WorkspaceTemplateApply's",
            json!({"cluster.x-k8s.io/cluster-name": null}),
        ),
    ] {
        let stage = Stage::embedded().await;
        make(&stage, "blue").await;
        stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
        let _: CAPTControlPlane = stage.create(held_control_plane("blue")).await;
        stage.settle().await;
        stage.world.stop(CAPT);
        let stripped = json!({"metadata": {"ownerReferences": null, "labels": labels}});
        let _: CAPTCluster = stage.patch("blue", stripped).await;
        stage.delete_cluster("blue").await;
        let _: Cluster = stage
            .patch("blue", json!({"metadata": {"finalizers": null}}))
            .await;
        stage.delete_network("blue").await;
        start_controllers(&stage.world, &Setting::default());
        stage
            .until(&format!("the network to be known by {by}"), async || {
                stage.network_says("blue", "Deleting").await == "True/WaitingForControlPlane"
            })
            .await;
        stage.settle().await;
        assert!(stage.ledger.destroyed().is_empty(), "{by}");
        stage.world.finish().await;
    }
}

/// What a Cluster refers to may exist, although nobody here knows its kind.
#[tokio::test]
async fn a_control_plane_of_a_kind_that_is_not_known_keeps_its_network() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster_with_control_plane("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.delete_network("blue").await;
    stage
        .until_network_says("blue", "Deleting", "True/WaitingForControlPlane")
        .await;
    stage.settle().await;
    assert!(stage.ledger.destroyed().is_empty());
    stage.world.finish().await;
}

/// A service account that has Roles in its namespace, and nothing in the whole cluster.
#[tokio::test]
async fn rights_in_one_namespace_are_enough_to_work_there() {
    let world = World::embedded_only().await;
    let is_cluster_wide =
        |call: &Call| call.namespace.is_empty() && matches!(call.verb, Verb::List | Verb::Watch);
    let forbidden = Calls::by(CAPT).matching(is_cluster_wide);
    let rule = world.faults().inject(forbidden, Times::Every, Fault::fail(403));
    let setting = Setting {
        // Whose the definition of Clusters is cannot be read.
        cluster_controller: ClusterController::On,
        ..Setting::default()
    };
    let stage = Stage::set(world, &setting);
    make(&stage, "blue").await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.delete_cluster("blue").await;
    stage.until_cluster_is_gone("blue").await;
    assert_eq!(stage.ledger.destroyed().len(), 1);
    assert!(rule.acted() > 0);
    stage.world.finish().await;
}
