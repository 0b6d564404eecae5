//! Workspaces of the other group, kinds that come later, locks and Secrets of other people.

use capt_api::{
    foreign::{ClusterWorkspace, workspace::DeletionPolicy},
    marks,
};
use capt_core::names;
use capt_testkit::{Disturbance, Events, Times, World};
use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Secret},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, CustomResourceExt as _, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::json;

use crate::{script::Script, support::*};

fn cluster_scoped(name: &str) -> ClusterWorkspace {
    serde_json::from_value(json!({
        "apiVersion": "tf.upbound.io/v1beta1",
        "kind": "Workspace",
        "metadata": {"name": name},
        "spec": {"forProvider": {"source": "Inline", "module": module(&["a"])}},
    }))
    .expect("a Workspace")
}

async fn is_ready(api: &Api<ClusterWorkspace>, name: &str) -> bool {
    let status = api.get(name).await.unwrap().status.unwrap_or_default();
    let ready =
        |one: &capt_api::foreign::workspace::WorkspaceCondition| one.type_ == "Ready" && one.status == "True";
    status.conditions.unwrap_or_default().iter().any(ready)
}

#[tokio::test]
async fn cluster_scoped_workspaces_are_kept_in_the_runners_namespace_and_may_be_orphaned() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    let api: Api<ClusterWorkspace> = Api::all(world.client());
    let mut kept = cluster_scoped("kept");
    kept.spec.deletion_policy = Some(DeletionPolicy::Orphan);
    for object in [cluster_scoped("vpc"), kept] {
        api.create(&PostParams::default(), &object).await.unwrap();
        let name = object.name_any();
        world
            .until("it to be ready", async || is_ready(&api, &name).await)
            .await;
    }
    let maps: Api<ConfigMap> = Api::namespaced(world.client(), world.namespace());
    let page = maps
        .get(&names::run_report("tf.upbound.io", "vpc"))
        .await
        .unwrap();
    assert!(page.labels().contains_key(marks::RUN_OF));
    for name in ["vpc", "kept"] {
        api.delete(name, &DeleteParams::default()).await.unwrap();
        world
            .until("it to be gone", async || {
                api.get_opt(name).await.unwrap().is_none()
            })
            .await;
    }
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    assert_eq!(script.exists("kept"), ["thing.a"]);
    assert_eq!(state_secrets(&world).await, ["tfstate-kept-capt"]);
    world.finish().await;
}

#[tokio::test]
async fn kinds_that_come_later_are_noticed_and_not_asked_for_before() {
    let world = World::builder().without_crds().embedded_only().start().await;
    let script = Script::default();
    start(&world, &script);
    world.settle().await;
    let mark = world.recorder().mark();
    world.advance(seconds(3600)).await;
    let asked = world.recorder().requests_since(mark);
    assert!(asked.is_empty(), "{asked:#?}");

    let api: Api<CustomResourceDefinition> = Api::all(world.client());
    for crd in capt_api::foreign::crds() {
        let params = PatchParams::apply("test").force();
        api.patch(&crd.name_any(), &params, &Patch::Apply(&crd))
            .await
            .unwrap();
    }
    let name = capt_api::foreign::Workspace::crd_name();
    world
        .until("the kind to be served", async || {
            let crd = api.get(name).await.unwrap();
            let conditions = crd
                .status
                .and_then(|status| status.conditions)
                .unwrap_or_default();
            conditions
                .iter()
                .any(|one| one.type_ == "Established" && one.status == "True")
        })
        .await;
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    world.finish().await;
}

#[tokio::test]
async fn a_new_list_of_kinds_disturbs_no_watch_of_their_objects() {
    let world = World::embedded_only().await;
    start(&world, &Script::default());
    world.settle().await;
    let kinds = Events::to(RUNNER).resource("customresourcedefinitions");
    let expired = world.faults().disturb(kinds, Times::Once, Disturbance::Expire);
    let mark = world.recorder().mark();
    let api: Api<CustomResourceDefinition> = Api::all(world.client());
    let change = json!({"metadata": {"labels": {"changed": "yes"}}});
    let name = capt_api::foreign::Workspace::crd_name();
    let changed = api
        .patch(name, &PatchParams::default(), &Patch::Merge(&change))
        .await;
    changed.unwrap();
    world
        .until("the watch to end", async || expired.acted() == 1)
        .await;
    world.advance(seconds(60)).await;
    let asked = world.recorder().requests_since(mark);
    let asked: Vec<String> = asked
        .iter()
        .filter(|one| one.call.caller == RUNNER)
        .map(|one| format!("{:?} {}", one.call.verb, one.call.resource))
        .collect();
    assert!(
        asked.contains(&"List customresourcedefinitions".to_owned()),
        "{asked:?}"
    );
    assert!(
        asked.iter().all(|one| one.ends_with("customresourcedefinitions")),
        "{asked:?}"
    );
    world.finish().await;
}

