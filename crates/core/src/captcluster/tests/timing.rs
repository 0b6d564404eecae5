//! How long the steps may take.

use super::*;

#[test]
fn a_vpc_that_takes_too_long_is_a_verdict_that_ends_when_the_fact_arrives() {
    let mut world = World::new(fresh());
    world.rest();
    world.make_workspace();
    world.rest();
    world.now = minute(14);
    let decision = world.step();
    assert!(decision.is_quiet());
    assert_eq!(decision.look_again, Some(std::time::Duration::from_secs(60)));
    world.now = minute(15);
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/VPCCreationTimeout");
    assert_eq!(world.verdict("VPCFailed"), "True/VPCCreationTimeout");
    assert!(
        condition(&world.snapshot, &Decided::default(), "Ready")
            .message
            .contains("spec.timeouts.vpcCreationTimeout")
    );
    assert_eq!(
        world.status().failure_reason.as_deref(),
        Some("VPCCreationTimeout")
    );
    world.now = minute(500);
    assert!(world.step().is_quiet(), "it says so and no more");
    world.make_real();
    world.rest();
    assert!(world.status().ready && world.status().failure_reason.is_none());
}

#[test]
fn each_step_has_its_own_clock() {
    // The Workspace came late, and the VPC may take long.
    let mut world = World::new(fresh());
    world.snapshot.captcluster.spec.timeouts = serde_json::from_value(json!({
        "vpcCreationTimeout": "5h", "workspaceReadyTimeout": 20, "secretTimeout": "2m",
    }))
    .expect("timeouts");
    world.rest();
    world.now = minute(30);
    world.make_workspace();
    world.now = minute(49);
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/VPCCreating");
    world.now = minute(50);
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/WorkspaceReadyTimeout");

    // The Workspace is ready, and its Secret does not come.
    world.now = minute(60);
    world.make_real();
    world.snapshot.secrets.clear();
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/WaitingForSecret");
    world.now = minute(61);
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/WaitingForSecret");
    world.now = minute(62);
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/SecretTimeout");
    world.snapshot.secrets.push(secret("net-vpc-connection", "vpc-7"));
    world.rest();
    assert!(world.status().ready);
}

#[test]
fn paused_time_does_not_count() {
    let mut world = World::new(fresh());
    world.rest();
    world.make_workspace();
    world.rest();
    let pause = |world: &mut World, is_paused| {
        if let Some(cluster) = &mut world.snapshot.cluster {
            cluster.paused = is_paused;
        }
        world.rest();
    };
    world.now = minute(10);
    pause(&mut world, true);
    world.now = minute(1000);
    pause(&mut world, false);
    assert_eq!(world.verdict("Ready"), "False/VPCCreating");
    world.now = minute(1004);
    world.rest();
    assert_eq!(
        world.verdict("Ready"),
        "False/VPCCreating",
        "14 minutes were worked"
    );
    world.now = minute(1005);
    world.rest();
    assert_eq!(
        world.verdict("Ready"),
        "False/VPCCreationTimeout",
        "15 minutes were worked"
    );
}

#[test]
fn another_try_and_a_changed_spec_start_the_clock_anew() {
    let expired = || {
        let mut world = World::new(fresh());
        world.rest();
        world.make_workspace();
        world.rest();
        world.now = minute(20);
        world.rest();
        assert_eq!(world.verdict("Ready"), "False/VPCCreationTimeout");
        world
    };
    let retry: fn(&mut World) = |world| annotate(&mut world.snapshot, marks::RETRY_REQUESTED, "try-1");
    let edit: fn(&mut World) = |world| {
        *world
            .snapshot
            .captcluster
            .metadata
            .generation
            .get_or_insert_default() += 1;
    };
    for restart in [retry, edit] {
        let mut world = expired();
        restart(&mut world);
        world.rest();
        assert_eq!(world.verdict("Ready"), "False/VPCCreating");
        world.now = minute(34);
        world.rest();
        assert_eq!(world.verdict("Ready"), "False/VPCCreating");
        world.now = minute(35);
        world.rest();
        assert_eq!(world.verdict("Ready"), "False/VPCCreationTimeout");
    }
}

#[test]
fn a_secret_that_is_lost_later_has_its_time_too() {
    let pause = |world: &mut World, is_paused| {
        if let Some(cluster) = &mut world.snapshot.cluster {
            cluster.paused = is_paused;
        }
        world.rest();
    };
    let mut world = ready();
    world.rest();
    world.now = minute(1000);
    let secrets = std::mem::take(&mut world.snapshot.secrets);
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/WaitingForSecret");
    world.now = minute(1004);
    assert_eq!(world.step().look_again, Some(std::time::Duration::from_secs(60)));
    pause(&mut world, true);
    world.now = minute(1100);
    pause(&mut world, false);
    assert_eq!(
        world.verdict("Ready"),
        "False/WaitingForSecret",
        "a pause does not count"
    );
    world.now = minute(1101);
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/SecretTimeout");
    assert_eq!(world.verdict("VPCReady"), "True/VPCCreated", "the VPC is there");
    assert_eq!(world.status().failure_reason.as_deref(), Some("SecretTimeout"));
    world.now = minute(1200);
    assert!(world.step().is_quiet(), "it says so and no more");

    let generation = &mut world.snapshot.captcluster.metadata.generation;
    *generation.get_or_insert_default() += 1;
    world.rest();
    assert_eq!(
        world.verdict("Ready"),
        "False/WaitingForSecret",
        "a changed spec starts the clock anew"
    );
    world.now = minute(1205);
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/SecretTimeout");
    world.snapshot.secrets = secrets;
    world.rest();
    assert!(world.status().ready && world.status().failure_reason.is_none());
}
