//! What each disturbance does to a watch, seen by a client that only follows it.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests, where a panic is a failed test"
)]

use std::time::Duration;

use capt_testkit::{Disturbance, EventKind, Events, Times, World};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::time::timeout;

async fn make(world: &World, name: &str) {
    let maps: Api<ConfigMap> = Api::default_namespaced(world.client());
    let map = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
}

/// Follows config maps for five seconds, or until the watch ends.
async fn follow(world: &World) -> Vec<String> {
    let maps: Api<ConfigMap> = Api::default_namespaced(world.client_for("demo"));
    let mut stream = maps.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    let mut seen = Vec::new();
    let all = async {
        loop {
            seen.push(match stream.try_next().await {
                Ok(Some(WatchEvent::Added(map))) => map.name_any(),
                Ok(Some(WatchEvent::Error(status))) => format!("error {}", status.code),
                Ok(Some(WatchEvent::Bookmark(_))) => continue,
                Ok(Some(other)) => format!("{other:?}"),
                Ok(None) => "end".to_owned(),
                Err(_) => "broken".to_owned(),
            });
            if ["end", "broken"].contains(&seen.last().unwrap().as_str()) {
                break;
            }
        }
    };
    let _ = timeout(Duration::from_secs(5), all).await;
    seen
}

#[tokio::test]
async fn each_disturbance_does_what_it_says() {
    let cases: [(Disturbance, &[&str]); 6] = [
        (Disturbance::Hold, &["a"]),
        (Disturbance::Drop, &["a", "c"]),
        (Disturbance::Duplicate, &["a", "b", "b", "c"]),
        (Disturbance::Cut, &["a", "end"]),
        (Disturbance::Reset, &["a", "broken"]),
        (Disturbance::Expire, &["a", "error 410", "end"]),
    ];
    for (disturbance, expected) in cases {
        let world = World::builder().without_crds().embedded_only().start().await;
        for name in ["a", "b", "c"] {
            make(&world, name).await;
        }
        let of_b = Events::to("demo")
            .resource("configmaps")
            .kind(EventKind::Added)
            .name("b");
        world.faults().disturb(of_b, Times::Once, disturbance);
        assert_eq!(follow(&world).await, expected, "{disturbance:?}");
    }
}

#[tokio::test]
async fn a_watch_that_is_open_already_can_be_held_and_released() {
    let world = World::builder().without_crds().embedded_only().start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(world.client_for("demo"));
    let mut stream = maps.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    let mut next = async || {
        let event = timeout(Duration::from_secs(5), stream.try_next())
            .await
            .ok()?
            .unwrap()?;
        let WatchEvent::Added(map) = event else {
            panic!("{event:?}")
        };
        Some(map.name_any())
    };
    make(&world, "a").await;
    assert_eq!(next().await.as_deref(), Some("a"));
    let hold = world
        .faults()
        .disturb(Events::to("demo"), Times::Every, Disturbance::Hold);
    make(&world, "b").await;
    make(&world, "c").await;
    assert_eq!(next().await, None);
    hold.reached(1).await;
    hold.release();
    assert_eq!(next().await.as_deref(), Some("b"));
    assert_eq!(next().await.as_deref(), Some("c"));
}