#[tokio::test]
async fn a_workspace_that_went_unseen_is_not_asked_for_again_and_again() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;

    let silence = Events::to(RUNNER).resource("workspaces");
    world.faults().disturb(silence, Times::Every, Disturbance::Hold);
    patch(&world, "vpc", json!({"metadata": {"finalizers": []}})).await;
    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    let mark = world.recorder().mark();
    world.advance(seconds(24 * 3600)).await;
    let asked = world.recorder().requests_since(mark);
    let asked: Vec<_> = asked.iter().filter(|one| one.call.name == "vpc").collect();
    assert_eq!(asked.len(), 1, "{asked:#?}");
    world.finish().await;
}

#[tokio::test]
async fn somebody_elses_lock_is_respected_until_it_is_gone_or_a_person_frees_it() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let leases: Api<Lease> = Api::namespaced(world.client(), world.namespace());
    let lease: Lease = serde_json::from_value(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "lock-tfstate-vpc-capt", "annotations": {
            "app.terraform.io/lock-info": "{\"ID\":\"lock-1\",\"Who\":\"somebody@laptop\"}",
        }},
        "spec": {"holderIdentity": "lock-1"},
    }))
    .unwrap();
    leases.create(&PostParams::default(), &lease).await.unwrap();
    create(&world, workspace("vpc", &["a"])).await;
    until(&world, "vpc", "Failing", "True StateLocked").await;
    let words = message(&world, "vpc", "Failing").await;
    assert!(words.contains("somebody@laptop"), "{words}");
    world.advance(seconds(3600)).await;
    assert_eq!(script.with(|stage| stage.plans), 0);

    annotate(&world, "vpc", marks::UNLOCK, "lock-2").await;
    world.advance(seconds(300)).await;
    assert_eq!(script.with(|stage| stage.plans), 0, "another lock was named");
    assert_eq!(
        report(&world, "vpc")
            .await
            .answered
            .get(marks::UNLOCK)
            .map(String::as_str),
        Some("lock-2")
    );
    annotate(&world, "vpc", marks::UNLOCK, "lock-1").await;
    until_settled(&world, "vpc").await;
    world.finish().await;
}

#[tokio::test]
async fn outputs_are_not_written_over_somebody_elses_secret() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    put_secret(&world, "taken", "precious", "data").await;
    let mut object = workspace("vpc", &["a"]);
    object["spec"]["writeConnectionSecretToRef"] = json!({"name": "taken"});
    create(&world, object).await;
    until(&world, "vpc", "Failing", "True ConnectionSecretFailed").await;
    let secrets: Api<Secret> = Api::namespaced(world.client(), world.namespace());
    let data = secrets.get("taken").await.unwrap().data.unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["precious"]);
    let words = message(&world, "vpc", "Synced").await;
    assert!(
        words.starts_with("cannot publish connection details: "),
        "{words}"
    );

    patch(
        &world,
        "vpc",
        json!({"spec": {"writeConnectionSecretToRef": {"name": "free"}}}),
    )
    .await;
    until_settled(&world, "vpc").await;
    let data = secrets.get("free").await.unwrap().data.unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["count", "token"]);
    assert_eq!(
        script.with(|stage| stage.applies),
        1,
        "the infrastructure was fine all along"
    );
    world.finish().await;
}

#[tokio::test]
async fn a_deletion_whose_inputs_are_gone_says_so_and_goes_on_when_they_are_back() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let mut object = workspace("vpc", &["a"]);
    object["spec"]["forProvider"]["env"] =
        json!([{"name": "PASSWORD", "secretKeyRef": {"name": "credentials", "key": "password"}}]);
    put_secret(&world, "credentials", "password", "correct-horse").await;
    create(&world, object).await;
    until_settled(&world, "vpc").await;
    let secrets: Api<Secret> = Api::namespaced(world.client(), world.namespace());
    secrets
        .delete("credentials", &DeleteParams::default())
        .await
        .unwrap();
    delete(&world, "vpc").await;
    until(&world, "vpc", "Failing", "True InputMissing").await;
    let words = message(&world, "vpc", "Synced").await;
    assert!(
        words.starts_with("delete failed: ") && words.contains("credentials"),
        "{words}"
    );
    world.advance(seconds(3600)).await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    put_secret(&world, "credentials", "password", "correct-horse").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    world.finish().await;
}
