//! Pausing, with proof of rest, and what `clusterctl move` finds.

use capt_api::{
    WorkspaceTemplateApply,
    foreign::{Cluster, marks as foreign_marks},
    marks,
};
use k8s_openapi::api::{core::v1::Secret, events::v1::Event};
use kube::{Api, ResourceExt as _, api::ListParams};
use serde_json::{Value, json};

use crate::stage::{RUNNER, Stage, User as _, apply, external_name, policies, start_runner};

async fn is_blocked(stage: &Stage) -> bool {
    let apply = stage.apply("blue").await.unwrap();
    apply.annotations().contains_key(foreign_marks::BLOCK_MOVE)
}

async fn ready_in_cluster(stage: &Stage) {
    let _: Cluster = stage
        .create(json!({"metadata": {"name": "prod"}, "spec": {}}))
        .await;
    stage.make_template("net").await;
    let _: WorkspaceTemplateApply = stage.create(belonging()).await;
    stage.until_ready("blue").await;
}

fn belonging() -> Value {
    let mut belonging = apply("blue", "net");
    belonging["metadata"]["labels"] = json!({foreign_marks::CLUSTER_NAME: "prod"});
    belonging
}

#[tokio::test]
async fn a_paused_cluster_pauses_its_workspaces_and_waits_for_proof() {
    let mut stage = Stage::new().await;
    ready_in_cluster(&stage).await;
    assert!(is_blocked(&stage).await, "nothing moves while it may run");
    stage.settle().await;
    stage.world.stop(RUNNER);
    let paused = json!({"spec": {"paused": true}});
    let _: Cluster = stage.patch("prod", paused).await;
    stage.until_says("blue", "Paused", "True/Pausing").await;
    stage.settle().await;
    assert_eq!(policies(&stage.workspace("blue").await.unwrap()), json!([]));
    assert_eq!(stage.says("blue", "Paused").await, "True/Pausing");
    assert!(is_blocked(&stage).await, "nobody proved that nothing runs");
    stage.ledger = start_runner(&stage.world);
    stage.until_says("blue", "Paused", "True/Paused").await;
    assert!(!is_blocked(&stage).await);
    let _: Cluster = stage.patch("prod", json!({"spec": {"paused": false}})).await;
    stage.until_says("blue", "Paused", "False/NotPaused").await;
    assert!(is_blocked(&stage).await, "before anything may run");
    stage
        .until("the Workspace to be let run", async || {
            policies(&stage.workspace("blue").await.unwrap()) != json!([])
        })
        .await;
    stage.until_ready("blue").await;
    stage.world.finish().await;
}

#[tokio::test]
async fn a_paused_object_changes_nothing_and_is_not_destroyed() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    let name = external_name(&stage.workspace("blue").await.unwrap());
    stage.annotate("blue", foreign_marks::PAUSED, Some("")).await;
    stage.until_says("blue", "Paused", "True/Paused").await;
    let larger = json!({"spec": {"variables": {"size": "2"}}});
    let _: WorkspaceTemplateApply = stage.patch("blue", larger).await;
    stage.settle().await;
    assert!(stage.ledger.module(&name).contains("size = \"1\""));
    stage.delete_apply("blue").await;
    stage.settle().await;
    assert!(stage.apply("blue").await.is_some());
    assert_eq!(policies(&stage.workspace("blue").await.unwrap()), json!([]));
    assert!(stage.ledger.destroyed().is_empty());
    stage.annotate("blue", foreign_marks::PAUSED, None).await;
    stage.until_gone("blue").await;
    assert_eq!(stage.ledger.destroyed(), [name]);
    stage.world.finish().await;
}

/// A Secret as a runner leaves it: with the labels of Terraform's kubernetes backend, and our finalizer or not yet.
async fn make_state(stage: &Stage, name: &str, of: &str) {
    let _: Secret = stage
        .create(json!({
            "metadata": {"name": name, "labels": {"tfstate": "true", "tfstateWorkspace": of, "other": "stays"}},
            "stringData": {"tfstate": "x"},
        }))
        .await;
}

#[tokio::test]
async fn state_is_held_and_moves_only_with_a_cluster() {
    let stage = Stage::new().await;
    ready_in_cluster(&stage).await;
    let secrets: Api<Secret> = stage.api();
    let name = external_name(&stage.workspace("blue").await.unwrap());
    make_state(&stage, "state", &name).await;
    make_state(&stage, "other", "somebody-else").await;
    stage
        .until("the marks", async || {
            let state = secrets.get("state").await.unwrap();
            state.labels().contains_key(foreign_marks::MOVE)
                && state
                    .finalizers()
                    .iter()
                    .any(|held| held == marks::TERRAFORM_STATE_FINALIZER)
        })
        .await;
    let other = secrets.get("other").await.unwrap();
    assert!(!other.labels().contains_key(foreign_marks::MOVE) && other.finalizers().is_empty());
    // Without a Cluster it stays.
    let alone = json!({"metadata": {"labels": {foreign_marks::CLUSTER_NAME: null}}});
    let _: WorkspaceTemplateApply = stage.patch("blue", alone).await;
    stage
        .until("the mark to go", async || {
            let state = secrets.get("state").await.unwrap();
            !state.labels().contains_key(foreign_marks::MOVE)
        })
        .await;
    let state = secrets.get("state").await.unwrap();
    assert_eq!(state.labels().get("other").map(String::as_str), Some("stays"));
    assert!(!state.finalizers().is_empty());
    stage.world.finish().await;
}

