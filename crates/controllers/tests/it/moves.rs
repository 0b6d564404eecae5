//! The side that Clusters were moved away from, and what becomes of who applies one there once more.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply,
    captcontrolplane::ControlPlaneState as State,
    conditions::find_condition,
    foreign::{Cluster, marks as foreign_marks},
    marks,
};
use capt_core::wta::kept;
use k8s_openapi::{api::core::v1::Secret, api::events::v1::Event};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams},
    core::NamespaceResourceScope,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, eks_template, whole_cluster},
    network::{NetworkUser as _, cluster, existing_network, made_network},
    stage::{CAPT, Setting, Stage, User as _, policies, start_controllers},
};

/// A network, and a control plane in another one: what each is made of stays here.
const APPLIES: [&str; 2] = ["blue-vpc", "red-eks-controlplane-apply"];

/// Applies both Clusters, as people do who keep them in files.
async fn apply_all(stage: &Stage) {
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    let _: Cluster = stage.create(whole_cluster("red")).await;
    let _: CAPTCluster = stage.create(existing_network("red")).await;
    let _: CAPTControlPlane = stage.create(control_plane("red")).await;
}

/// What clusterctl does with an object when all of it is on the other side: it marks it, takes its finalizers off, and
/// deletes it.
async fn take_away<K>(stage: &Stage, name: &str)
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let marked = json!({"metadata": {"annotations": {foreign_marks::DELETE_FOR_MOVE: ""}}});
    let _: K = stage.patch(name, marked).await;
    let _: K = stage.patch(name, json!({"metadata": {"finalizers": null}})).await;
    let api: Api<K> = stage.api();
    let _ = api.delete(name, &DeleteParams::default()).await;
    stage
        .until(&format!("{name} to be gone"), async || {
            api.get_opt(name).await.unwrap().is_none()
        })
        .await;
}

/// Moves everything away, seen by the controllers or not. Gives the names of the Workspaces that stay.
async fn move_away(stage: &Stage, is_seen: bool) -> Vec<String> {
    for name in ["blue", "red"] {
        stage.pause(name, true).await;
    }
    let mut workspaces = Vec::new();
    for apply in APPLIES {
        stage.until_says(apply, "Paused", "True/Paused").await;
        let status = stage.apply(apply).await.unwrap().status.unwrap();
        workspaces.push(status.workspace_name.unwrap());
    }
    if !is_seen {
        stage.stop(CAPT);
    }
    for apply in APPLIES {
        take_away::<WorkspaceTemplateApply>(stage, apply).await;
    }
    take_away::<CAPTControlPlane>(stage, "red").await;
    for name in ["blue", "red"] {
        take_away::<CAPTCluster>(stage, name).await;
        take_away::<Cluster>(stage, name).await;
    }
    let secrets: Api<Secret> = stage.api();
    for secret in secrets.list(&ListParams::default()).await.unwrap() {
        if secret.type_.as_deref() == Some(kept::SECRET_TYPE) {
            let _ = secrets.delete(&secret.name_any(), &DeleteParams::default()).await;
        }
    }
    if is_seen {
        for workspace in &workspaces {
            stage
                .until("the mark", async || {
                    let left = stage.workspace(workspace).await.unwrap();
                    left.annotations().contains_key(marks::MOVED_AWAY)
                })
                .await;
        }
    } else {
        for workspace in &workspaces {
            // What our runner writes on what it made, and whose state was in a Secret that went along.
            let home = format!("secret/{}/tfstate-{workspace}-capt", stage.namespace());
            let annotations = json!({
                marks::STATE_HOME: home, foreign_marks::EXTERNAL_CREATE_SUCCEEDED: "2026-01-02T03:04:05Z",
            });
            annotate_workspace(stage, workspace, annotations).await;
        }
        start_controllers(&stage.world, &Setting::default());
    }
    workspaces
}

