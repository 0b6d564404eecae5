//! That a namespace goes destroys nothing.

use capt_terraform::diagnostics::Class;
use capt_testkit::{Calls, Fault, Times, Verb, World};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, api::DeleteParams};
use serde_json::json;

use crate::{
    script::{Script, failure},
    support::*,
};

async fn delete_namespace(world: &World) {
    let api: Api<Namespace> = Api::all(world.client());
    let deleted = api.delete(world.namespace(), &DeleteParams::default()).await;
    deleted.expect("it can be deleted");
}

#[tokio::test]
async fn a_workspace_that_goes_with_its_namespace_destroys_nothing_and_says_the_way_out() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    delete_namespace(&world).await;
    until(&world, "vpc", "Failing", "True NamespaceTerminating").await;
    let words = message(&world, "vpc", "Failing").await;
    assert!(words.contains("spec.managementPolicies"), "{words}");
    assert!(words.contains("tfstate-vpc-capt"), "{words}");
    world.settle().await;
    let mark = world.recorder().mark();
    world.advance(seconds(24 * 3600)).await;
    let asked = world.recorder().requests_since(mark);
    let asked: Vec<_> = asked.iter().filter(|one| one.call.caller == RUNNER).collect();
    assert!(asked.is_empty(), "{asked:#?}");
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    assert_eq!(script.with(|stage| stage.plans), 1);

    let alive = json!({"spec": {"managementPolicies": ["Observe", "Create", "Update", "LateInitialize"]}});
    patch(&world, "vpc", alive).await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    assert_eq!(state_secrets(&world).await, ["tfstate-vpc-capt"]);
    world.finish().await;
}

#[tokio::test]
async fn what_runs_while_its_namespace_goes_is_stopped_and_not_tried_for_ever() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a", "b"])).await;
    until_settled(&world, "vpc").await;
    script.with(|stage| stage.delay = seconds(600));
    delete(&world, "vpc").await;
    world
        .until("it to be destroyed", async || {
            script.with(|stage| stage.applies) == 2
        })
        .await;
    world.advance(seconds(1)).await;
    delete_namespace(&world).await;
    // Its lock goes with the namespace, and nobody can make another one.
    until(&world, "vpc", "Failing", "True NamespaceTerminating").await;
    world.settle().await;
    let mark = world.recorder().mark();
    world.advance(seconds(24 * 3600)).await;
    let asked = world.recorder().requests_since(mark);
    let asked: Vec<_> = asked.iter().filter(|one| one.call.caller == RUNNER).collect();
    assert!(asked.is_empty(), "{asked:#?}");
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
    world.finish().await;
}

#[tokio::test]
async fn a_workspace_for_which_nothing_was_made_goes_with_its_namespace() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.plan_failures.push_back(failure(Class::Configuration, "no")));
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until(&world, "vpc", "Failing", "True Configuration").await;
    delete_namespace(&world).await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.with(|stage| stage.plans), 1);
    world.finish().await;
}

/// Rights come and go without anybody telling.
#[tokio::test]
async fn a_namespace_that_may_not_be_read_destroys_nothing_and_is_asked_for_again() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    let forbidden = world.faults().inject(
        Calls::by(RUNNER).verb(Verb::Get).resource("namespaces"),
        Times::Every,
        Fault::fail(403),
    );
    delete(&world, "vpc").await;
    until(&world, "vpc", "Failing", "True Denied").await;
    let words = message(&world, "vpc", "Failing").await;
    assert!(words.contains("the right to get namespaces"), "{words}");
    // However often it is asked, and that is not often.
    let mark = world.recorder().mark();
    world.advance(seconds(3600)).await;
    let asked = world.recorder().requests_since(mark);
    let asked = asked
        .iter()
        .filter(|one| one.call.resource == "namespaces")
        .count();
    assert!((10..=100).contains(&asked), "{asked}");
    assert_eq!(script.exists("vpc"), ["thing.a"]);

    forbidden.release();
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    world.finish().await;
}
