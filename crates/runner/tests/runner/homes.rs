//! State is where it was when it was first kept, whatever else is said later.

use capt_api::foreign::{ClusterProviderConfig, ClusterWorkspace, marks::EXTERNAL_NAME};
use capt_testkit::World;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::json;

use crate::{script::Script, support::*};

async fn configure(world: &World) {
    let backend = format!(
        "terraform {{\n backend \"kubernetes\" {{\n secret_suffix = \"team\"\n namespace = \"{}\"\n }}\n}}\n",
        world.namespace()
    );
    let config: ClusterProviderConfig = serde_json::from_value(json!({
        "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "ClusterProviderConfig",
        "metadata": {"name": "default"}, "spec": {"configuration": backend},
    }))
    .unwrap();
    let api: Api<ClusterProviderConfig> = Api::all(world.client());
    api.create(&PostParams::default(), &config).await.unwrap();
}

fn cluster_scoped() -> ClusterWorkspace {
    serde_json::from_value(json!({
        "apiVersion": "tf.upbound.io/v1beta1", "kind": "Workspace", "metadata": {"name": "vpc"},
        "spec": {"forProvider": {"source": "Inline", "module": module(&["a"])}},
    }))
    .unwrap()
}

async fn until_made(world: &World, api: &Api<ClusterWorkspace>) {
    world
        .until("it to be made and kept", async || {
            let status = api.get("vpc").await.unwrap().status.unwrap_or_default();
            let conditions = status.conditions.unwrap_or_default();
            conditions
                .iter()
                .any(|one| one.type_ == "Synced" && one.status == "True")
        })
        .await;
}

#[tokio::test]
async fn a_deletion_does_not_look_elsewhere_because_the_configuration_went_first() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    configure(&world).await;
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    assert_eq!(state_secrets(&world).await, ["tfstate-vpc-team"]);

    let api: Api<ClusterProviderConfig> = Api::all(world.client());
    api.delete("default", &DeleteParams::default()).await.unwrap();
    delete(&world, "vpc").await;
    world
        .until("the deletion to be refused", async || {
            match find(&world, "vpc").await {
                None => panic!("it was forgotten"),
                Some(_) => message(&world, "vpc", "Failing")
                    .await
                    .contains("tfstate-vpc-team"),
            }
        })
        .await;
    world.advance(seconds(3600)).await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    assert_eq!(state_secrets(&world).await, ["tfstate-vpc-team"]);

    configure(&world).await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    world.finish().await;
}

#[tokio::test]
async fn a_deletion_does_not_look_elsewhere_because_the_external_name_changed() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    annotate(&world, "vpc", EXTERNAL_NAME, "other").await;
    until(&world, "vpc", "Failing", "True InputInvalid").await;
    delete(&world, "vpc").await;
    world.advance(seconds(3600)).await;
    assert!(find(&world, "vpc").await.is_some(), "it was forgotten");
    assert_eq!(script.exists("vpc"), ["thing.a"]);

    annotate(&world, "vpc", EXTERNAL_NAME, "vpc").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    world.finish().await;
}

#[tokio::test]
async fn a_runner_in_another_namespace_finds_what_the_last_one_kept() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    let api: Api<ClusterWorkspace> = Api::all(world.client());
    api.create(&PostParams::default(), &cluster_scoped())
        .await
        .unwrap();
    until_made(&world, &api).await;
    world.stop(RUNNER);
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "moved"}})).unwrap();
    let namespaces: Api<Namespace> = Api::all(world.client());
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    api.delete("vpc", &DeleteParams::default()).await.unwrap();
    start_with(&world, &script, |options| {
        options.system_namespace = "moved".to_owned()
    });
    world
        .until("it to be gone", async || {
            api.get_opt("vpc").await.unwrap().is_none()
        })
        .await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    assert_eq!(state_secrets(&world).await, Vec::<String>::new());
    world.finish().await;
}

#[tokio::test]
async fn two_workspaces_that_lead_to_the_same_state_do_not_share_it() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let api: Api<ClusterWorkspace> = Api::all(world.client());
    api.create(&PostParams::default(), &cluster_scoped())
        .await
        .unwrap();
    until_made(&world, &api).await;

    create(&world, workspace("vpc", &["a", "b"])).await;
    until(&world, "vpc", "Failing", "True InputInvalid").await;
    let words = message(&world, "vpc", "Failing").await;
    assert!(words.contains("the Workspace tf.upbound.io//vpc"), "{words}");
    assert_eq!(
        get(&world, "vpc").await.status.unwrap().at_provider,
        None,
        "no outputs"
    );
    delete(&world, "vpc").await;
    world.advance(seconds(3600)).await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    assert!(find(&world, "vpc").await.is_some());

    api.delete("vpc", &DeleteParams::default()).await.unwrap();
    world
        .until("the other one to be gone", async || {
            api.get_opt("vpc").await.unwrap().is_none()
        })
        .await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    // The end of that state is noticed.
    until_gone(&world, "vpc").await;
    world.finish().await;
}
