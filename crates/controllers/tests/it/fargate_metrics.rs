//! What is counted about profiles.

use capt_api::captcontrolplane::{ControlPlaneState as State, FargateProfilePhase as Phase};
use capt_controllers::Metrics;
use capt_testkit::{Calls, Fault, Times, Verb, World};
use prometheus_client::{encoding::text::encode, registry::Registry};

use crate::{
    controlplane::ControlPlaneUser as _,
    fargate::profiles,
    fargate_turns::{begin_with, make_cluster, profile},
    stage::{CAPT, Setting},
};

/// What Prometheus would read about profiles, without what is 0.
fn told(metrics: &Metrics) -> Vec<String> {
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    text.lines()
        .filter(|line| line.starts_with("capt_fargate") && !line.contains("_bucket") && !line.ends_with(" 0"))
        .map(|line| line.replace("{namespace=\"test\",control_plane=\"blue\"}", ""))
        .collect()
}

fn value(metrics: &Metrics, name: &str) -> f64 {
    let found = told(metrics).into_iter().find_map(|line| {
        let (known, value) = line.split_once(' ')?;
        (known == name).then(|| value.parse().unwrap())
    });
    found.unwrap_or_default()
}

#[tokio::test]
async fn a_life_is_counted_once_also_by_controllers_that_are_started_again() {
    let world = World::embedded_only().await;
    let metrics = Metrics::default();
    let setting = Setting {
        metrics: Some(metrics.clone()),
        ..Setting::default()
    };
    let eks = begin_with(&world, &setting).await;
    eks.refuse(
        "blue/b",
        Some("InvalidParameterException: Misconfigured PodExecutionRole"),
    );
    make_cluster(&world, "blue", profiles(&["a", "b"])).await;
    world.until_state("blue", State::Degraded).await;
    world.settle().await;
    let creation = "capt_fargate_profile_creation_seconds";
    assert_eq!(value(&metrics, &format!("{creation}_count")), 1.0);
    // Two minutes, more or less, as the simulation takes them.
    let took = value(&metrics, &format!("{creation}_sum"));
    assert!((89.0..152.0).contains(&took), "{took}");
    assert_eq!(value(&metrics, "capt_fargate_profiles_ready"), 1.0);
    assert_eq!(value(&metrics, "capt_fargate_profiles_active"), 1.0);
    assert_eq!(value(&metrics, "capt_fargate_profiles_failed"), 1.0);
    let dependency = "capt_fargate_profile_errors_total{category=\"dependency\"}";
    assert_eq!(value(&metrics, dependency), 1.0);
    // Whoever is started again finds the same facts, and none of them happened now.
    world.crash(CAPT);
    world.settle().await;
    assert_eq!(value(&metrics, dependency), 1.0);
    assert_eq!(value(&metrics, &format!("{creation}_count")), 1.0);
    assert_eq!(value(&metrics, "capt_fargate_profiles_ready"), 1.0);
    // A status that cannot be written is an error of its own, and what it would have told is counted when it is written.
    let statuses = Calls::by(CAPT)
        .verb(Verb::Apply)
        .resource("captcontrolplanes/status");
    world.faults().inject(statuses, Times::Once, Fault::fail(500));
    world.delete_plane("blue").await;
    world
        .until("a to go", async || {
            profile(&world, "a").await.and_then(|one| one.phase) == Some(Phase::Deleting)
        })
        .await;
    world.until_plane_is_gone("blue").await;
    world.settle().await;
    let updates = "capt_fargate_profile_errors_total{category=\"status_update\"}";
    assert_eq!(value(&metrics, updates), 1.0);
    let deletion = "capt_fargate_profile_deletion_seconds";
    assert_eq!(value(&metrics, &format!("{deletion}_count")), 2.0);
    let gauges: Vec<String> = told(&metrics)
        .into_iter()
        .filter(|line| line.starts_with("capt_fargate_profiles_"))
        .collect();
    assert_eq!(gauges, Vec::<String>::new(), "nothing is told about what is gone");
    world.finish().await;
}
