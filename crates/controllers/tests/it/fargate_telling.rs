//! What is told about profiles, how often, and that nothing is told which is not so.

use std::{collections::BTreeMap, time::Duration};

use capt_api::{
    CAPTControlPlane, WorkspaceTemplate,
    captcontrolplane::{ControlPlaneState as State, FargateProfilePhase as Phase},
    conditions::find_condition,
    foreign::Cluster,
    marks,
};
use capt_testkit::World;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{
    controlplane::ControlPlaneUser as _,
    eks::{Eks, slow_eks_template, slow_profile_template, start_eks_polling},
    fargate::profiles,
    fargate_turns::{begin, make_cluster, profile, until_phase, want, with},
    stage::{CAPT, Setting, User as _, start_controllers},
};

/// How often the status of control planes was written since then, and told something else than progress.
fn status_writes(world: &World, since: capt_testkit::Mark) -> usize {
    let writes = world.recorder().writes_since(since);
    let mut last: BTreeMap<String, Value> = BTreeMap::new();
    writes
        .iter()
        .filter(|entry| entry.took_effect() && entry.call.caller == CAPT)
        .filter(|entry| entry.call.resource == "captcontrolplanes" && entry.call.subresource == "status")
        .filter(|entry| {
            let mut body: Value = serde_json::from_slice(&entry.call.body).unwrap();
            let status = body["status"].as_object_mut().unwrap();
            status.remove("progress");
            let told = json!(status);
            last.insert(entry.call.name.clone(), told.clone()) != Some(told)
        })
        .count()
}

/// Makes profiles in a cluster that is ready, removes them again, and counts what is told about that.
async fn writes_for_edits(names: &[&str]) -> usize {
    let (world, _eks) = with(&[]).await;
    writes_for_edits_in(world, names).await
}

/// The same in a world whose cluster is being made.
async fn writes_for_edits_in(world: World, names: &[&str]) -> usize {
    world.until_state("blue", State::Ready).await;
    world.settle().await;
    let before = world.recorder().mark();
    want(&world, profiles(names)).await;
    until_phase(&world, names[names.len() - 1], Phase::Ready).await;
    world.until_state("blue", State::Ready).await;
    want(&world, json!([])).await;
    world
        .until("all to be gone", async || {
            let rows = world.status("blue").await.fargate_profile_statuses;
            rows.unwrap_or_default().is_empty()
        })
        .await;
    world.settle().await;
    let writes = status_writes(&world, before);
    world.finish().await;
    writes
}

/// Makes a cluster with these profiles, deletes it, and counts what is told about that.
async fn writes_for_a_cluster(names: &[&str]) -> usize {
    let world = World::embedded_only().await;
    let _eks = begin(&world).await;
    let before = world.recorder().mark();
    make_cluster(&world, "blue", profiles(names)).await;
    world.until_state("blue", State::Ready).await;
    world.settle().await;
    world.delete_plane("blue").await;
    world.until_plane_is_gone("blue").await;
    world.settle().await;
    let writes = status_writes(&world, before);
    world.finish().await;
    writes
}

#[tokio::test]
async fn the_life_of_a_profile_costs_at_most_three_writes() {
    let names = ["a", "b", "c", "d"];
    let writes = writes_for_edits(&names).await;
    assert!(writes <= 3 * names.len(), "{writes} writes for {names:?}");
    let without = writes_for_a_cluster(&[]).await;
    let with_one = writes_for_a_cluster(&["a"]).await;
    assert!(
        with_one <= without + 3,
        "{with_one} writes, and {without} without it"
    );
}

/// Nothing else happens with which the one that is added and removed alone could be told. That it is under way is progress,
/// which what comes of it within a moment makes needless.
#[tokio::test]
async fn a_profile_that_is_added_and_removed_alone_costs_one_write_for_each_edit_and_progress() {
    let (world, _eks) = with(&[]).await;
    assert_eq!(
        writes_for_edits_in(world, &["a"]).await,
        4,
        "what takes minutes is told twice"
    );

    let world = World::embedded_only().await;
    start_controllers(&world, &Setting::default());
    let _eks = start_eks_polling(&world, None);
    let _: WorkspaceTemplate = world.create(slow_eks_template()).await;
    let mut quick = slow_profile_template();
    let module = &mut quick["spec"]["template"]["spec"]["forProvider"]["module"];
    *module = json!(module.as_str().unwrap().replace("default = 120", "default = 0"));
    let _: WorkspaceTemplate = world.create(quick).await;
    make_cluster(&world, "blue", json!([])).await;
    assert_eq!(writes_for_edits_in(world, &["a"]).await, 2);
}

