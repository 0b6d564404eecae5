//! Workspaces of both groups, and kinds that are installed while the controllers run.

use capt_api::{WorkspaceTemplate, WorkspaceTemplateApply, foreign::Workspace, marks};
use capt_core::render::WorkspaceGroup;
use capt_testkit::World;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, CustomResourceExt as _, ResourceExt as _, api::PostParams, core::DynamicObject};

use crate::{
    runner::resource,
    stage::{Setting, Stage, User as _, external_name},
};

#[tokio::test]
async fn a_cluster_scoped_workspace_lives_and_goes_like_any_other() {
    let setting = Setting {
        workspace_api: Some(WorkspaceGroup::ClusterScoped),
        ..Setting::default()
    };
    let stage = Stage::set(World::new().await, &setting);
    stage.make_template("net").await;
    // Names of cluster-scoped Workspaces are shared by all namespaces, and so by all tests on a real API server.
    let tail: String = stage.namespace().chars().rev().take(16).collect();
    let name = format!("blue-{}", tail.chars().rev().collect::<String>());
    stage.make_apply(&name, "net").await;
    stage.until_ready(&name).await;
    let workspaces: Api<DynamicObject> = Api::all_with(stage.client(), &resource("tf.upbound.io"));
    let workspace = workspaces.get(&name).await.unwrap();
    assert_eq!(workspace.labels()[marks::WTA_NAMESPACE], stage.namespace());
    let state = external_name(&workspace);
    workspaces.delete(&name, &Default::default()).await.unwrap();
    stage
        .until("another Workspace", async || {
            let now = workspaces.get_opt(&name).await.unwrap();
            now.is_some_and(|now| now.uid() != workspace.uid() && external_name(&now) == state)
        })
        .await;
    stage.until_ready(&name).await;
    assert!(stage.ledger.destroyed().is_empty());
    stage.delete_apply(&name).await;
    stage.until_gone(&name).await;
    assert_eq!(stage.ledger.destroyed(), [state]);
    stage.world.finish().await;
}

#[tokio::test]
async fn kinds_may_be_installed_later() {
    let world = World::builder()
        .embedded_only()
        .without_crds()
        .crd(WorkspaceTemplate::crd())
        .crd(WorkspaceTemplateApply::crd())
        .start()
        .await;
    let stage = Stage::set(world, &Setting::default());
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage
        .until_says("blue", "Applied", "False/WorkspaceApiMissing")
        .await;
    stage.settle().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(stage.client());
    definitions
        .create(&PostParams::default(), &Workspace::crd())
        .await
        .unwrap();
    stage.until_ready("blue").await;
    stage.world.finish().await;
}

#[tokio::test]
async fn kinds_that_are_removed_take_no_infrastructure_along_and_may_come_back() {
    let world = World::builder()
        .embedded_only()
        .without_crds()
        .crd(WorkspaceTemplate::crd())
        .crd(WorkspaceTemplateApply::crd())
        .crd(Workspace::crd())
        .start()
        .await;
    let stage = Stage::set(world, &Setting::default());
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    stage.settle().await;
    let name = external_name(&stage.workspace("blue").await.unwrap());
    let definitions: Api<CustomResourceDefinition> = Api::all(stage.client());
    let definition = Workspace::crd();
    definitions
        .delete(&definition.name_any(), &Default::default())
        .await
        .unwrap();
    stage
        .until_says("blue", "Applied", "False/WorkspaceApiMissing")
        .await;
    stage.settle().await;
    assert!(stage.ledger.destroyed().is_empty());
    definitions
        .create(&PostParams::default(), &definition)
        .await
        .unwrap();
    stage.until_ready("blue").await;
    assert_eq!(stage.ledger.made(), [name], "its state is found again");
    stage.world.finish().await;
}
