//! Whatever interrupts the life of a whole cluster, with a network that is made for it, and wherever: a crash, an answer
//! that is lost, a pause, the end. Nothing is made twice, the control plane goes before its network, and nothing is left.

use capt_api::{
    CAPTCluster, CAPTControlPlane, captcontrolplane::ControlPlaneState as State, foreign::Cluster,
};
use capt_testkit::{Fault, Sweep, World};
use serde_json::json;

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane},
    interruptions::{QUIET, deletion, pause, sit_out_a_pause},
    network::{NetworkUser as _, cluster, made_network},
    runner::Ledger,
    stage::{Setting, User as _, start_controllers, start_runner},
};

/// Hours of a pause. Whoever serves is asked again and again whether it answers, which takes the test its time.
const PAUSE: u64 = 3;

/// A whole cluster, about to be made.
pub(crate) async fn begin(world: &World) -> Ledger {
    start_controllers(world, &Setting::default());
    let ledger = start_runner(world);
    world
        .make_cluster_with_network("blue", control_plane("blue"))
        .await;
    ledger
}

/// Another version of Kubernetes, and a tag on the network.
pub(crate) async fn change(world: &World) {
    let tagged = json!({"spec": {"additionalTags": {"team": "blue"}}});
    let _: CAPTCluster = world.patch("blue", tagged).await;
    let newer = json!({"spec": {"version": "1.32"}});
    let _: CAPTControlPlane = world.patch("blue", newer).await;
}

/// Whatever was made was made once, the network first, and went in the opposite order.
fn went_in_order(ledger: &Ledger) {
    let mut made = ledger.made();
    let is_network: Vec<bool> = made.iter().map(|name| name.contains("vpc")).collect();
    assert!(
        [&[][..], &[true], &[true, false]].contains(&&*is_network),
        "{made:?}"
    );
    made.reverse();
    assert_eq!(ledger.destroyed(), made, "the control plane goes first");
    assert!(ledger.exists().is_empty());
}

/// Nothing is left but the templates, what was learned from them, and the Secrets that the played runner wrote.
async fn nothing_is_left(world: &World) {
    let left = world.snapshot().await;
    let is_expected = |key: &&String| key.ends_with("-connection") || key.ends_with("-statistics");
    let ours: Vec<&String> = left
        .objects()
        .keys()
        .filter(|key| key.contains("/test/") && !is_expected(key))
        .collect();
    assert_eq!(
        ours,
        [
            "workspacetemplates.infrastructure.cluster.x-k8s.io/test/eks",
            "workspacetemplates.infrastructure.cluster.x-k8s.io/test/net",
        ]
    );
}

/// Made, changed, destroyed.
async fn a_whole_life(world: &World) {
    let ledger = begin(world).await;
    world.until_state("blue", State::Ready).await;
    world.settle().await;
    change(world).await;
    world.settle().await;
    world.until_state("blue", State::Ready).await;
    world.until_network_says("blue", "Ready", "True/VPCCreated").await;
    assert_eq!(ledger.versions(), ["1.31", "1.32"]);
    assert_eq!(ledger.made().len(), 2, "nothing is made twice");
    assert!(ledger.destroyed().is_empty());
    world.delete_cluster("blue").await;
    world.until_cluster_is_gone("blue").await;
    world.settle().await;
    went_in_order(&ledger);
    assert_eq!(ledger.made().len(), 2);
}

#[test]
fn a_crash_or_a_lost_answer_at_any_write_changes_nothing() {
    let report = Sweep::new(World::builder().embedded_only())
        .quiet(QUIET)
        .may_miss()
        .one_in(10)
        .faults([Fault::CrashBefore, Fault::CrashAfter, Fault::DropAnswer])
        .run_and_check(a_whole_life, nothing_is_left);
    assert!(report.writes.len() > 60, "{:#?}", report.writes);
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
    // A Cluster that went before it could take over what it names leaves that as it was: nobody's, and nothing made for it. A
    // control plane is held before that, which costs one status less, and goes when somebody deletes it.
    if let Some(plane) = world.plane("blue").await {
        assert!(plane.metadata.owner_references.is_none());
        assert!(plane.spec.workspace_template_apply_name.is_none() || ledger.made().is_empty());
        world.delete_plane("blue").await;
    }
    if let Some(network) = world.network("blue").await {
        assert!(network.metadata.finalizers.is_none());
        world.delete_network("blue").await;
    }
    went_in_order(&ledger);
}

#[test]
fn a_cluster_that_is_deleted_at_any_write_leaves_nothing() {
    Sweep::new(World::builder().embedded_only())
        .quiet(QUIET)
        .may_miss()
        .one_in(5)
        .fault("delete", deletion)
        .run_and_check(a_life_that_may_be_short, nothing_is_left);
}

/// Made, changed and destroyed, with a pause wherever there is one.
async fn a_life_with_a_pause(world: &World) {
    let ledger = begin(world).await;
    sit_out_a_pause(world, PAUSE).await;
    world.until_state("blue", State::Ready).await;
    change(world).await;
    sit_out_a_pause(world, PAUSE).await;
    world.until_state("blue", State::Ready).await;
    assert_eq!(ledger.versions(), ["1.31", "1.32"]);
    assert!(ledger.destroyed().is_empty());
    world.delete_cluster("blue").await;
    sit_out_a_pause(world, PAUSE).await;
    world.until_cluster_is_gone("blue").await;
    world.settle().await;
    went_in_order(&ledger);
    assert_eq!(ledger.made().len(), 2);
}

#[test]
fn a_pause_at_any_write_only_takes_time() {
    Sweep::new(World::builder().embedded_only())
        .quiet(QUIET)
        .may_miss()
        .one_in(5)
        .fault("pause", pause)
        .run_and_check(a_life_with_a_pause, nothing_is_left);
}

/// Somebody names the control plane of another Cluster by mistake, and deletes what that mistake is in.
#[tokio::test]
async fn who_names_the_control_plane_of_another_goes_without_it() {
    let world = &World::embedded_only().await;
    let ledger = begin(world).await;
    world.until_state("blue", State::Ready).await;
    let mut green = cluster("green");
    green["spec"]["controlPlaneRef"] = json!({
        "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "CAPTControlPlane", "name": "blue",
    });
    let _: Cluster = world.create(green).await;
    let _: CAPTCluster = world.create(made_network("green")).await;
    world
        .until_network_says("green", "Ready", "True/VPCCreated")
        .await;
    world.delete_cluster("green").await;
    world.until_cluster_is_gone("green").await;
    world.settle().await;
    let gone = ledger.destroyed();
    assert!(gone.len() == 1 && gone[0].contains("green"), "{gone:?}");
    let plane = world.plane("blue").await.unwrap();
    assert_eq!(plane.metadata.deletion_timestamp, None);
    assert_eq!(ledger.exists().len(), 2, "what the other one has stays");
}