#[tokio::test]
async fn a_row_that_somebody_wrote_by_hand_goes_and_is_told_once() {
    let (world, _eks) = with(&["a"]).await;
    world.until_state("blue", State::Ready).await;
    let api: Api<CAPTControlPlane> = world.api();
    let mut rows = json!(world.status("blue").await.fargate_profile_statuses);
    let ghost = json!({"name": "ghost", "ready": true, "workspaceTemplateApplyName": "ghost"});
    rows.as_array_mut().unwrap().push(ghost);
    let patch = json!({"status": {"fargateProfileStatuses": rows}});
    let by_hand = PatchParams {
        field_manager: Some("kubectl-edit".to_owned()),
        ..PatchParams::default()
    };
    api.patch_status("blue", &by_hand, &Patch::Merge(patch))
        .await
        .unwrap();
    world.settle().await;
    let rows = world.status("blue").await.fargate_profile_statuses.unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["a"]);
    let before = world.recorder().mark();
    world.advance(Duration::from_secs(3600)).await;
    assert_eq!(status_writes(&world, before), 0, "nothing goes round for that");
    world.finish().await;
}

#[tokio::test]
async fn a_pause_that_ends_without_a_change_makes_nothing_of_it() {
    let (world, eks) = with(&["a", "b"]).await;
    world.until_state("blue", State::Ready).await;
    world.settle().await;
    let (before, words) = (world.status("blue").await, eks.words());
    let turn = async || {
        let annotations = world.plane("blue").await.unwrap().metadata.annotations;
        annotations.unwrap_or_default().get(marks::TURN).cloned()
    };
    let held = turn().await;
    let _: Cluster = world.patch("blue", json!({"spec": {"paused": true}})).await;
    world.settle().await;
    let paused = world.plane_says("blue", "Paused").await;
    assert!(paused.starts_with("True"), "{paused}");
    let since = world.recorder().mark();
    let _: Cluster = world.patch("blue", json!({"spec": {"paused": false}})).await;
    world.settle().await;
    for entry in world.recorder().writes_since(since) {
        let is_status = entry.call.resource == "captcontrolplanes" && entry.call.subresource == "status";
        if is_status {
            let body: Value = serde_json::from_slice(&entry.call.body).unwrap();
            let told = &body["status"]["fargateProfileStatuses"];
            assert_eq!(*told, json!(before.fargate_profile_statuses), "at {}", entry.at);
        }
    }
    let after = world.status("blue").await;
    assert_eq!(after.fargate_profile_statuses, before.fargate_profile_statuses);
    assert_eq!(after.state, Some(State::Ready));
    assert_eq!(turn().await, held);
    assert_eq!(eks.words(), words, "nothing was done");
    world.finish().await;
}

#[tokio::test]
async fn what_a_failed_one_waits_for_is_told_as_it_is() {
    let (world, eks) = with(&["a", "b", "c"]).await;
    eks.refuse("blue/b", Some("InvalidParameterException: no such subnet"));
    until_phase(&world, "c", Phase::Ready).await;
    until_phase(&world, "b", Phase::Failed).await;
    world.settle().await;
    let apply = world.apply("blue-b-fargate-apply").await.unwrap();
    let conditions = apply.status.unwrap().conditions.unwrap();
    let waits = find_condition(&conditions, "Waiting").unwrap();
    assert_eq!(waits.status, "True");
    assert!(
        waits
            .message
            .starts_with("It failed, and leaves the turn to others")
            && waits.message.contains("capt retry captcontrolplane")
            && waits.message.contains("no such subnet"),
        "{}",
        waits.message
    );
    let synced = find_condition(&conditions, "Synced").unwrap();
    assert_eq!(synced.reason, "ReconcilePaused");
    assert!(
        synced.message.contains("it is not its turn") && !synced.message.contains("somebody asked"),
        "{}",
        synced.message
    );
    world.finish().await;
}

/// A cluster with these profiles, and a runner that looks for what somebody else changed every ten minutes.
pub(crate) async fn looking(names: &[&str]) -> (World, Eks) {
    let world = World::embedded_only().await;
    start_controllers(&world, &Setting::default());
    let eks = start_eks_polling(&world, Some(Duration::from_secs(600)));
    let _: WorkspaceTemplate = world.create(slow_eks_template()).await;
    let _: WorkspaceTemplate = world.create(slow_profile_template()).await;
    make_cluster(&world, "blue", profiles(names)).await;
    world.until_state("blue", State::Ready).await;
    (world, eks)
}

/// Somebody deletes a profile on AWS, by hand.
pub(crate) async fn remove_by_hand(world: &World, eks: &Eks, name: &str) {
    eks.by_hand(&format!("blue/{name}"), false);
    let apply = format!("blue-{name}-fargate-apply");
    world
        .annotate(&apply, marks::SIMULATE_DRIFT, Some("-terraform_data.it"))
        .await;
}

