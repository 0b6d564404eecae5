//! Fargate profiles of an EKS that does one thing at a time: who asks for a second one is refused, and that is in its book.

use std::time::Duration;

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate,
    captcontrolplane::{ControlPlaneState as State, FargateProfilePhase as Phase, FargateProfileStatus},
    foreign::Cluster,
    marks,
};
use capt_testkit::World;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, start_witness, whole_cluster},
    eks::{Eks, MINUTES, slow_eks_template, slow_profile_template, start_eks},
    fargate::profiles,
    network::existing_network,
    stage::{RUNNER, Setting, User as _, start_controllers},
};

/// A Cluster with a control plane that asks for these profiles.
pub(crate) async fn make_cluster(world: &World, name: &str, profiles: Value) {
    let mut plane = control_plane(name);
    plane["spec"]["additionalFargateProfiles"] = profiles;
    let _: Cluster = world.create(whole_cluster(name)).await;
    let _: CAPTCluster = world.create(existing_network(name)).await;
    let _: CAPTControlPlane = world.create(plane).await;
}

/// Controllers, our runner and an EKS behind it.
pub(crate) async fn begin(world: &World) -> Eks {
    begin_with(world, &Setting::default()).await
}

pub(crate) async fn begin_with(world: &World, setting: &Setting) -> Eks {
    start_controllers(world, setting);
    let eks = start_eks(world);
    let _: WorkspaceTemplate = world.create(slow_eks_template()).await;
    let _: WorkspaceTemplate = world.create(slow_profile_template()).await;
    eks
}

pub(crate) async fn with(names: &[&str]) -> (World, Eks) {
    let world = World::embedded_only().await;
    let eks = begin(&world).await;
    make_cluster(&world, "blue", profiles(names)).await;
    (world, eks)
}

pub(crate) async fn want(world: &World, profiles: Value) {
    let patch = json!({"spec": {"additionalFargateProfiles": profiles}});
    let _: CAPTControlPlane = world.patch("blue", patch).await;
}

pub(crate) async fn profile(world: &World, name: &str) -> Option<FargateProfileStatus> {
    let statuses = world.status("blue").await.fargate_profile_statuses?;
    statuses.into_iter().find(|one| one.name == name)
}

pub(crate) async fn phase(world: &World, name: &str) -> Option<Phase> {
    profile(world, name).await?.phase
}

pub(crate) async fn until_phase(world: &World, name: &str, wanted: Phase) {
    world
        .until(&format!("{name} to be {wanted:?}"), async || {
            phase(world, name).await == Some(wanted)
        })
        .await;
}

pub(crate) async fn until_busy(world: &World, eks: &Eks, with: &str) {
    world
        .until(&format!("EKS to {with}"), async || {
            eks.busy("blue").as_deref() == Some(with)
        })
        .await;
}

async fn retry(world: &World) {
    let patch = json!({"metadata": {"annotations": {marks::RETRY_REQUESTED: "again"}}});
    let _: CAPTControlPlane = world.patch("blue", patch).await;
}

#[tokio::test]
async fn everything_takes_turns_a_new_version_among_it() {
    let (world, eks) = with(&["a", "b", "c"]).await;
    start_witness(&world);
    until_busy(&world, &eks, "create blue/a").await;
    let newer = json!({"spec": {"version": "1.32"}});
    let _: CAPTControlPlane = world.patch("blue", newer).await;
    world.advance(Duration::from_secs(10)).await;
    let told = profile(&world, "c").await.unwrap();
    assert_eq!(told.phase, Some(Phase::Queued));
    assert!(
        told.message
            .unwrap()
            .contains("in the queue, after blue-a-fargate-apply")
    );
    let status = world.status("blue").await;
    assert!(
        status.ready && status.initialized,
        "it serves without its profiles"
    );
    world
        .until("everything to be done", async || eks.words().len() == 5)
        .await;
    world.until_state("blue", State::Ready).await;
    let mut words = eks.words();
    assert_eq!(words[..2], ["create blue", "create blue/a"]);
    words.sort();
    assert_eq!(
        words,
        [
            "change blue",
            "create blue",
            "create blue/a",
            "create blue/b",
            "create blue/c"
        ]
    );
    eks.was_never_asked_too_much();
    // No time is lost between one and the next.
    let done = eks.done();
    let lost: f64 = done
        .windows(2)
        .map(|pair| pair[1].from.duration_since(pair[0].to).as_secs_f64())
        .sum();
    assert!(lost < 5.0, "{lost} s of rest: {done:#?}");
    world.delete_plane("blue").await;
    world.until_plane_is_gone("blue").await;
    let words = eks.words();
    assert_eq!(words.last().unwrap(), "delete blue");
    assert_eq!(words.iter().filter(|word| word.starts_with("delete")).count(), 4);
    assert!(eks.exists().is_empty());
    eks.was_never_asked_too_much();
    world.finish().await;
}

