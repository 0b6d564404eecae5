//! Profiles that are added, changed and removed while everything else is under way, and controllers that die meanwhile.

use std::time::Duration;

use capt_api::{
    WorkspaceTemplate, WorkspaceTemplateApply,
    captcontrolplane::{ControlPlaneState as State, FargateProfilePhase as Phase},
    marks,
};
use capt_testkit::{Fault, Sweep, World};
use serde_json::{Value, json};

use crate::{
    controlplane::ControlPlaneUser as _,
    eks::{Eks, MINUTES, slow_profile_template},
    fargate::profiles,
    fargate_turns::{begin, make_cluster, profile, until_busy, until_phase, want},
    stage::{CAPT, Setting, User as _, start_controllers},
};

/// Longer than anything that EKS does.
const QUIET: Duration = Duration::from_secs(300);

/// `a` goes, `b` gets another tag, `c` is new.
fn edited() -> Value {
    let mut edited = profiles(&["b", "c"]);
    edited[0]["tags"] = json!({"team": "x"});
    edited
}

async fn is_as_edited(world: &World, eks: &Eks) {
    world.settle_for(QUIET).await;
    world.until_state("blue", State::Ready).await;
    eks.was_never_asked_too_much();
    assert_eq!(eks.exists(), ["blue", "blue/b", "blue/c"]);
    let status = world.status("blue").await;
    assert_eq!(status.fargate_profiles_ready.as_deref(), Some("2/2"));
    let names: Vec<String> = status
        .fargate_profile_statuses
        .unwrap()
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names, ["b", "c"]);
    assert!(world.apply("blue-a-fargate-apply").await.is_none());
    let apply = world.apply("blue-b-fargate-apply").await.unwrap();
    assert_eq!(apply.spec.variables.unwrap()["tags"], r#"{"team":"x"}"#);
}

#[tokio::test]
async fn an_edit_at_any_moment_comes_to_the_same() {
    // From before the cluster is there until after the last profile is ready, half an operation at a time.
    for moment in [0, 1, 3, 4, 5, 7] {
        let world = World::embedded_only().await;
        let eks = begin(&world).await;
        make_cluster(&world, "blue", profiles(&["a", "b"])).await;
        world.advance(MINUTES / 2 * moment + Duration::from_secs(1)).await;
        want(&world, edited()).await;
        is_as_edited(&world, &eks).await;
        world.finish().await;
    }
}

#[tokio::test]
async fn a_control_plane_that_is_deleted_at_any_moment_leaks_nothing() {
    for moment in [0, 1, 3, 4, 5, 7] {
        let world = World::embedded_only().await;
        let eks = begin(&world).await;
        make_cluster(&world, "blue", profiles(&["a", "b"])).await;
        world.advance(MINUTES / 2 * moment + Duration::from_secs(1)).await;
        world.delete_plane("blue").await;
        world.until_plane_is_gone("blue").await;
        eks.was_never_asked_too_much();
        assert_eq!(eks.exists(), Vec::<String>::new(), "moment {moment}");
        let words = eks.words();
        let deletions: Vec<&String> = words.iter().filter(|word| word.starts_with("delete")).collect();
        assert!(
            deletions.last().is_none_or(|last| *last == "delete blue"),
            "{words:?}"
        );
        world.finish().await;
    }
}

#[tokio::test]
async fn other_selectors_replace_a_profile_only_when_somebody_approves() {
    let world = World::embedded_only().await;
    let eks = begin(&world).await;
    make_cluster(&world, "blue", profiles(&["a", "b"])).await;
    world.until_state("blue", State::Ready).await;
    let hash = profile(&world, "a").await.unwrap().observed_selectors_hash;
    let mut other = profiles(&["a", "b"]);
    other[0]["selectors"] = json!([{"namespace": "elsewhere"}]);
    want(&world, other).await;
    world
        .until("a to wait for an approval", async || {
            let told = profile(&world, "a").await.unwrap();
            told.phase == Some(Phase::Waiting) && told.message.unwrap().contains("replace")
        })
        .await;
    let told = profile(&world, "a").await.unwrap();
    assert!(told.ready, "pods run on it as before");
    assert_eq!(told.observed_selectors_hash, hash);
    assert_eq!(eks.words().len(), 3, "nothing was done");
    // Who waits for a person holds back nobody.
    let mut more = profiles(&["a", "b", "c"]);
    more[0]["selectors"] = json!([{"namespace": "elsewhere"}]);
    want(&world, more).await;
    until_busy(&world, &eks, "create blue/c").await;
    world
        .annotate("blue-a-fargate-apply", marks::ALLOW_DESTRUCTIVE, Some("true"))
        .await;
    until_busy(&world, &eks, "change blue/a").await;
    world
        .until("it to be told", async || {
            let told = profile(&world, "a").await.unwrap();
            told.phase == Some(Phase::Updating) && !told.ready
        })
        .await;
    world.until_state("blue", State::Ready).await;
    world.settle_for(QUIET).await;
    let told = profile(&world, "a").await.unwrap();
    assert!(told.ready);
    assert_ne!(told.observed_selectors_hash, hash);
    assert_eq!(eks.asked("change blue/a"), 1);
    let apply: WorkspaceTemplateApply = world.apply("blue-b-fargate-apply").await.unwrap();
    assert_eq!(apply.metadata.generation, Some(1), "the others are not touched");
    eks.was_never_asked_too_much();
    world.finish().await;
}

