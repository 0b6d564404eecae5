//! Whatever happens to the runner, nothing is made twice and nothing is lost.

use std::{sync::Arc, time::Duration};

use capt_api::foreign::marks;
use capt_testkit::{Fault, Sweep, World};
use kube::ResourceExt as _;
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{script::Script, support::*};

/// Makes, changes and destroys, while the runner crashes before and after every write that it ever makes.
#[test]
fn a_crash_at_any_write_makes_nothing_twice_and_loses_nothing() {
    let sweep = Sweep::new(World::builder().embedded_only())
        .faults([Fault::CrashBefore, Fault::CrashAfter])
        .quiet(Duration::from_secs(120));
    let report = sweep.run_and_check(
        async |world| {
            let script = Script::default();
            script.with(|stage| stage.delay = seconds(5));
            start_with(world, &script, no_polls);
            create(world, workspace("vpc", &["a", "b"])).await;
            until_settled(world, "vpc").await;
            assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
            let object = get(world, "vpc").await;
            let pending = &object.annotations()[marks::EXTERNAL_CREATE_PENDING];
            let succeeded = &object.annotations()[marks::EXTERNAL_CREATE_SUCCEEDED];
            assert!(
                pending <= succeeded,
                "pending {pending} is newer than {succeeded}"
            );
            patch(
                world,
                "vpc",
                json!({"spec": {"forProvider": {"module": module(&["a", "b", "c"])}}}),
            )
            .await;
            until_settled(world, "vpc").await;
            // The ledger itself refuses to have anything made twice.
            assert_eq!(script.with(|stage| stage.made.len()), 3);
            delete(world, "vpc").await;
            until_gone(world, "vpc").await;
            assert_eq!(script.exists("vpc"), Vec::<String>::new());
            assert_eq!(state_secrets(world).await, Vec::<String>::new());
        },
        async |_| {},
    );
    assert!(report.cases >= 20, "{report:?}");
}

#[tokio::test]
async fn a_runner_that_is_told_to_stop_stops_terraform_and_keeps_its_state() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.delay = seconds(60));
    let stop = CancellationToken::new();
    let ended = Arc::new(Mutex::new(false));
    let (token, flag, acting) = (stop.clone(), ended.clone(), script.clone());
    world.start(RUNNER, move |process| {
        let options = options(&acting, &process);
        let (token, flag) = (token.clone(), flag.clone());
        async move {
            capt_runner::run(process.client, options, token)
                .await
                .expect("it runs");
            *flag.lock() = true;
            std::future::pending::<()>().await;
        }
    });
    create(&world, workspace("vpc", &["a", "b", "c"])).await;
    world
        .until("something to be made", async || !script.exists("vpc").is_empty())
        .await;
    world.advance(seconds(5)).await;
    stop.cancel();
    world.until("it to end", async || *ended.lock()).await;
    assert_eq!(script.with(|stage| (stage.stopped, stage.open)), (1, 0));
    let told = report(&world, "vpc").await.operation.unwrap();
    assert_eq!(told.outcome.as_deref(), Some("interrupted"));
    assert!(told.ended_at.is_some());
    world.stop(RUNNER);

    // Another machine, which has nothing but what was kept, goes on.
    script.with(|stage| stage.disk.clear());
    start(&world, &script);
    until_settled(&world, "vpc").await;
    assert_eq!(script.with(|stage| stage.made.len()), 3, "nothing is made twice");
    world.finish().await;
}
