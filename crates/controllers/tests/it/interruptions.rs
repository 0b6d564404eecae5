//! Whatever interrupts the life of a network, and wherever: a crash, a pause, the end. What comes of it is always
//! the same.

use std::time::Duration;

use capt_api::{CAPTCluster, foreign::Cluster};
use capt_testkit::{Fault, Sweep, World};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

use crate::{
    network::{NetworkUser as _, cluster, made_network},
    runner::Ledger,
    stage::{Setting, User as _, start_controllers, start_runner},
};

/// Longer than the first tries of whatever fails.
pub(crate) const QUIET: Duration = Duration::from_secs(60);

async fn begin(world: &World) -> Ledger {
    start_controllers(world, &Setting::default());
    let ledger = start_runner(world);
    world.make_template("net").await;
    let _: Cluster = world.create(cluster("blue")).await;
    let _: CAPTCluster = world.create(made_network("blue")).await;
    ledger
}

/// Nothing is left but the template.
async fn nothing_is_left(world: &World) {
    let left = world.snapshot().await;
    let ours: Vec<&String> = left
        .objects()
        .keys()
        .filter(|key| {
            ["upbound.io/", "x-k8s.io/", "rendering"]
                .iter()
                .any(|part| key.contains(part))
                && !key.starts_with("customresourcedefinitions")
        })
        .collect();
    assert_eq!(
        ours,
        ["workspacetemplates.infrastructure.cluster.x-k8s.io/test/net"]
    );
}

/// Made, changed, destroyed.
async fn a_whole_life(world: &World) {
    let ledger = begin(world).await;
    world.until_network_says("blue", "Ready", "True/VPCCreated").await;
    world.settle().await;
    let tagged = json!({"spec": {"additionalTags": {"team": "blue"}}});
    let _: CAPTCluster = world.patch("blue", tagged).await;
    world.settle().await;
    world.until_network_says("blue", "Ready", "True/VPCCreated").await;
    let made = ledger.made();
    assert_eq!(made.len(), 1, "nothing is made twice");
    assert_eq!(ledger.exists(), made);
    world.delete_cluster("blue").await;
    world.until_cluster_is_gone("blue").await;
    world.settle().await;
    assert_eq!(ledger.destroyed(), made);
}

#[test]
fn a_crash_at_any_write_changes_nothing() {
    let report = Sweep::new(World::builder().embedded_only())
        .quiet(QUIET)
        .may_miss()
        .one_in(3)
        .faults([Fault::CrashBefore, Fault::CrashAfter])
        .run_and_check(a_whole_life, nothing_is_left);
    assert!(report.writes.len() > 25, "{:#?}", report.writes);
}

/// Made, and destroyed whenever somebody wants it.
async fn a_life_that_may_be_short(world: &World) {
    let ledger = begin(world).await;
    world.settle().await;
    if world.cluster("blue").await.is_some() {
        world.delete_cluster("blue").await;
    }
    world.until_cluster_is_gone("blue").await;
    world.settle().await;
    // A Cluster that went before it could take over its network leaves that as it was: nobody's, and nothing made for it.
    if let Some(network) = world.network("blue").await {
        assert!(network.metadata.finalizers.is_none());
        world.delete_network("blue").await;
    }
    assert!(ledger.exists().is_empty(), "nothing is left behind");
    assert!(ledger.made().len() <= 1);
}

#[test]
fn a_cluster_that_is_deleted_at_any_write_leaves_nothing() {
    Sweep::new(World::builder().embedded_only())
        .quiet(QUIET)
        .may_miss()
        .one_in(3)
        .fault("delete", deletion)
        .run_and_check(a_life_that_may_be_short, nothing_is_left);
}

/// Somebody deletes the Cluster.
pub(crate) fn deletion(world: &World) -> Fault {
    let api: Api<Cluster> = world.api();
    Fault::meanwhile(move || {
        let api = api.clone();
        async move {
            let _ = api.delete("blue", &DeleteParams::default()).await;
        }
    })
}

/// Somebody pauses the Cluster.
pub(crate) fn pause(world: &World) -> Fault {
    let api: Api<Cluster> = world.api();
    Fault::meanwhile(move || {
        let api = api.clone();
        async move {
            let patch = Patch::Merge(json!({"spec": {"paused": true}}));
            let _ = api.patch("blue", &PatchParams::default(), &patch).await;
        }
    })
}

async fn is_paused(world: &World) -> bool {
    let cluster = world.cluster("blue").await;
    cluster.is_some_and(|cluster| cluster.spec.paused == Some(true))
}

/// In a pause nothing is done, however long it is.
pub(crate) async fn sit_out_a_pause(world: &World, hours: u64) {
    world.settle().await;
    if is_paused(world).await {
        let mark = world.recorder().mark();
        world.advance(Duration::from_secs(hours * 3600)).await;
        assert_eq!(world.recorder().writes_since(mark).len(), 0);
        world.pause("blue", false).await;
        world.settle().await;
    }
}

/// Made and destroyed, with a pause wherever there is one.
async fn a_life_with_a_pause(world: &World) {
    let ledger = begin(world).await;
    sit_out_a_pause(world, 24).await;
    world.until_network_says("blue", "Ready", "True/VPCCreated").await;
    world.settle().await;
    world.delete_cluster("blue").await;
    sit_out_a_pause(world, 24).await;
    world.until_cluster_is_gone("blue").await;
    world.settle().await;
    assert!(ledger.exists().is_empty());
    assert_eq!(ledger.made().len(), 1);
}

#[test]
fn a_pause_at_any_write_only_takes_time() {
    Sweep::new(World::builder().embedded_only())
        .quiet(QUIET)
        .may_miss()
        .one_in(3)
        .fault("pause", pause)
        .run_and_check(a_life_with_a_pause, nothing_is_left);
}
