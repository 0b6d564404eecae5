//! What each fault does to a call: what the server gets to see, and what the caller is told.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests, where a panic is a failed test"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use capt_testkit::{Calls, Entry, Fault, Times, Verb, World};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::time::{Instant, timeout};

const PATIENCE: Duration = Duration::from_secs(30);

async fn stage() -> World {
    World::builder().without_crds().embedded_only().start().await
}

fn maps(world: &World, caller: &str) -> Api<ConfigMap> {
    Api::default_namespaced(world.client_for(caller))
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

/// What became of a create: told to the caller, and true of the API.
async fn create_under(fault: Fault) -> (String, bool, Entry, Duration) {
    let world = stage().await;
    world
        .faults()
        .inject(Calls::by("demo").verb(Verb::Create), Times::Once, fault);
    let started = Instant::now();
    let told = match timeout(
        PATIENCE,
        maps(&world, "demo").create(&PostParams::default(), &map("x")),
    )
    .await
    {
        Ok(Ok(_)) => "done".to_owned(),
        Ok(Err(kube::Error::Api(status))) => format!("{} {}", status.code, status.reason),
        Ok(Err(_)) => "no connection".to_owned(),
        Err(_) => "nothing".to_owned(),
    };
    let taken = started.elapsed();
    let exists = maps(&world, "observer").get_opt("x").await.unwrap().is_some();
    let entry = world.recorder().writes().remove(0);
    (told, exists, entry, taken)
}

#[tokio::test]
async fn each_fault_does_what_it_says() {
    let short = Duration::from_secs(10);
    let cases = [
        (
            Fault::fail(500),
            "500 InternalError",
            false,
            None,
            Some(500),
            Duration::ZERO,
        ),
        (
            Fault::fail(409),
            "409 Conflict",
            false,
            None,
            Some(409),
            Duration::ZERO,
        ),
        (Fault::Refuse, "no connection", false, None, None, Duration::ZERO),
        (Fault::Delay(short), "done", true, Some(201), Some(201), short),
        (
            Fault::DelayAnswer(short),
            "done",
            true,
            Some(201),
            Some(201),
            short,
        ),
        (Fault::Hang, "nothing", false, None, None, PATIENCE),
        (
            Fault::DropAnswer,
            "no connection",
            true,
            Some(201),
            None,
            Duration::ZERO,
        ),
        (Fault::CrashBefore, "nothing", false, None, None, PATIENCE),
        (Fault::CrashAfter, "nothing", true, Some(201), None, PATIENCE),
    ];
    for (fault, expected, expected_exists, executed, recorded, expected_time) in cases {
        let name = format!("{fault:?}");
        let (told, exists, entry, taken) = create_under(fault).await;
        assert_eq!((told.as_str(), exists), (expected, expected_exists), "{name}");
        assert_eq!((entry.executed, entry.told), (executed, recorded), "{name}");
        assert_eq!(taken.as_secs(), expected_time.as_secs(), "{name}");
        assert_eq!(entry.resource_version.is_empty(), !exists, "{name}");
    }
}

#[tokio::test]
async fn somebody_else_can_come_in_between() {
    let world = stage().await;
    let ours = maps(&world, "demo");
    let seen = ours.create(&PostParams::default(), &map("x")).await.unwrap();
    let theirs: Api<ConfigMap> = Api::default_namespaced(world.client());
    let meddle = Fault::meanwhile(move || {
        let theirs = theirs.clone();
        async move {
            let patch = Patch::Merge(json!({"data": {"theirs": "yes"}}));
            theirs.patch("x", &PatchParams::default(), &patch).await.unwrap();
        }
    });
    world
        .faults()
        .inject(Calls::by("demo").verb(Verb::Update), Times::Once, meddle);
    let refused = ours.replace("x", &PostParams::default(), &seen).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.is_conflict()));
}

