//! Owners and what they own: what a cascade does, and what an object that is made again finds.

use std::time::Duration;

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply, conditions::find_condition,
    foreign::Cluster, marks,
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams},
};
use serde_json::json;

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, eks_template, whole_cluster},
    network::{NetworkUser as _, cluster, made_network},
    stage::{CAPT, Setting, Stage, User as _, apply, external_name, start_controllers},
};

/// Where the outputs are written must not depend on who deleted what.
#[tokio::test]
async fn a_network_whose_apply_somebody_deletes_keeps_its_secret() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    let before = stage.apply("blue-vpc").await.unwrap();
    stage.delete_apply("blue-vpc").await;
    stage
        .until("another apply", async || {
            let now = stage.apply("blue-vpc").await;
            now.is_some_and(|now| now.uid() != before.uid())
        })
        .await;
    stage.until_ready("blue-vpc").await;
    stage.settle().await;
    let now = stage.apply("blue-vpc").await.unwrap();
    assert_eq!(
        now.spec.write_connection_secret_to_ref,
        before.spec.write_connection_secret_to_ref
    );
    let secrets: Api<Secret> = stage.api();
    let secrets = secrets.list(&ListParams::default()).await.unwrap();
    let names: Vec<String> = secrets.iter().map(kube::ResourceExt::name_any).collect();
    let connections: Vec<&String> = names.iter().filter(|name| name.contains("connection")).collect();
    assert_eq!(connections, ["blue-vpc-connection"]);
    assert_eq!(stage.ledger.made().len(), 1);
    assert!(stage.ledger.destroyed().is_empty());
    stage.world.finish().await;
}

/// Somebody deletes what makes the network and the cluster, and everything else before it is made again.
async fn outlived() -> Stage {
    let stage = Stage::embedded().await;
    stage
        .make_cluster_with_network("blue", control_plane("blue"))
        .await;
    stage.until_plane_says("blue", "Ready", "True/Ready").await;
    stage.settle().await;
    stage.world.stop(CAPT);
    for name in ["blue-vpc", "blue-eks-controlplane-apply"] {
        stage.delete_apply(name).await;
        let _: WorkspaceTemplateApply = stage.patch(name, json!({"metadata": {"finalizers": null}})).await;
        assert!(stage.apply(name).await.is_none(), "{name}");
    }
    stage.delete_cluster("blue").await;
    stage.delete_plane("blue").await;
    stage.delete_network("blue").await;
    start_controllers(&stage.world, &Setting::default());
    stage
}

/// Nothing is destroyed that nobody spoke about, and nothing is left behind in silence.
#[tokio::test]
async fn what_outlived_its_apply_waits_for_a_word_when_its_owner_goes() {
    for is_kept in [false, true] {
        let stage = outlived().await;
        let made = stage.ledger.made().len();
        let answer = |apply: &str| {
            let answer = if is_kept { "false" } else { apply };
            json!({"metadata": {"annotations": {marks::LET_GO: answer}}})
        };
        stage
            .until_plane_says("blue", "Deleting", "True/DeletionFailed")
            .await;
        stage.settle().await;
        let told = stage.status("blue").await;
        let conditions = told.conditions.unwrap();
        let told = &find_condition(&conditions, "Deleting").unwrap().message;
        assert!(
            told.contains("blue-eks-controlplane (ready)")
                && told.contains("kubectl annotate captcontrolplane blue"),
            "{told}"
        );
        let before = stage.world.recorder().mark();
        stage.world.advance(Duration::from_secs(3600)).await;
        assert!(stage.ledger.destroyed().is_empty(), "nobody said that it may be");
        let writes = stage.world.recorder().writes_since(before);
        assert!(writes.iter().all(|entry| entry.call.caller != CAPT), "it rests");

        let _: CAPTControlPlane = stage.patch("blue", answer("blue-eks-controlplane-apply")).await;
        stage.until_plane_is_gone("blue").await;
        stage
            .until_network_says("blue", "Deleting", "True/VPCDeletionFailed")
            .await;
        stage.settle().await;
        assert_eq!(stage.ledger.destroyed().len(), usize::from(!is_kept));
        let _: CAPTCluster = stage.patch("blue", answer("blue-vpc")).await;
        stage.until_cluster_is_gone("blue").await;
        stage.settle().await;
        assert_eq!(stage.ledger.made().len(), made, "nothing is made for what goes");
        assert_eq!(stage.ledger.exists().len(), if is_kept { 2 } else { 0 });
        stage.world.finish().await;
    }
}

/// The garbage collector asks everybody to go at once; each goes when its owner comes to it.
#[tokio::test]
async fn a_cascade_in_the_foreground_changes_neither_the_order_nor_what_is_retained() {
    for is_retained in [false, true] {
        let stage = Stage::embedded().await;
        stage.make_template("net").await;
        let _: WorkspaceTemplate = stage.create(eks_template("eks")).await;
        let _: Cluster = stage.create(whole_cluster("blue")).await;
        let mut network = made_network("blue");
        network["spec"]["retainVpcOnDelete"] = json!(is_retained);
        let _: CAPTCluster = stage.create(network).await;
        let _: CAPTControlPlane = stage.create(control_plane("blue")).await;
        stage.until_plane_says("blue", "Ready", "True/Ready").await;
        stage.settle().await;
        let name = async |workspace| external_name(&stage.workspace(workspace).await.unwrap());
        let (vpc, eks) = (name("blue-vpc").await, name("blue-eks-controlplane").await);

        let clusters: Api<Cluster> = stage.api();
        clusters
            .delete("blue", &DeleteParams::foreground())
            .await
            .unwrap();
        stage.until_cluster_is_gone("blue").await;
        stage.settle().await;
        assert!(stage.plane("blue").await.is_none() && stage.network("blue").await.is_none());
        if is_retained {
            assert_eq!(stage.ledger.destroyed(), [eks]);
            assert_eq!(stage.ledger.exists(), [vpc]);
        } else {
            assert_eq!(stage.ledger.destroyed(), [eks, vpc]);
        }
        stage.world.finish().await;
    }
}

/// The garbage collector does not ask who controls whom.
#[tokio::test]
async fn a_cascade_from_one_who_does_not_control_it_destroys_nothing() {
    let stage = Stage::embedded().await;
    let owner: ConfigMap = stage.create(json!({"metadata": {"name": "bundle"}})).await;
    stage.make_template("net").await;
    let mut owned = apply("blue", "net");
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "bundle", "uid": owner.uid(),
    }]);
    let _: WorkspaceTemplateApply = stage.create(owned).await;
    stage.until_ready("blue").await;
    let name = external_name(&stage.workspace("blue").await.unwrap());
    let owners: Api<ConfigMap> = stage.api();
    owners
        .delete("bundle", &DeleteParams::background())
        .await
        .unwrap();
    stage.until_says("blue", "Deleting", "True/ConsentMissing").await;
    stage.settle().await;
    assert!(stage.ledger.destroyed().is_empty());
    assert_eq!(stage.ledger.exists(), [name]);
    stage.world.finish().await;
}
