//! Provider versions that were chosen are kept beside the state.

use capt_api::marks;
use capt_runner::engine::ProviderLock;
use capt_testkit::{Calls, Fault, Times, Verb, World};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::json;

use crate::{script::Script, support::*};

const NAME: &str = "providers-tfstate-vpc-capt";
const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";

fn lock(version: &str) -> ProviderLock {
    let constraints = ["~> 1.0".to_owned()].into();
    ProviderLock {
        file: format!("provider \"e.com/some/x\" {{\n  version = \"{version}\"\n}}\n").into_bytes(),
        requirements: [("e.com/some/x".to_owned(), constraints)].into(),
    }
}

fn choosing(version: &str) -> Script {
    let script = Script::default();
    script.with(|stage| stage.provider_lock = Some(lock(version)));
    script
}

/// The versions that are kept, if any are, and whether they are moved with a Cluster.
async fn kept(world: &World) -> Option<(String, bool)> {
    let api: Api<Secret> = Api::namespaced(world.client(), world.namespace());
    let secret = api.get_opt(NAME).await.unwrap()?;
    let file = secret.data.unwrap().remove(".terraform.lock.hcl").unwrap();
    let labels = secret.metadata.labels.unwrap_or_default();
    Some((String::from_utf8(file.0).unwrap(), labels.contains_key(MOVE)))
}

fn text(version: &str) -> String {
    String::from_utf8(lock(version).file).unwrap()
}

async fn change(world: &World, resources: &[&str]) {
    let spec = json!({"spec": {"forProvider": {"module": module(resources)}}});
    patch(world, "vpc", spec).await;
    until_settled(world, "vpc").await;
}

#[tokio::test]
async fn versions_live_as_long_as_the_state() {
    let world = World::embedded_only().await;
    let script = choosing("1.0.0");
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    assert_eq!(kept(&world).await, Some((text("1.0.0"), false)));
    assert_eq!(script.with(|stage| stage.given_locks.clone()), [None]);

    // Another runner, on another machine, is given what the first one chose.
    world.stop(RUNNER);
    script.with(|stage| stage.given_locks.clear());
    start_with(&world, &script, no_polls);
    change(&world, &["a", "b"]).await;
    assert_eq!(
        script.with(|stage| stage.given_locks.clone()),
        [Some(lock("1.0.0"))]
    );
    script.with(|stage| stage.provider_lock = Some(lock("1.1.0")));
    change(&world, &["a", "b", "c"]).await;
    assert_eq!(kept(&world).await, Some((text("1.1.0"), false)));

    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    assert_eq!(kept(&world).await, None);
    world.finish().await;
}

#[tokio::test]
async fn versions_move_with_the_state() {
    let world = World::embedded_only().await;
    let script = choosing("1.0.0");
    start_with(&world, &script, no_polls);
    let mut object = workspace("vpc", &["a"]);
    object["metadata"]["labels"] = json!({(marks::WTA_NAME): "vpc"});
    object["metadata"]["annotations"] = json!({(marks::STATE_MOVES): "true"});
    create(&world, object).await;
    until_settled(&world, "vpc").await;
    assert_eq!(kept(&world).await, Some((text("1.0.0"), true)));
    // What is kept on purpose belongs to no Cluster.
    patch(
        &world,
        "vpc",
        json!({"metadata": {"labels": {(marks::WTA_NAME): null}}}),
    )
    .await;
    change(&world, &["a", "b"]).await;
    assert_eq!(kept(&world).await, Some((text("1.0.0"), false)));
    world.finish().await;
}

#[tokio::test]
async fn a_plan_for_a_person_chooses_nothing() {
    let world = World::embedded_only().await;
    let script = choosing("1.0.0");
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    script.with(|stage| stage.provider_lock = Some(lock("1.1.0")));
    annotate(&world, "vpc", marks::PLAN_REQUESTED, "what would be done?").await;
    world
        .until("the plan to be made", async || {
            let answered = report(&world, "vpc").await.answered;
            answered.contains_key(marks::PLAN_REQUESTED)
        })
        .await;
    assert_eq!(script.with(|stage| stage.given_locks.len()), 2);
    assert_eq!(kept(&world).await, Some((text("1.0.0"), false)));
    world.finish().await;
}

#[tokio::test]
async fn what_cannot_be_kept_stops_nothing() {
    let world = World::embedded_only().await;
    let script = choosing("1.0.0");
    let write = Calls::by(RUNNER).verb(Verb::Patch).resource("secrets").name(NAME);
    world.faults().inject(write, Times::Once, Fault::fail(403));
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    assert_eq!(kept(&world).await, None);
    change(&world, &["a", "b"]).await;
    assert_eq!(kept(&world).await, Some((text("1.0.0"), false)));
    world.finish().await;
}