#[tokio::test]
async fn a_list_can_be_of_the_past() {
    let world = stage().await;
    let maps = maps(&world, "demo");
    maps.create(&PostParams::default(), &map("old")).await.unwrap();
    let past = world.revision();
    maps.create(&PostParams::default(), &map("new")).await.unwrap();
    world
        .faults()
        .inject(Calls::by("demo").verb(Verb::List), Times::Once, Fault::AsOf(past));
    for expected in [vec!["old"], vec!["new", "old"]] {
        let list = maps.list(&ListParams::default()).await.unwrap();
        let names: Vec<String> = list.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, expected);
    }
}

#[tokio::test]
async fn nothing_gets_out_of_a_dead_process() {
    let world = stage().await;
    world
        .faults()
        .inject(Calls::by("demo").writes(), Times::Nth(2), Fault::CrashBefore);
    world.start("demo", |process| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(process.client.clone());
        let name = format!("life-{}", process.restarts);
        maps.create(&PostParams::default(), &map(&name)).await.unwrap();
        // A task on the side, which aborting the main task does not reach.
        let side = maps.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            side.delete(&name, &DeleteParams::default()).await
        });
        if process.restarts == 0 {
            maps.create(&PostParams::default(), &map("never")).await.unwrap();
        }
        std::future::pending().await
    });
    world.advance(Duration::from_secs(60)).await;
    let left = maps(&world, "observer")
        .list(&ListParams::default())
        .await
        .unwrap();
    let names: Vec<String> = left.iter().map(ResourceExt::name_any).collect();
    assert_eq!(
        names,
        ["life-0"],
        "the first life's task did nothing after its death, the second life's did"
    );
}

/// What a test says when it fails.
fn failure_of(test: impl AsyncFn()) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let failed = catch_unwind(AssertUnwindSafe(|| runtime.block_on(test())));
    *failed.unwrap_err().downcast().unwrap()
}

#[test]
fn a_fault_that_never_happened_fails_the_test() {
    let failure = failure_of(async || {
        let world = stage().await;
        world
            .faults()
            .inject(Calls::by("nobody"), Times::Once, Fault::Hang);
        world.finish().await;
    });
    assert!(failure.contains("these faults never happened"), "{failure}");
    assert!(failure.contains("hang on by nobody, Once"), "{failure}");
}

#[test]
fn a_controller_that_ends_fails_the_test() {
    let failure = failure_of(async || {
        let world = stage().await;
        world.start("demo", async |_| {});
        world.settle().await;
    });
    assert_eq!(failure, "controller demo ended by itself");
}

#[test]
fn a_controller_that_panics_fails_the_test() {
    let failure = failure_of(async || {
        let world = stage().await;
        world.start("demo", async |_| panic!("oh no"));
        world.settle().await;
    });
    assert!(
        failure.contains("controller demo failed") && failure.contains("oh no"),
        "{failure}"
    );
}

#[test]
fn a_hot_loop_fails_the_test() {
    let failure = failure_of(async || {
        let world = stage().await;
        world.start("demo", |process| async move {
            let maps: Api<ConfigMap> = Api::default_namespaced(process.client.clone());
            for number in 0.. {
                maps.create(&PostParams::default(), &map(&format!("x-{number}")))
                    .await
                    .unwrap();
                tokio::time::sleep(Duration::from_secs(7)).await;
            }
        });
        world.settle().await;
    });
    assert!(failure.contains("the world does not settle"), "{failure}");
    assert!(failure.contains("demo: Create configmaps test/x-"), "{failure}");
}

#[tokio::test]
async fn a_slow_call_is_waited_for_and_a_hung_one_is_not() {
    let world = stage().await;
    let slow = Calls::by("demo").name("slow");
    world
        .faults()
        .inject(slow, Times::Once, Fault::Delay(Duration::from_secs(600)));
    world
        .faults()
        .inject(Calls::by("demo").name("hung"), Times::Once, Fault::Hang);
    for name in ["slow", "hung"] {
        let maps = maps(&world, "demo");
        tokio::spawn(async move { maps.create(&PostParams::default(), &map(name)).await });
    }
    world.settle().await;
    let names: Vec<String> = maps(&world, "observer")
        .list(&ListParams::default())
        .await
        .unwrap()
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    assert_eq!(names, ["slow"]);
}