#[tokio::test]
async fn one_that_fails_stops_only_itself_and_is_not_tried_for_ever() {
    let (world, eks) = with(&["a", "b", "c"]).await;
    let trouble = "InvalidParameterException: The following subnets do not exist: subnet-1";
    eks.refuse("blue/b", Some(trouble));
    until_phase(&world, "c", Phase::Ready).await;
    until_phase(&world, "b", Phase::Failed).await;
    world.until_state("blue", State::Degraded).await;
    let status = world.status("blue").await;
    assert!(status.ready);
    assert_eq!(status.fargate_profiles_ready.as_deref(), Some("2/3"));
    let failed = profile(&world, "b").await.unwrap();
    assert_eq!(failed.failure_reason.as_deref(), Some("FargateProfileFailed"));
    let text = failed.failure_message.unwrap();
    assert!(
        text.starts_with("Failed to create Fargate profile: ") && text.contains("subnet-1"),
        "{text}"
    );
    assert_eq!(
        world.plane_says("blue", "FargateProfileFailed").await,
        "True/FargateProfileFailed"
    );
    let tried = eks.asked("create blue/b");
    world.advance(Duration::from_secs(24 * 3600)).await;
    assert_eq!(eks.asked("create blue/b"), tried, "it waits for a person");
    eks.refuse("blue/b", None);
    retry(&world).await;
    world.until_state("blue", State::Ready).await;
    assert_eq!(eks.exists(), ["blue", "blue/a", "blue/b", "blue/c"]);
    assert_eq!(eks.asked("create blue/a"), 1, "others are not touched");
    eks.was_never_asked_too_much();
    world.finish().await;
}

#[tokio::test]
async fn a_failed_one_is_tried_again_when_it_is_changed() {
    let (world, eks) = with(&["a"]).await;
    eks.refuse("blue/a", Some("InvalidParameterException: no"));
    until_phase(&world, "a", Phase::Failed).await;
    eks.refuse("blue/a", None);
    let mut changed = profiles(&["a"]);
    changed[0]["tags"] = json!({"team": "x"});
    want(&world, changed).await;
    until_phase(&world, "a", Phase::Ready).await;
    world.until_state("blue", State::Ready).await;
    world.finish().await;
}

#[tokio::test]
async fn what_somebody_else_does_with_the_cluster_is_waited_for() {
    let (world, eks) = with(&[]).await;
    world.until_state("blue", State::Ready).await;
    eks.occupy("blue", Some("an update from the console"));
    want(&world, profiles(&["a"])).await;
    world
        .until("it to be refused", async || !eks.refused().is_empty())
        .await;
    world.advance(Duration::from_secs(300)).await;
    let told = profile(&world, "a").await.unwrap();
    assert_eq!(told.phase, Some(Phase::Creating));
    assert_eq!(told.failure_message, None, "a wait is no failure");
    let text = told.message.unwrap();
    assert!(text.contains("ResourceInUseException"), "{text}");
    assert!(!eks.exists().contains(&"blue/a".to_owned()));
    eks.occupy("blue", None);
    world.until_state("blue", State::Ready).await;
    assert_eq!(eks.exists(), ["blue", "blue/a"]);
    world.finish().await;
}

