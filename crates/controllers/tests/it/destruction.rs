//! Destruction is granted, never implied: everything that a person or a machine does short of asking for it.

use capt_api::{CAPTCluster, WorkspaceTemplateApply, marks};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PropagationPolicy},
};
use serde_json::{Value, json};

use crate::stage::{CAPT, Setting, Stage, User as _, apply, external_name, policies, start_controllers};

/// An apply that is ready, and the name that its state is kept under.
async fn ready(stage: &Stage) -> String {
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    external_name(&stage.workspace("blue").await.unwrap())
}

async fn make_owner(stage: &Stage) -> CAPTCluster {
    stage
        .create(json!({
            "metadata": {"name": "prod"},
            "spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "net"}},
        }))
        .await
}

fn owned_by(owner: &CAPTCluster) -> Value {
    let mut owned = apply("blue", "net");
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "CAPTCluster",
        "name": owner.name_any(),
        "uid": owner.uid(),
        "controller": true,
        "blockOwnerDeletion": true,
    }]);
    owned
}

/// An owned apply that is ready, its owner, and the name that its state is kept under.
async fn ready_and_owned(stage: &Stage) -> (CAPTCluster, String) {
    let owner = make_owner(stage).await;
    stage.make_template("net").await;
    let _: WorkspaceTemplateApply = stage.create(owned_by(&owner)).await;
    stage.until_ready("blue").await;
    (owner, external_name(&stage.workspace("blue").await.unwrap()))
}

#[track_caller]
fn nothing_was_destroyed(stage: &Stage, name: &str) {
    assert_eq!(stage.ledger.destroyed(), Vec::<String>::new());
    assert_eq!(stage.ledger.exists(), [name]);
}

#[tokio::test]
async fn a_workspace_that_somebody_deletes_comes_back_with_its_state() {
    let stage = Stage::new().await;
    let name = ready(&stage).await;
    let before = stage.workspace("blue").await.unwrap();
    stage.delete_workspace("blue").await;
    stage
        .until("another Workspace", async || {
            let now = stage.workspace("blue").await;
            now.is_some_and(|now| now.uid() != before.uid() && external_name(&now) == name)
        })
        .await;
    stage.until_ready("blue").await;
    nothing_was_destroyed(&stage, &name);
    stage.world.finish().await;
}

#[tokio::test]
async fn a_grant_by_any_other_hand_is_taken_back() {
    let stage = Stage::new().await;
    let name = ready(&stage).await;
    let patch = Patch::Merge(json!({"spec": {"managementPolicies": ["*"]}}));
    let workspaces = stage.workspaces();
    workspaces
        .patch("blue", &PatchParams::default(), &patch)
        .await
        .unwrap();
    stage
        .until("the grant to be taken back", async || {
            policies(&stage.workspace("blue").await.unwrap()) != json!(["*"])
        })
        .await;
    nothing_was_destroyed(&stage, &name);
    stage.world.finish().await;
}

