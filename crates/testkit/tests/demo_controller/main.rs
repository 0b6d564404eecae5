//! How controllers are tested here, shown on a small one: days of quiet, every fault at every write, a crash before and
//! after every write, and views of the API that are stale or wrong.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests, where a panic is a failed test"
)]

mod controller;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use capt_testkit::{
    Builder, Calls, Disturbance, EventKind, Events, Fault, Process, Sweep, Times, Verb, World,
    for_each_write_crash,
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use controller::{LABEL, LOOK_AGAIN, NAME, OBSERVED, child_name};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The demonstration needs no kinds but the built-in ones.
fn stage() -> Builder {
    World::builder().without_crds()
}

fn parents(world: &World) -> Api<ConfigMap> {
    Api::default_namespaced(world.client())
}

fn children(world: &World) -> Api<Secret> {
    Api::default_namespaced(world.client())
}

fn start(world: &World) -> Arc<AtomicUsize> {
    let reconciled = Arc::new(AtomicUsize::new(0));
    let counter = reconciled.clone();
    world.start(NAME, move |process| controller::run(process, counter.clone()));
    reconciled
}

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

async fn make(world: &World, name: &str, color: &str) {
    let parent = object(json!({"metadata": {"name": name, "labels": {LABEL: ""}}, "data": {"color": color}}));
    parents(world)
        .create(&PostParams::default(), &parent)
        .await
        .unwrap();
}

async fn paint(world: &World, name: &str, color: &str) {
    let patch = Patch::Merge(json!({"data": {"color": color}}));
    parents(world)
        .patch(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

async fn color_of_child(world: &World, parent: &str) -> Option<String> {
    let child = children(world).get_opt(&child_name(parent)).await.unwrap()?;
    let color = child.data?.remove("color")?;
    Some(String::from_utf8(color.0).unwrap())
}

/// A whole life: made, changed, its child lost, one of two deleted.
async fn a_whole_life(world: &World) {
    start(world);
    make(world, "a", "red").await;
    make(world, "b", "green").await;
    world.settle().await;
    paint(world, "a", "blue").await;
    world.settle().await;
    children(world)
        .delete(&child_name("a"), &DeleteParams::default())
        .await
        .unwrap();
    world.settle().await;
    parents(world)
        .delete("b", &DeleteParams::default())
        .await
        .unwrap();
    world.settle().await;
}

async fn check_whole_life(world: &World) {
    assert_eq!(color_of_child(world, "a").await.as_deref(), Some("blue"));
    assert_eq!(color_of_child(world, "b").await, None);
    let left = parents(world).list(&Default::default()).await.unwrap();
    let ours: Vec<ConfigMap> = left
        .into_iter()
        .filter(|parent| parent.labels().contains_key(LABEL))
        .collect();
    assert_eq!(ours.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["a"]);
    assert_eq!(ours[0].annotations()[OBSERVED], "blue");
}

/// Runs in real time if `CAPT_TEST_KUBECONFIG` is set.
#[tokio::test]
async fn it_keeps_children_in_step() {
    let world = stage().start().await;
    a_whole_life(&world).await;
    check_whole_life(&world).await;
    world.finish().await;
}

#[tokio::test]
async fn a_day_of_rest_costs_nothing() {
    let world = stage().embedded_only().start().await;
    let reconciled = start(&world);
    make(&world, "a", "red").await;
    world.settle().await;
    let (mark, before) = (world.recorder().mark(), reconciled.load(Ordering::Relaxed));
    world.advance(DAY).await;
    let requests = world.recorder().requests_since(mark);
    assert!(requests.is_empty(), "{requests:?}");
    let times = reconciled.load(Ordering::Relaxed) - before;
    let expected = DAY.as_secs() / LOOK_AGAIN.as_secs();
    assert_eq!(times as u64, expected, "it looked again every five minutes");
}

#[test]
fn it_survives_a_crash_at_every_write() {
    let report = for_each_write_crash(stage(), a_whole_life);
    assert_eq!(report.cases, report.writes.len() * 2);
    assert!(report.writes.len() >= 11, "{:#?}", report.writes);
}

#[test]
fn it_survives_every_fault_at_every_write() {
    let second = Duration::from_secs(1);
    let failures = [409, 422, 429, 500, 503].map(Fault::fail);
    let others = [
        Fault::Refuse,
        Fault::DropAnswer,
        Fault::Hang,
        Fault::Delay(second),
        Fault::DelayAnswer(8 * second),
    ];
    Sweep::new(stage())
        .faults(failures)
        .faults(others)
        .run(a_whole_life);
}

#[test]
fn nothing_is_left_whenever_the_parent_is_deleted() {
    let deleted_after_a_write = |world: &World| {
        let parents = parents(world);
        Fault::afterwards(move || {
            let parents = parents.clone();
            async move {
                parents.delete("a", &DeleteParams::default()).await.unwrap();
            }
        })
    };
    Sweep::new(stage())
        .fault("delete-after", deleted_after_a_write)
        .run_and_check(
            async |world| {
                start(world);
                make(world, "a", "red").await;
                world.settle().await;
            },
            async |world| {
                assert!(
                    parents(world).get_opt("a").await.unwrap().is_none(),
                    "the parent is gone"
                );
                assert_eq!(color_of_child(world, "a").await, None, "and so is its child");
            },
        );
}

#[test]
fn it_does_not_mind_others_writing_at_the_same_time() {
    let labelled_before_a_write = |world: &World| {
        let parents = parents(world);
        Fault::meanwhile(move || {
            let parents = parents.clone();
            async move {
                let label = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
                parents.patch("a", &PatchParams::default(), &label).await.unwrap();
            }
        })
    };
    Sweep::new(stage())
        .fault("label-before", labelled_before_a_write)
        .run_and_check(a_whole_life, async |world| {
            check_whole_life(world).await;
            assert_eq!(
                parents(world).get("a").await.unwrap().labels()["seen"],
                "yes",
                "no update is lost"
            );
        });
}

#[tokio::test]
async fn it_survives_every_disturbance_of_its_view() {
    let disturbances = [
        Disturbance::Drop,
        Disturbance::Duplicate,
        Disturbance::Cut,
        Disturbance::Reset,
        Disturbance::Expire,
    ];
    for resource in ["configmaps", "secrets"] {
        for disturbance in disturbances {
            let world = stage().embedded_only().start().await;
            let modified = Events::to(NAME).resource(resource).kind(EventKind::Modified);
            world.faults().disturb(modified, Times::Once, disturbance);
            a_whole_life(&world).await;
            // A lost event is made up for when the controller looks again.
            world.advance(LOOK_AGAIN).await;
            world.settle().await;
            check_whole_life(&world).await;
            world.finish().await;
        }
    }
}

#[tokio::test]
async fn others_make_progress_while_one_call_hangs() {
    let world = stage().embedded_only().start().await;
    let hang = Calls::by(NAME)
        .verb(Verb::Apply)
        .resource("secrets")
        .name("a-child");
    world.faults().inject(hang, Times::First(3), Fault::Hang);
    start(&world);
    make(&world, "a", "red").await;
    make(&world, "b", "green").await;
    world
        .until("the child of b", async || {
            color_of_child(&world, "b").await.is_some()
        })
        .await;
    assert_eq!(color_of_child(&world, "a").await, None);
    world
        .until("the child of a", async || {
            color_of_child(&world, "a").await.is_some()
        })
        .await;
}

#[tokio::test]
async fn it_deletes_nothing_that_it_has_not_seen() {
    let world = stage().embedded_only().start().await;
    start(&world);
    make(&world, "a", "red").await;
    world.settle().await;
    let stale = world.faults().disturb(
        Events::to(NAME).resource("secrets"),
        Times::Every,
        Disturbance::Hold,
    );
    // Somebody else's secret takes the place of the child, and the controller does not know.
    let name = child_name("a");
    children(&world)
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
    let precious = object(json!({"metadata": {"name": name}, "stringData": {"precious": "yes"}}));
    children(&world)
        .create(&PostParams::default(), &precious)
        .await
        .unwrap();
    parents(&world)
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    world.settle().await;
    assert!(children(&world).get_opt(&name).await.unwrap().is_some());
    stale.release();
    world.settle().await;
    assert!(children(&world).get_opt(&name).await.unwrap().is_some());
    assert!(
        parents(&world).get_opt("a").await.unwrap().is_none(),
        "the parent is not held up for ever"
    );
}

#[tokio::test]
async fn a_restart_from_an_old_view_goes_forward() {
    let world = stage().embedded_only().start().await;
    start(&world);
    make(&world, "a", "red").await;
    world.settle().await;
    let old = world.revision();
    paint(&world, "a", "blue").await;
    world.settle().await;
    world.faults().inject(
        Calls::by(NAME).verb(Verb::List),
        Times::First(2),
        Fault::AsOf(old),
    );
    world.crash(NAME);
    world.settle().await;
    assert_eq!(color_of_child(&world, "a").await.as_deref(), Some("blue"));
}

/// Makes a child first and notes that it did afterwards: a crash in between makes another one.
async fn forgetful(process: Process) {
    let maps: Api<ConfigMap> = Api::default_namespaced(process.client.clone());
    loop {
        let parents = maps.list(&kube::api::ListParams::default().labels(LABEL)).await;
        for parent in parents
            .into_iter()
            .flatten()
            .filter(|parent| !parent.annotations().contains_key(OBSERVED))
        {
            let child = object(json!({"metadata": {"generateName": "child-"}}));
            if maps.create(&PostParams::default(), &child).await.is_ok() {
                let note = Patch::Merge(json!({"metadata": {"annotations": {OBSERVED: "done"}}}));
                let _ = maps
                    .patch(&parent.name_any(), &PatchParams::default(), &note)
                    .await;
            }
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

#[test]
fn a_controller_that_cannot_stand_a_crash_is_found_out() {
    let swept = catch_unwind(AssertUnwindSafe(|| {
        for_each_write_crash(stage(), async |world: &World| {
            world.start("forgetful", forgetful);
            make(world, "a", "red").await;
            world.settle().await;
        })
    }));
    let message = *swept.unwrap_err().downcast::<String>().unwrap();
    assert!(
        message.contains(r#"CAPT_TEST_CASE="forgetful#1 crash-after""#),
        "{message}"
    );
    assert!(message.contains("is extra"), "{message}");
}