#[tokio::test]
async fn a_profile_that_somebody_removes_on_aws_is_missed_and_made_again() {
    let (world, eks) = looking(&["a", "b"]).await;
    remove_by_hand(&world, &eks, "a").await;
    until_phase(&world, "a", Phase::Updating).await;
    let row = profile(&world, "a").await.unwrap();
    let told = row.message.unwrap();
    assert!(
        told.contains("Somebody changed or removed it elsewhere") && told.contains("terraform_data.it"),
        "{told}"
    );
    assert!(!row.ready, "no pod can run on what is not there");
    let status = world.status("blue").await;
    assert_eq!(status.fargate_profiles_ready.as_deref(), Some("1/2"));
    let conditions = status.conditions.unwrap();
    let ready = find_condition(&conditions, "FargateProfileReady").unwrap();
    assert!(
        ready.status == "False" && ready.message.contains("Somebody changed or removed it elsewhere"),
        "{ready:?}"
    );
    assert_eq!(world.status("blue").await.state, Some(State::Configuring));
    until_phase(&world, "a", Phase::Ready).await;
    world.until_state("blue", State::Ready).await;
    assert_eq!(eks.exists(), ["blue", "blue/a", "blue/b"]);
    assert_eq!(
        eks.asked("create blue/b") + eks.asked("change blue/b"),
        1,
        "the other is not touched"
    );
    eks.was_never_asked_too_much();
    world.finish().await;
}

#[tokio::test]
async fn a_profile_that_somebody_removed_on_aws_does_not_block_its_end() {
    for is_whole in [false, true] {
        let (world, eks) = looking(&["a", "b"]).await;
        remove_by_hand(&world, &eks, "a").await;
        if is_whole {
            world.delete_plane("blue").await;
            world.until_plane_is_gone("blue").await;
            assert_eq!(eks.exists(), Vec::<String>::new());
        } else {
            want(&world, profiles(&["b"])).await;
            world.until_gone("blue-a-fargate-apply").await;
            world.until_state("blue", State::Ready).await;
            assert_eq!(eks.exists(), ["blue", "blue/b"]);
        }
        assert_eq!(eks.asked("delete blue/a"), 0, "there was nothing to delete");
        eks.was_never_asked_too_much();
        world.finish().await;
    }
}

#[tokio::test]
async fn what_somebody_changes_by_hand_is_mended_in_turn() {
    let (world, eks) = looking(&["a"]).await;
    remove_by_hand(&world, &eks, "a").await;
    world
        .annotate(
            "blue-eks-controlplane-apply",
            marks::SIMULATE_DRIFT,
            Some("terraform_data.it"),
        )
        .await;
    // Whenever it is looked, one of these is being made.
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    want(&world, profiles(&names)).await;
    until_phase(&world, "g", Phase::Ready).await;
    world
        .until("everything to be mended", async || {
            eks.asked("change blue") == 1 && eks.exists().contains(&"blue/a".to_owned())
        })
        .await;
    world.until_state("blue", State::Ready).await;
    world.advance(Duration::from_secs(3600)).await;
    assert_eq!(eks.asked("change blue"), 1);
    assert_eq!(eks.words().len(), 2 + 6 + 2, "{:?}", eks.words());
    eks.was_never_asked_too_much();
    world.finish().await;
}

#[tokio::test]
async fn another_try_that_works_is_not_told_as_a_failure_once_more() {
    let (world, eks) = with(&["a"]).await;
    world.until_state("blue", State::Ready).await;
    for what in ["blue", "blue/a"] {
        eks.refuse(what, Some("InvalidParameterException: no"));
        if what == "blue" {
            let newer = json!({"spec": {"version": "1.32"}});
            let _: CAPTControlPlane = world.patch("blue", newer).await;
        } else {
            let mut changed = profiles(&["a"]);
            changed[0]["tags"] = json!({"team": "x"});
            want(&world, changed).await;
        }
        world.until_state("blue", State::Degraded).await;
        world.settle().await;
        eks.refuse(what, None);
        let before = world.recorder().mark();
        let patch = json!({"metadata": {"annotations": {marks::RETRY_REQUESTED: what}}});
        let _: CAPTControlPlane = world.patch("blue", patch).await;
        world.until_state("blue", State::Ready).await;
        for entry in world.recorder().writes_since(before) {
            if entry.call.resource == "captcontrolplanes" && entry.call.subresource == "status" {
                let body: Value = serde_json::from_slice(&entry.call.body).unwrap();
                assert_ne!(body["status"]["state"], "Degraded", "{what}, at {}", entry.at);
            }
        }
    }
    world.finish().await;
}