#[tokio::test]
async fn a_profile_of_which_nothing_was_made_can_be_made_from_another_template() {
    let world = World::embedded_only().await;
    let eks = begin(&world).await;
    eks.refuse("blue/a", Some("InvalidParameterException: no such role"));
    make_cluster(&world, "blue", profiles(&["a", "b"])).await;
    until_phase(&world, "a", Phase::Failed).await;
    until_phase(&world, "b", Phase::Ready).await;
    eks.refuse("blue/a", None);
    let mut template = slow_profile_template();
    template["metadata"]["name"] = json!("mended");
    let _: WorkspaceTemplate = world.create(template).await;
    let mut other = profiles(&["a", "b"]);
    other[0]["workspaceTemplateRef"] = json!({"name": "mended"});
    want(&world, other).await;
    until_phase(&world, "a", Phase::Ready).await;
    let apply: WorkspaceTemplateApply = world.apply("blue-a-fargate-apply").await.unwrap();
    assert_eq!(apply.spec.template_ref.name, "mended");
    eks.was_never_asked_too_much();
    world.finish().await;
}

/// A profile that is not wanted any more, and whose WorkspaceTemplateApply somebody deleted before it could be made again, is
/// neither destroyed without a word nor forgotten.
#[tokio::test]
async fn a_profile_that_outlived_its_apply_and_is_not_wanted_can_be_taken_back_and_goes_then() {
    let world = World::embedded_only().await;
    let eks = begin(&world).await;
    make_cluster(&world, "blue", profiles(&["a", "b"])).await;
    world.until_state("blue", State::Ready).await;
    world.settle().await;
    world.stop(CAPT);
    let name = "blue-a-fargate-apply";
    world.delete_apply(name).await;
    let _: WorkspaceTemplateApply = world.patch(name, json!({"metadata": {"finalizers": null}})).await;
    want(&world, profiles(&["b"])).await;
    start_controllers(&world, &Setting::default());
    until_phase(&world, "a", Phase::Failed).await;
    world.settle_for(QUIET).await;
    let told = profile(&world, "a").await.unwrap().failure_message.unwrap();
    for part in [
        "blue-a-fargate (ready)",
        "write the profile a into the spec again",
        "kubectl label workspaces.tf.m.upbound.io blue-a-fargate -n",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(world.status("blue").await.state, Some(State::Degraded));
    assert_eq!(eks.exists(), ["blue", "blue/a", "blue/b"]);

    want(&world, profiles(&["a", "b"])).await;
    until_phase(&world, "a", Phase::Ready).await;
    assert_eq!(eks.asked("create blue/a"), 1, "it is taken back");
    want(&world, profiles(&["b"])).await;
    world.until_gone(name).await;
    world.settle_for(QUIET).await;
    assert!(profile(&world, "a").await.is_none());
    assert_eq!(eks.exists(), ["blue", "blue/b"]);
    assert_eq!(world.status("blue").await.state, Some(State::Ready));
    eks.was_never_asked_too_much();
    world.finish().await;
}

/// A cluster with profiles, one fewer, and its end.
async fn a_whole_life(world: &World) {
    let eks = begin(world).await;
    make_cluster(world, "blue", profiles(&["a", "b"])).await;
    world.until_state("blue", State::Ready).await;
    want(world, edited()).await;
    is_as_edited(world, &eks).await;
    world.delete_plane("blue").await;
    world.until_plane_is_gone("blue").await;
    eks.was_never_asked_too_much();
    assert_eq!(eks.exists(), Vec::<String>::new());
    for what in ["create blue", "create blue/a", "create blue/b", "create blue/c"] {
        assert_eq!(eks.asked(what), 1, "{what}");
    }
}

/// No WorkspaceTemplateApply, Workspace, state or rendering is left.
async fn nothing_is_left(world: &World) {
    let left = world.snapshot().await;
    let ours: Vec<&String> = left
        .objects()
        .keys()
        .filter(|key| {
            [
                "upbound.io/",
                "workspacetemplateapplies",
                "captcontrolplanes",
                "rendering",
                "tfstate",
            ]
            .iter()
            .any(|part| key.contains(part))
                && !key.starts_with("customresourcedefinitions")
        })
        .collect();
    assert_eq!(ours, Vec::<&String>::new());
}

#[test]
fn a_crash_at_any_write_never_puts_two_operations_side_by_side() {
    let report = Sweep::new(World::builder().embedded_only())
        .quiet(QUIET)
        .may_miss()
        .one_in(29)
        .faults([Fault::CrashBefore, Fault::CrashAfter])
        .run_and_check(a_whole_life, nothing_is_left);
    assert!(report.writes.len() > 60, "{:#?}", report.writes);
}

#[test]
fn a_fault_at_any_write_never_puts_two_operations_side_by_side() {
    Sweep::new(World::builder().embedded_only())
        .quiet(QUIET)
        .may_miss()
        .one_in(31)
        .faults([Fault::fail(409), Fault::DropAnswer])
        .run_and_check(a_whole_life, nothing_is_left);
}
