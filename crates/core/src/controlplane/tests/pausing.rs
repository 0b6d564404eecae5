//! Updates of a cluster, and pauses above and below it.

use capt_api::{captcontrolplane::ControlPlaneState as State, version::Version};

use super::{World, living, message, world::Terraform};
use crate::owned::RunGlance;

fn upgrade(world: &mut World, version: &str) {
    world.edit(|spec| spec.version = Version::from(version));
}

fn pause(world: &mut World, paused: bool) {
    world.snapshot.cluster.as_mut().expect("a Cluster").paused = paused;
}

/// Pausing freezes the state. Which version runs is no state but a fact, and Cluster API and people go by it.
#[test]
fn what_runs_when_a_pause_begins_finishes_first_and_the_version_that_it_leads_to_is_told() {
    let mut world = living();
    upgrade(&mut world, "1.33");
    world.terraform = Terraform::Hangs;
    world.settle();
    let running = |is_running| {
        Some(RunGlance {
            is_running,
            is_applying: is_running,
            ..RunGlance::default()
        })
    };
    world.apply_mut().run = running(true);
    pause(&mut world, true);
    world.calm();
    assert_eq!(
        message(&world.status(), "Paused"),
        "A running operation finishes first (WorkspaceTemplateApply blue-eks-controlplane-apply); nothing else is done, \
         because the Cluster has spec.paused: true"
    );
    assert_eq!(world.status().version.as_deref(), Some("1.31"));
    // What runs comes to its end.
    world.terraform = Terraform::Works;
    world.act();
    world.apply_mut().run = running(false);
    world.calm();
    let status = world.status();
    assert_eq!(
        message(&status, "Paused"),
        "Nothing is done, because the Cluster has spec.paused: true"
    );
    assert_eq!(status.version.as_deref(), Some("1.32"));
    assert_eq!(status.versions.map(|versions| versions.len()), Some(1));
    assert_eq!(status.state, Some(State::Provisioning), "it is frozen");
    assert_eq!(world.variable("kubernetes_version"), Some("1.32"), "no next step");
    assert!(world.decide().is_quiet());
    pause(&mut world, false);
    world.settle();
    assert_eq!(world.status().version.as_deref(), Some("1.33"));
    assert_eq!(world.status().state, Some(State::Ready));
}

#[test]
fn a_step_after_a_pause_in_which_the_one_before_it_ended_has_all_of_its_time() {
    let mut world = living();
    upgrade(&mut world, "1.33");
    world.terraform = Terraform::Hangs;
    world.settle();
    world.pass(50);
    pause(&mut world, true);
    world.calm();
    world.pass(10);
    world.terraform = Terraform::Works;
    world.act();
    world.calm();
    assert_eq!(world.status().version.as_deref(), Some("1.32"));
    world.pass(100);
    pause(&mut world, false);
    world.terraform = Terraform::Hangs;
    world.settle();
    assert_eq!(world.variable("kubernetes_version"), Some("1.33"));
    for (minutes, state) in [(55, State::Provisioning), (10, State::Degraded)] {
        world.pass(minutes);
        world.probe();
        world.calm();
        assert_eq!(world.status().state, Some(state), "after {minutes} minutes more");
    }
}
