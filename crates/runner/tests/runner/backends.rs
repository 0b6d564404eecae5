//! State in a backend of the user's, which only Terraform can ask.

use capt_api::foreign::marks::EXTERNAL_CREATE_PENDING;
use capt_testkit::World;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{script::Script, support::*};

/// The module of a Workspace that keeps its state in a backend of the user's.
fn with_backend(resources: &[&str]) -> String {
    format!(
        "terraform {{\n  backend \"s3\" {{\n    bucket = \"b\"\n  }}\n}}\n{}",
        module(resources)
    )
}

fn elsewhere(name: &str, resources: &[&str]) -> Value {
    let mut object = workspace(name, resources);
    object["spec"]["forProvider"]["module"] = json!(with_backend(resources));
    object
}

#[tokio::test]
async fn what_a_backend_still_lists_is_not_destroyed() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let mut object = elsewhere("vpc", &["a", "b"]);
    object["spec"]["forProvider"]["destroyArgs"] = json!(["-target=thing.a"]);
    create(&world, object).await;
    until_settled(&world, "vpc").await;
    delete(&world, "vpc").await;
    until(&world, "vpc", "Failing", "True Other").await;
    // The plan of the second try is empty.
    annotate(&world, "vpc", capt_api::marks::RETRY_REQUESTED, "again").await;
    world
        .until("it to be tried again", async || {
            script.with(|stage| stage.plans) == 3
        })
        .await;
    world.settle().await;
    let words = message(&world, "vpc", "Synced").await;
    assert!(words.contains("still there: thing.b"), "{words}");
    assert_eq!(script.exists("vpc"), ["thing.b"]);

    patch(
        &world,
        "vpc",
        json!({"spec": {"forProvider": {"destroyArgs": null}}}),
    )
    .await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    world.finish().await;
}

#[tokio::test]
async fn adding_to_what_exists_is_no_creation() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let mut object = elsewhere("vpc", &["a"]);
    create(&world, object.clone()).await;
    until_settled(&world, "vpc").await;
    let pending =
        |object: &capt_api::foreign::Workspace| object.annotations()[EXTERNAL_CREATE_PENDING].clone();
    let announced = pending(&get(&world, "vpc").await);

    // It may be changed and not made.
    world.advance(seconds(60)).await;
    object = json!({"spec": {
        "forProvider": {"module": with_backend(&["a", "b"])},
        "managementPolicies": ["Observe", "Update"],
    }});
    patch(&world, "vpc", object).await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
    assert_eq!(pending(&get(&world, "vpc").await), announced);
    world.finish().await;
}

#[tokio::test]
async fn outputs_are_handed_out_whenever_they_are_not_there() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, elsewhere("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    let secrets: Api<Secret> = Api::namespaced(world.client(), world.namespace());
    let keys = async |name: &str| {
        let secret = secrets.get_opt(name).await.unwrap()?;
        Some(secret.data?.into_keys().collect::<Vec<_>>())
    };
    let reference = json!({"spec": {"writeConnectionSecretToRef": {"name": "out"}}});
    patch(&world, "vpc", reference).await;
    until_settled(&world, "vpc").await;
    assert_eq!(keys("out").await.unwrap(), ["count", "token"]);

    secrets.delete("out", &DeleteParams::default()).await.unwrap();
    annotate(&world, "vpc", capt_api::marks::RETRY_REQUESTED, "again").await;
    world
        .until("the Secret to be back", async || keys("out").await.is_some())
        .await;

    // A Workspace whose status was never written by us, as after a hand-over.
    let status = json!({"status": {"atProvider": {"outputs": null, "checksum": null}, "conditions": []}});
    let (api, params) = (workspaces(&world), PatchParams::default());
    api.patch_status("vpc", &params, &Patch::Merge(status))
        .await
        .unwrap();
    world.crash(RUNNER);
    until_settled(&world, "vpc").await;
    let outputs = get(&world, "vpc")
        .await
        .status
        .unwrap()
        .at_provider
        .unwrap()
        .outputs;
    assert_eq!(outputs.unwrap()["count"], 1);
    assert_eq!(script.with(|stage| stage.applies), 1);
    world.finish().await;
}

#[tokio::test]
async fn a_backend_that_only_the_module_knows_of_is_not_forgotten() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.has_hidden_backend = true);
    start_with(&world, &script, no_polls);
    for name in ["destroyed", "orphaned"] {
        create(&world, workspace(name, &["a"])).await;
        until(&world, name, "Failing", "True BackendInModule").await;
    }
    let keep = json!({"spec": {"managementPolicies": ["Observe", "Create", "Update"]}});
    patch(&world, "orphaned", keep).await;
    world.crash(RUNNER);
    for name in ["destroyed", "orphaned"] {
        delete(&world, name).await;
    }
    until_gone(&world, "orphaned").await;
    world
        .until("the deletion to fail", async || {
            message(&world, "destroyed", "Synced")
                .await
                .starts_with("delete failed: ")
        })
        .await;
    world.advance(seconds(3600)).await;
    assert!(find(&world, "destroyed").await.is_some());

    // Somebody looked, and took the backend out of the module.
    script.with(|stage| stage.has_hidden_backend = false);
    annotate(&world, "destroyed", capt_api::marks::RETRY_REQUESTED, "again").await;
    until_gone(&world, "destroyed").await;
    world.finish().await;
}
