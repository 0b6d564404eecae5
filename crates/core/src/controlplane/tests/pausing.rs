//! Updates of a cluster, and pauses above and below it.

use capt_api::{
    captcontrolplane::{ControlPlaneState as State, OperationResult},
    foreign::marks as foreign_marks,
    version::Version,
};

use super::{
    World, at, living, message, said,
    world::{Terraform, say},
};
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
    let told = message(&world.status(), "Ready");
    assert!(told.starts_with("Terraform is at work"), "{told}");
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
    let told = message(&status, "Ready");
    assert!(
        told.starts_with("Nothing runs at present; it goes on when the pause ends"),
        "{told}"
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

/// Of another runner than ours nobody knows what it does, unless it rests.
#[test]
fn that_nothing_runs_in_a_pause_is_said_only_where_that_is_known() {
    let mut world = living();
    upgrade(&mut world, "1.32");
    world.terraform = Terraform::Hangs;
    world.settle();
    world.apply_mut().run = None;
    pause(&mut world, true);
    world.calm();
    let told = message(&world.status(), "Ready");
    assert!(told.starts_with("Terraform is at work"), "{told}");
    say(world.apply_mut(), "Synced", false, "ReconcilePaused", at(0));
    world.calm();
    let told = message(&world.status(), "Ready");
    assert!(told.starts_with("Nothing runs at present"), "{told}");
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

/// Somebody pauses the WorkspaceTemplateApply, or its Workspace by hand, and what there is comes to rest.
fn rest(world: &mut World, by_hand: bool) {
    let seen = world.apply_mut();
    say(seen, "Synced", false, "ReconcilePaused", at(0));
    if by_hand {
        seen.workspace.as_mut().expect("a Workspace").paused_by_hand = true;
    } else {
        let annotations = seen.wta.metadata.annotations.get_or_insert_default();
        annotations.insert(foreign_marks::PAUSED.to_owned(), String::new());
        say(seen, "Paused", true, "Paused", at(0));
    }
}

#[test]
fn an_update_that_a_pause_below_holds_up_says_so_with_the_command_that_ends_it() {
    for (by_hand, object, command) in [
        (
            false,
            "because the WorkspaceTemplateApply blue-eks-controlplane-apply has the annotation cluster.x-k8s.io/paused",
            "kubectl annotate wtapply blue-eks-controlplane-apply -n team cluster.x-k8s.io/paused-",
        ),
        (
            true,
            "because the Workspace blue-eks-controlplane has the annotation crossplane.io/paused",
            "kubectl annotate workspaces.tf.m.upbound.io blue-eks-controlplane -n team crossplane.io/paused-",
        ),
    ] {
        let mut world = living();
        rest(&mut world, by_hand);
        world.calm();
        assert_eq!(world.status().state, Some(State::Ready), "nothing is wanted");
        let before = world.events.len();
        upgrade(&mut world, "1.33");
        world.calm();
        let status = world.status();
        assert_eq!((status.state, status.ready), (Some(State::Degraded), true));
        assert_eq!(said(&status, "Ready"), "True/Paused");
        let told = message(&status, "Ready");
        for expected in [
            "The update waits (upgrading 1.31 → 1.32 → 1.33), ",
            object,
            command,
        ] {
            assert!(told.contains(expected), "{told}");
        }
        let events = &world.events[before..];
        assert!(events.iter().any(|event| event.contains(command)), "{events:?}");
        assert_eq!(world.variable("kubernetes_version"), Some("1.32"));
        // Nobody can hurry it.
        world.pass(600);
        world.probe();
        assert!(world.decide().is_quiet());
        let seen = world.apply_mut();
        let annotations = seen.wta.metadata.annotations.get_or_insert_default();
        annotations.remove(foreign_marks::PAUSED);
        say(seen, "Paused", false, "NotPaused", at(0));
        seen.workspace.as_mut().expect("a Workspace").paused_by_hand = false;
        world.settle();
        let status = world.status();
        assert_eq!(
            (status.state, status.version.as_deref()),
            (Some(State::Ready), Some("1.33"))
        );
        // It is one update, however long somebody took to end the pause.
        let history = status.progress.and_then(|progress| progress.history);
        let updates = history.into_iter().flatten();
        let results: Vec<_> = updates
            .filter(|record| record.operation == "Update")
            .map(|record| record.result)
            .collect();
        assert_eq!(results, [Some(OperationResult::Succeeded)]);
    }
}

#[test]
fn what_runs_when_somebody_pauses_what_it_is_made_by_is_still_an_update() {
    let mut world = living();
    upgrade(&mut world, "1.32");
    world.terraform = Terraform::Hangs;
    world.settle();
    let seen = world.apply_mut();
    let annotations = seen.wta.metadata.annotations.get_or_insert_default();
    annotations.insert(foreign_marks::PAUSED.to_owned(), String::new());
    say(seen, "Paused", true, "Pausing", at(0));
    seen.run = Some(RunGlance {
        is_running: true,
        ..RunGlance::default()
    });
    world.calm();
    assert_eq!(world.status().state, Some(State::Provisioning));
    let told = message(&world.status(), "RollingOut");
    assert!(told.contains("about Paused"), "{told}");
}