#[tokio::test]
async fn an_owned_apply_that_somebody_deletes_leaves_its_workspace_to_the_next_one() {
    for is_reference_stripped in [false, true] {
        let stage = Stage::embedded().await;
        let (owner, name) = ready_and_owned(&stage).await;
        if is_reference_stripped {
            let stripped = json!({"metadata": {"ownerReferences": null}});
            let _: WorkspaceTemplateApply = stage.patch("blue", stripped).await;
        }
        stage.delete_apply("blue").await;
        stage.until_gone("blue").await;
        stage.settle().await;
        let left = stage
            .workspace("blue")
            .await
            .expect("the Workspace stays for the owner");
        assert_ne!(policies(&left), json!(["*"]));
        nothing_was_destroyed(&stage, &name);
        // The owner makes it again, and finds everything.
        let _: WorkspaceTemplateApply = stage.create(owned_by(&owner)).await;
        stage.until_ready("blue").await;
        let now = stage.workspace("blue").await.unwrap();
        assert_eq!((now.uid(), external_name(&now)), (left.uid(), name.clone()));
        nothing_was_destroyed(&stage, &name);
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn a_cascade_from_the_owner_destroys_nothing_until_the_owner_consents() {
    for (propagation, reason) in [
        (PropagationPolicy::Foreground, "True/WaitingForOwner"),
        (PropagationPolicy::Background, "True/OwnerGone"),
    ] {
        let stage = Stage::embedded().await;
        let (_, name) = ready_and_owned(&stage).await;
        let owners: Api<CAPTCluster> = stage.api();
        let cascade = DeleteParams {
            propagation_policy: Some(propagation),
            ..DeleteParams::default()
        };
        owners.delete("prod", &cascade).await.unwrap();
        stage.until_says("blue", "Deleting", reason).await;
        stage.settle().await;
        assert!(stage.workspace("blue").await.is_some());
        nothing_was_destroyed(&stage, &name);
        stage.annotate("blue", marks::LET_GO, Some("true")).await;
        stage.until_gone("blue").await;
        assert_eq!(stage.ledger.destroyed(), [name]);
        stage.settle().await;
        assert!(owners.get_opt("prod").await.unwrap().is_none());
        stage.world.finish().await;
    }
}

/// Whatever controls an apply owns it, also where it knows nothing of capt. A ConfigMap stands for all of them.
#[tokio::test]
async fn a_cascade_from_an_owner_of_another_kind_destroys_nothing_without_its_consent() {
    for is_granted_before in [false, true] {
        let stage = Stage::embedded().await;
        let owner: ConfigMap = stage.create(json!({"metadata": {"name": "composition"}})).await;
        stage.make_template("net").await;
        let mut owned = apply("blue", "net");
        owned["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "composition", "uid": owner.uid(), "controller": true,
        }]);
        if is_granted_before {
            owned["metadata"]["annotations"] = json!({marks::LET_GO: "true"});
        }
        let _: WorkspaceTemplateApply = stage.create(owned).await;
        stage.until_ready("blue").await;
        let name = external_name(&stage.workspace("blue").await.unwrap());
        let owners: Api<ConfigMap> = stage.api();
        owners
            .delete("composition", &DeleteParams::background())
            .await
            .unwrap();
        if !is_granted_before {
            stage.until_says("blue", "Deleting", "True/ConsentMissing").await;
            stage.settle().await;
            nothing_was_destroyed(&stage, &name);
            stage.annotate("blue", marks::LET_GO, Some("true")).await;
        }
        stage.until_gone("blue").await;
        assert_eq!(stage.ledger.destroyed(), [name]);
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn a_namespace_that_is_deleted_destroys_nothing_and_says_the_way_out() {
    let stage = Stage::embedded().await;
    let name = ready(&stage).await;
    let namespaces: Api<Namespace> = Api::all(stage.client());
    let own = stage.namespace().to_owned();
    namespaces.delete(&own, &DeleteParams::default()).await.unwrap();
    stage
        .until_says("blue", "Deleting", "True/NamespaceTerminating")
        .await;
    stage.settle().await;
    nothing_was_destroyed(&stage, &name);
    let retain = json!({"spec": {"retainWorkspaceOnDelete": true}});
    let _: WorkspaceTemplateApply = stage.patch("blue", retain).await;
    stage
        .until("the namespace to be gone", async || {
            namespaces.get_opt(&own).await.unwrap().is_none()
        })
        .await;
    nothing_was_destroyed(&stage, &name);
    stage.world.finish().await;
}

/// The deletion of the object may arrive long before the news about its namespace.
#[tokio::test]
async fn a_stale_view_of_the_namespace_destroys_nothing() {
    use capt_testkit::{Disturbance, Events, Times};
    let stage = Stage::embedded().await;
    let name = ready(&stage).await;
    let stale = stage.faults().disturb(
        Events::to(CAPT).resource("namespaces"),
        Times::Every,
        Disturbance::Hold,
    );
    let namespaces: Api<Namespace> = Api::all(stage.client());
    namespaces
        .delete(stage.namespace(), &DeleteParams::default())
        .await
        .unwrap();
    stage
        .until_says("blue", "Deleting", "True/NamespaceTerminating")
        .await;
    nothing_was_destroyed(&stage, &name);
    stale.release();
    stage.world.finish().await;
}

#[tokio::test]
async fn what_was_never_destroyed_is_made_again_to_be_destroyed() {
    let stage = Stage::new().await;
    let name = ready(&stage).await;
    stage.settle().await;
    stage.world.stop(CAPT);
    stage.delete_workspace("blue").await;
    stage
        .until("the Workspace to be gone", async || {
            stage.workspace("blue").await.is_none()
        })
        .await;
    stage.delete_apply("blue").await;
    start_controllers(&stage.world, &Setting::default());
    stage.until_gone("blue").await;
    assert_eq!(stage.ledger.destroyed(), [name]);
    stage.world.finish().await;
}