#[tokio::test]
async fn what_exists_already_is_a_failure_until_somebody_removes_it() {
    let (world, eks) = with(&[]).await;
    world.until_state("blue", State::Ready).await;
    eks.by_hand("blue/a", true);
    want(&world, profiles(&["a", "b"])).await;
    until_phase(&world, "a", Phase::Failed).await;
    until_phase(&world, "b", Phase::Ready).await;
    let text = profile(&world, "a").await.unwrap().failure_message.unwrap();
    assert!(text.contains("already exists"), "{text}");
    assert_eq!(eks.asked("create blue/a"), 1);
    eks.by_hand("blue/a", false);
    retry(&world).await;
    world.until_state("blue", State::Ready).await;
    world.finish().await;
}

#[tokio::test]
async fn clusters_side_by_side_do_not_wait_for_each_other() {
    let world = World::embedded_only().await;
    let eks = begin(&world).await;
    let names = ["blue", "red"];
    for name in names {
        make_cluster(&world, name, profiles(&["a", "b"])).await;
    }
    for name in names {
        world.until_state(name, State::Ready).await;
        let apply = world.apply(&format!("{name}-a-fargate-apply")).await.unwrap();
        assert_eq!(apply.spec.variables.unwrap()["cluster_name"], name);
    }
    assert_eq!(
        eks.exists(),
        ["blue", "blue/a", "blue/b", "red", "red/a", "red/b"]
    );
    eks.was_never_asked_too_much();
    let done = eks.done();
    let first = done.iter().map(|one| one.from).min().unwrap();
    let last = done.iter().map(|one| one.to).max().unwrap();
    assert!(
        last.duration_since(first).unsigned_abs() < MINUTES * 5,
        "six things in the time of three: {done:#?}"
    );
    world.finish().await;
}

#[tokio::test]
async fn a_secret_that_is_deleted_or_edited_comes_back_and_nothing_else_is_touched() {
    let (world, eks) = with(&["a"]).await;
    world.until_state("blue", State::Ready).await;
    let api: Api<Secret> = world.api();
    let kept = api.get("blue-eks-connection").await.unwrap();
    api.delete("blue-eks-connection", &DeleteParams::default())
        .await
        .unwrap();
    want(&world, profiles(&["a", "b"])).await;
    until_phase(&world, "b", Phase::Ready).await;
    let without = json!({"data": {"cluster_name": null}});
    let _: Secret = world.patch("blue-eks-connection", without).await;
    want(&world, profiles(&["a", "b", "c"])).await;
    until_phase(&world, "c", Phase::Ready).await;
    world.until_state("blue", State::Ready).await;
    let back = api.get("blue-eks-connection").await.unwrap();
    assert_eq!(back.data, kept.data);
    assert_eq!(eks.exists(), ["blue", "blue/a", "blue/b", "blue/c"]);
    assert_eq!(eks.words().len(), 4, "{:?}", eks.words());
    eks.was_never_asked_too_much();
    world.finish().await;
}

#[tokio::test]
async fn what_is_new_is_held_back_until_its_secret_is_there() {
    let (world, eks) = with(&["a"]).await;
    world.until_state("blue", State::Ready).await;
    // Who would write it again is away.
    world.stop(RUNNER);
    let api: Api<Secret> = world.api();
    let mut kept = api.get("blue-eks-connection").await.unwrap();
    api.delete("blue-eks-connection", &DeleteParams::default())
        .await
        .unwrap();
    want(&world, profiles(&["a", "b"])).await;
    until_phase(&world, "b", Phase::Waiting).await;
    let text = profile(&world, "b").await.unwrap().message.unwrap();
    assert!(text.contains("Secret blue-eks-connection"), "{text}");
    assert_eq!(phase(&world, "a").await, Some(Phase::Ready));
    let data = kept.data.as_mut().unwrap();
    let name = data.remove("cluster_name").unwrap();
    kept.metadata.resource_version = None;
    kept.metadata.uid = None;
    api.create(&PostParams::default(), &kept).await.unwrap();
    world
        .until("the key to be missed", async || {
            let told = profile(&world, "b").await.and_then(|one| one.message);
            told.is_some_and(|told| told.contains("blue-eks-connection has no key cluster_name"))
        })
        .await;
    let data = json!({"data": {"cluster_name": name}});
    let _: Secret = world.patch("blue-eks-connection", data).await;
    until_phase(&world, "b", Phase::Creating).await;
    assert_eq!(eks.asked("create blue/b"), 0, "nobody is there to do it");
    world.finish().await;
}
