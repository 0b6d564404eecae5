//! An API that fails, hangs or loses its answers changes nothing about what comes of it.

use std::time::Duration;

use capt_testkit::{Fault, Sweep, World};
use serde_json::json;

use crate::{script::Script, support::*};

async fn from_creation_to_deletion(world: &World) {
    let script = Script::default();
    script.with(|stage| stage.delay = seconds(5));
    start_with(world, &script, no_polls);
    create(world, workspace("vpc", &["a"])).await;
    until_settled(world, "vpc").await;
    patch(
        world,
        "vpc",
        json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}}),
    )
    .await;
    until_settled(world, "vpc").await;
    assert_eq!(script.with(|stage| stage.made.len()), 2);
    delete(world, "vpc").await;
    until_gone(world, "vpc").await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    assert_eq!(state_secrets(world).await, Vec::<String>::new());
}

#[test]
fn a_write_that_fails_once_is_made_good() {
    let sweep = Sweep::new(World::builder().embedded_only())
        .faults([Fault::fail(503), Fault::fail(409), Fault::DropAnswer, Fault::Hang])
        .quiet(Duration::from_secs(120));
    let report = sweep.run_and_check(from_creation_to_deletion, async |_| {});
    assert!(report.cases >= 40, "{report:?}");
}
