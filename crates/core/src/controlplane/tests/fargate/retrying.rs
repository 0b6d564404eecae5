//! Another try, among those that take turns.

use capt_api::version::Version;

use super::*;
use crate::owned::{RunGlance, Setback};

fn seen_of<'a>(world: &'a mut World, apply: &str) -> &'a mut crate::owned::OwnedSeen {
    let mut applies = world.snapshot.applies.iter_mut();
    applies.find(|seen| seen.name() == apply).expect("it is there")
}

#[test]
fn what_is_well_and_told_too_little_is_tried_again_only_when_the_others_rest() {
    let mut world = with(&["a"]);
    world.settle();
    world.outputs.insert("cluster_version".to_owned(), json!("1.31"));
    world.edit(|spec| spec.version = Version::from("1.33"));
    world.settle();
    assert_eq!(said(&world.status(), "Ready"), "True/VersionNotReached");

    world.terraform = Terraform::Hangs;
    want(&mut world, &["a", "b"]);
    for _ in 0..5 {
        world.calm();
        world.act();
    }
    assert_eq!(phase(&world, "b"), Some(Phase::Creating));
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.calm();
    assert_eq!(
        world.apply().annotation(marks::RETRY_REQUESTED),
        None,
        "b is at it"
    );
    let kept = world.snapshot.control_plane.metadata.annotations.as_ref();
    assert!(kept.is_some_and(|kept| kept.contains_key(marks::RETRY_REQUESTED)));

    world.terraform = Terraform::Works;
    world.settle();
    assert_eq!(phase(&world, "b"), Some(Phase::Ready));
    assert_eq!(world.apply().annotation(marks::RETRY_REQUESTED), Some("again"));
}

#[test]
fn what_could_not_be_destroyed_hears_of_another_try_although_it_is_at_rest() {
    let mut world = with(&["a", "b"]);
    world.settle();
    world.goes_slowly = true;
    want(&mut world, &["b"]);
    world.settle();
    let gone_wrong = seen_of(&mut world, "blue-a-fargate-apply");
    gone_wrong.run = Some(RunGlance {
        failed_end: Some("pods are left".to_owned()),
        ..RunGlance::default()
    });
    let status = world.snapshot.control_plane.status.as_mut().expect("a status");
    status.fargate_profile_statuses = None;
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.step();
    let asked = seen_of(&mut world, "blue-a-fargate-apply");
    assert_eq!(asked.annotation(marks::RETRY_REQUESTED), Some("again"));
}

#[test]
fn a_destruction_that_is_to_be_tried_again_lets_others_go_first_also_on_its_way_to_rest() {
    for (minutes, comes_again) in [(0, false), (3, true)] {
        let mut world = with(&["a", "b"]);
        world.settle();
        world.goes_slowly = true;
        want(&mut world, &["b"]);
        world.settle();
        assert_eq!(turn(&world).as_deref(), Some("blue-a-fargate-apply"));
        let now = at(world.clock);
        let set_back = seen_of(&mut world, "blue-a-fargate-apply");
        set_back.run = Some(RunGlance {
            setback: Some(Setback {
                at: now,
                count: 1,
                message: "slow down".to_owned(),
                is_of_end: true,
            }),
            ..RunGlance::default()
        });
        // Nobody has the turn, and what the runner said last is taken back before it says that it rests.
        say(set_back, "Synced", false, "ReconcileError", now);
        let annotations = world.snapshot.control_plane.metadata.annotations.as_mut();
        annotations.expect("a turn").remove(marks::TURN);
        want(&mut world, &["b", "c"]);
        world.pass(minutes);
        world.step();
        assert_eq!(turn(&world).is_some(), comes_again, "after {minutes} minutes");
    }
}

#[test]
fn one_that_somebody_else_deleted_gets_no_turn_to_end() {
    let mut world = with(&["a", "b"]);
    world.settle();
    let now = at(world.clock);
    let deleted = seen_of(&mut world, "blue-a-fargate-apply");
    deleted.wta.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now));
    want(&mut world, &["a", "b", "c"]);
    world.calm();
    assert_ne!(turn(&world).as_deref(), Some("blue-a-fargate-apply"));
    assert_eq!(phase(&world, "a"), Some(Phase::Deleting));
}