async fn annotate_workspace(stage: &Stage, name: &str, annotations: Value) {
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let api = stage.workspaces();
    api.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

/// Everything that people were told about an object.
async fn told(stage: &Stage, kind: &str) -> Vec<String> {
    let events: Api<Event> = stage.api();
    let all = events.list(&ListParams::default()).await.unwrap();
    let about = |event: &Event| {
        let regarding = event.regarding.as_ref();
        regarding.and_then(|regarding| regarding.kind.as_deref()) == Some(kind)
    };
    let all = all.items.into_iter().filter(about);
    all.filter_map(|event| event.note).collect()
}

async fn is_untouched(stage: &Stage, workspaces: &[String], made: &[String]) {
    for name in workspaces {
        let left = stage.workspace(name).await.expect("it stays");
        assert_eq!(policies(&left), json!([]), "{name}");
        assert!(left.metadata.deletion_timestamp.is_none(), "{name}");
    }
    assert_eq!(stage.ledger.made(), made, "nothing is made");
    assert!(stage.ledger.destroyed().is_empty(), "nothing is destroyed");
}

#[tokio::test]
async fn a_cluster_that_is_applied_again_where_it_was_moved_from_is_refused_and_can_be_deleted() {
    for is_seen in [true, false] {
        let stage = Stage::embedded().await;
        stage.make_template("net").await;
        let _: capt_api::WorkspaceTemplate = stage.create(eks_template("eks")).await;
        apply_all(&stage).await;
        stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
        stage.until_state("red", State::Ready).await;
        stage.settle().await;
        let made = stage.ledger.made();
        let workspaces = move_away(&stage, is_seen).await;
        stage.settle().await;
        is_untouched(&stage, &workspaces, &made).await;

        apply_all(&stage).await;
        for apply in APPLIES {
            stage
                .until_says(apply, "Applied", "False/WorkspaceMovedAway")
                .await;
        }
        stage
            .until_network_says("blue", "Ready", "False/WorkspaceNotOurs")
            .await;
        stage.until_state("red", State::Failed).await;
        stage.settle().await;
        let network = stage.network("blue").await.unwrap().status.unwrap();
        assert_eq!(network.vpc_id, None, "that lives elsewhere");
        let plane = stage.status("red").await;
        for message in [network.failure_message, plane.failure_message] {
            let message = message.unwrap();
            assert!(
                message.contains("moved to another management cluster"),
                "{message}"
            );
        }
        assert_eq!(plane.version, None);
        is_untouched(&stage, &workspaces, &made).await;

        for name in ["blue", "red"] {
            stage.delete_cluster(name).await;
        }
        if !is_seen {
            // Whoever is not sure asks a person.
            stage
                .until_network_says("blue", "Deleting", "True/VPCDeletionFailed")
                .await;
            stage
                .until_plane_says("red", "Deleting", "True/DeletionFailed")
                .await;
            let network = stage.network("blue").await.unwrap().status.unwrap();
            let conditions = [
                network.conditions.unwrap_or_default(),
                stage.status("red").await.conditions.unwrap_or_default(),
            ];
            for conditions in conditions {
                let deleting = find_condition(&conditions, "Deleting").unwrap();
                assert!(
                    deleting
                        .message
                        .contains("infrastructure.cluster.x-k8s.io/moved-away=true"),
                    "{}",
                    deleting.message
                );
            }
            stage.settle().await;
            is_untouched(&stage, &workspaces, &made).await;
            for workspace in &workspaces {
                annotate_workspace(&stage, workspace, json!({marks::MOVED_AWAY: "true"})).await;
            }
        }
        for name in ["blue", "red"] {
            stage.until_cluster_is_gone(name).await;
        }
        stage.settle().await;
        is_untouched(&stage, &workspaces, &made).await;
        let of_network = told(&stage, "CAPTCluster").await;
        let of_plane = told(&stage, "CAPTControlPlane").await;
        for (told, untrue) in [
            (&of_network, "being destroyed"),
            (&of_plane, "The EKS cluster goes"),
        ] {
            assert!(!told.iter().any(|note| note.contains(untrue)), "{told:?}");
        }
        let is_told = |note: &String| note.contains("No EKS cluster was made");
        assert!(of_plane.iter().any(is_told), "{of_plane:?}");
        stage.world.finish().await;
    }
}
