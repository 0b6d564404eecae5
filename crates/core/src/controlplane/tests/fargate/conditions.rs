//! What the conditions say of profiles that are there, although something is to become of them.

use super::*;

/// All three, in the order Ready, Creating, Failed.
fn all(world: &World) -> [String; 3] {
    let status = world.status();
    ["Ready", "Creating", "Failed"].map(|type_| said(&status, &format!("FargateProfile{type_}")))
}

/// A world in which the profile `a` is not wanted any more, and cannot be destroyed.
fn with_one_that_cannot_be_removed() -> World {
    let mut world = with(&["a", "b"]);
    world.settle();
    world.fails_for = vec!["blue-a-fargate-apply".to_owned()];
    want(&mut world, &["b"]);
    for _ in 0..10 {
        world.calm();
        world.act();
    }
    world
}

#[test]
fn one_that_goes_is_not_being_made_and_those_that_stay_are_ready() {
    let mut world = with(&["a", "b"]);
    world.settle();
    world.goes_slowly = true;
    want(&mut world, &["b"]);
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Deleting));
    assert_eq!(
        all(&world),
        [
            "True/FargateProfileReady",
            "False/FargateProfileDeleting",
            "False/FargateProfileDeleting"
        ]
    );
    assert_eq!(world.status().state, Some(State::Configuring));
    assert_eq!(said(&world.status(), "Ready"), "True/FargateProfileDeleting");
    assert!(message(&world.status(), "FargateProfileReady").contains("a: "));
    want(&mut world, &[]);
    world.settle();
    assert_eq!(all(&world)[0], "True/NoFargateProfiles");
}

#[test]
fn a_change_that_waits_for_an_approval_takes_nothing_away() {
    let mut world = with(&["a"]);
    world.settle();
    let now = at(world.clock);
    let seen = world
        .snapshot
        .applies
        .iter_mut()
        .find(|seen| seen.name() == "blue-a-fargate-apply")
        .expect("it is there");
    say(seen, "ApprovalNeeded", true, "DestructiveChange", now);
    world.calm();
    let told = of(&world, "a").expect("it is listed");
    assert_eq!((told.phase, told.ready), (Some(Phase::Waiting), true));
    assert_eq!(
        all(&world),
        [
            "True/FargateProfileReady",
            "False/FargateProfileReady",
            "False/FargateProfileReady"
        ]
    );
    assert_eq!(world.status().fargate_profiles_ready.as_deref(), Some("1/1"));
    assert_eq!(said(&world.status(), "Ready"), "True/WaitingForApproval");
    let told = world
        .events
        .iter()
        .find(|event| event.contains("Ready -> Waiting"));
    assert!(
        told.is_some_and(|event| event.starts_with("WaitingForApproval: ")),
        "{told:?}"
    );
}

#[test]
fn those_that_go_with_their_control_plane_are_not_told_as_none() {
    let mut world = with(&["a", "b"]);
    world.settle();
    world.delete();
    for _ in 0..60 {
        if world.is_gone {
            break;
        }
        if world.step().is_quiet() {
            world.act();
        }
        let status = world.status();
        if status.state == Some(State::Deleting) {
            assert_eq!(all(&world)[0], "False/FargateProfileDeleting");
            assert_eq!(all(&world)[1], "False/FargateProfileDeleting");
            let rows = status.fargate_profile_statuses.unwrap_or_default();
            assert_eq!(status.fargate_profiles_ready.is_none(), rows.is_empty());
        }
    }
    assert!(world.is_gone);
}

#[test]
fn one_that_cannot_be_removed_is_not_why_another_one_is_not_there_yet() {
    let mut world = with_one_that_cannot_be_removed();
    world.terraform = Terraform::Hangs;
    want(&mut world, &["b", "c"]);
    world.settle();
    assert_eq!(phase(&world, "c"), Some(Phase::Creating));
    assert_eq!(
        all(&world),
        [
            "False/FargateProfileCreating",
            "True/FargateProfileCreating",
            "True/FargateProfileFailed"
        ]
    );
    assert_eq!(
        message(&world.status(), "FargateProfileReady"),
        "c: The profile is being made"
    );
    assert!(message(&world.status(), "FargateProfileFailed").starts_with("a: "));
}

#[test]
fn one_that_takes_too_long_is_still_being_made() {
    let mut world = with(&["a"]);
    hang_when_the_cluster_is_up(&mut world);
    world.pass(21);
    world.settle();
    assert_eq!(
        all(&world),
        [
            "False/FargateProfileFailed",
            "True/FargateProfileCreating",
            "True/FargateProfileFailed"
        ]
    );
    assert!(message(&world.status(), "FargateProfileCreating").starts_with("a: "));
}

#[test]
fn one_that_could_not_be_removed_and_is_wanted_again_says_so() {
    let mut world = with_one_that_cannot_be_removed();
    assert!(of(&world, "a").is_some_and(|told| told.failure_message.is_some()));
    assert_eq!(all(&world)[0], "True/FargateProfileReady", "those that stay are");
    assert_eq!(all(&world)[2], "True/FargateProfileFailed");
    want(&mut world, &["a", "b"]);
    world.calm();
    let told = of(&world, "a").expect("it is listed");
    let failure = told.failure_message.unwrap_or_default();
    assert!(failure.starts_with("Failed to remove Fargate profile: ") && failure.contains("pods are left"));
    assert_eq!(all(&world)[2], "True/FargateProfileFailed");
    world.fails_for.clear();
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Ready));
}

#[test]
fn one_that_could_not_be_removed_and_is_wanted_again_holds_up_nobody_and_is_not_tried_for_ever() {
    let mut world = with_one_that_cannot_be_removed();
    want(&mut world, &["a", "b", "c"]);
    let mut turns = Vec::new();
    for _ in 0..30 {
        world.calm();
        world.act();
        let annotations = world.snapshot.control_plane.metadata.annotations.as_ref();
        turns.push(annotations.and_then(|all| all.get(marks::TURN).cloned()));
        let told = of(&world, "a").expect("it is listed");
        assert!(told.failure_message.is_some(), "{told:?}");
    }
    assert_eq!(phase(&world, "c"), Some(Phase::Ready));
    turns.dedup();
    let of_failed = |turn: &&Option<String>| turn.as_deref() == Some("blue-a-fargate-apply");
    assert!(turns.iter().filter(of_failed).count() <= 1, "{turns:?}");

    world.fails_for.clear();
    world.annotate(marks::RETRY_REQUESTED, "1");
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Ready));
}
