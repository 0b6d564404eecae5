//! A whole life: made, changed, destroyed; and days in which nothing happens.

use std::time::Duration;

use capt_api::WorkspaceTemplateApply;
use kube::ResourceExt as _;
use serde_json::json;

use crate::stage::{Stage, User as _, external_name, policies};

#[tokio::test]
async fn a_template_becomes_a_workspace_that_follows_it_and_is_destroyed_on_request() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    let workspace = stage.workspace("blue").await.unwrap();
    let name = external_name(&workspace);
    assert_eq!(stage.ledger.exists(), [&*name]);
    assert!(workspace.owner_references().is_empty());
    assert_eq!(
        policies(&workspace),
        json!(["Observe", "Create", "Update", "LateInitialize"])
    );
    let status = stage.apply("blue").await.unwrap().status.unwrap();
    assert!(status.applied);
    assert_eq!(status.workspace_name.as_deref(), Some("blue"));
    assert_eq!(status.outputs.unwrap()["name"], json!(name));
    assert_eq!(status.ready_revision, status.last_applied_revision);

    let _: WorkspaceTemplateApply = stage
        .patch("blue", json!({"spec": {"variables": {"size": "2"}}}))
        .await;
    stage
        .until("the new size", async || {
            stage.ledger.module(&name).contains("size = \"2\"")
        })
        .await;
    stage.until_ready("blue").await;
    stage.delete_apply("blue").await;
    stage.until_gone("blue").await;
    assert_eq!(stage.ledger.destroyed(), [name]);
    assert!(stage.ledger.exists().is_empty());
    assert!(stage.workspace("blue").await.is_none());
    stage.world.finish().await;
}

#[tokio::test]
async fn a_day_of_rest_costs_nothing() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    for name in ["blue", "red", "green"] {
        stage.make_apply(name, "net").await;
    }
    stage.settle().await;
    assert_eq!(stage.ledger.exists().len(), 3);
    let mark = stage.recorder().mark();
    stage.advance(Duration::from_secs(24 * 3600)).await;
    let requests = stage.recorder().requests_since(mark);
    assert!(requests.is_empty(), "{requests:?}");
}