/// Labels can be stripped by anybody, and state that nobody finds would be left behind by a move.
#[tokio::test]
async fn state_that_lost_its_labels_is_known_by_what_our_runner_wrote_on_it() {
    let stage = Stage::new().await;
    ready_in_cluster(&stage).await;
    let secrets: Api<Secret> = stage.api();
    let namespace = secrets.namespace().unwrap_or_default().to_owned();
    for (name, workspace) in [("state", "blue"), ("other", "green")] {
        let claim = format!("tf.m.upbound.io/{namespace}/{workspace}");
        let _: Secret = stage
            .create(json!({
                "metadata": {"name": name, "annotations": {marks::STATE_OF: claim}},
                "stringData": {"tfstate": "x"},
            }))
            .await;
    }
    stage
        .until("the marks", async || {
            let state = secrets.get("state").await.unwrap();
            state.labels().contains_key(foreign_marks::MOVE) && !state.finalizers().is_empty()
        })
        .await;
    let other = secrets.get("other").await.unwrap();
    assert!(!other.labels().contains_key(foreign_marks::MOVE) && other.finalizers().is_empty());
    stage.world.finish().await;
}

/// What clusterctl deletes because it has moved it lives on elsewhere.
#[tokio::test]
async fn what_was_moved_away_is_left_alone() {
    gone_without_us(true).await;
}

/// Only of a move it is known that nobody takes up what is left.
#[tokio::test]
async fn what_was_not_moved_is_not_told_as_left_behind() {
    gone_without_us(false).await;
}

async fn gone_without_us(is_moved: bool) {
    let stage = Stage::new().await;
    ready_in_cluster(&stage).await;
    let _: Cluster = stage.patch("prod", json!({"spec": {"paused": true}})).await;
    stage.until_says("blue", "Paused", "True/Paused").await;
    // This is what clusterctl does: it marks, takes the finalizers off, and deletes.
    if is_moved {
        stage
            .annotate("blue", foreign_marks::DELETE_FOR_MOVE, Some(""))
            .await;
        let _: WorkspaceTemplateApply = stage
            .patch("blue", json!({"metadata": {"finalizers": null}}))
            .await;
        stage.settle().await;
        assert!(
            stage.apply("blue").await.unwrap().finalizers().is_empty(),
            "nobody holds it again"
        );
        stage.delete_apply("blue").await;
    } else {
        stage.delete_apply("blue").await;
        let _: WorkspaceTemplateApply = stage
            .patch("blue", json!({"metadata": {"finalizers": null}}))
            .await;
    }
    stage.until_gone("blue").await;
    stage.settle().await;
    assert_eq!(policies(&stage.workspace("blue").await.unwrap()), json!([]));
    assert!(stage.ledger.destroyed().is_empty());
    let events: Api<Event> = stage.api();
    let told = events.list(&ListParams::default()).await.unwrap();
    let told = told
        .items
        .iter()
        .find(|event| event.reason.as_deref() == Some("LeftBehind"));
    let about = told.and_then(|event| event.regarding.clone());
    let about = about.and_then(|about| Some((about.kind?, about.name?)));
    let expected = is_moved.then(|| ("Workspace".to_owned(), "blue".to_owned()));
    assert_eq!(about, expected);
    let left = stage.workspace("blue").await.unwrap();
    assert_eq!(left.annotations().contains_key(marks::MOVED_AWAY), is_moved);
    if is_moved {
        // Somebody still applies what lives elsewhere now.
        let _: Cluster = stage.patch("prod", json!({"spec": {"paused": false}})).await;
        let made = stage.ledger.made();
        let _: WorkspaceTemplateApply = stage.create(belonging()).await;
        stage
            .until_says("blue", "Applied", "False/WorkspaceMovedAway")
            .await;
        stage.settle().await;
        assert_eq!(policies(&stage.workspace("blue").await.unwrap()), json!([]));
        assert_eq!(stage.ledger.made(), made);
        stage.delete_apply("blue").await;
        stage.until_gone("blue").await;
        assert!(stage.workspace("blue").await.is_some() && stage.ledger.destroyed().is_empty());
    }
    stage.world.finish().await;
}
