//! Fargate profiles that are not well and are removed: nothing is begun for them any more, and nobody waits for what only
//! concerned their making.

use std::time::Duration;

use capt_api::{
    captcontrolplane::{ControlPlaneState as State, FargateProfilePhase as Phase},
    foreign::marks as foreign_marks,
};
use capt_testkit::World;

use crate::{
    controlplane::ControlPlaneUser as _,
    eks::Eks,
    fargate::profiles,
    fargate_telling::{looking, remove_by_hand},
    fargate_turns::{phase, profile, until_busy, until_phase, want, with},
    stage::User as _,
};

/// Takes a profile out of the list, or deletes everything, and waits until it is gone.
async fn remove(world: &World, rest: &[&str], is_whole: bool) {
    if is_whole {
        world.delete_plane("blue").await;
        world.until_plane_is_gone("blue").await;
    } else {
        want(world, profiles(rest)).await;
        world.until_gone("blue-bad-fargate-apply").await;
        world.until_state("blue", State::Ready).await;
        assert!(profile(world, "bad").await.is_none());
    }
}

#[tokio::test]
async fn nothing_is_begun_for_a_failed_profile_that_is_removed() {
    for (names, is_whole) in [
        (&["bad", "good"][..], false),
        (&["bad", "good"], true),
        (&["bad"], false),
        (&["bad"], true),
    ] {
        let (world, eks) = with(names).await;
        eks.refuse("blue/bad", Some("InvalidParameterException: no such subnet"));
        until_phase(&world, "bad", Phase::Failed).await;
        if names.len() > 1 {
            until_phase(&world, "good", Phase::Ready).await;
        }
        world.settle().await;
        let begun = eks.begun("blue/bad");
        remove(&world, &names[1..], is_whole).await;
        assert_eq!(eks.begun("blue/bad"), begun, "{names:?}, whole {is_whole}");
        eks.was_never_asked_too_much();
        world.finish().await;
    }
}

#[tokio::test]
async fn nothing_is_mended_of_a_profile_that_is_removed() {
    let asked = |eks: &Eks| eks.asked("create blue/bad") + eks.asked("change blue/bad");
    for is_whole in [false, true] {
        let (world, eks, before) = loop {
            let (world, eks) = looking(&["good", "bad"]).await;
            let before = asked(&eks);
            remove_by_hand(&world, &eks, "bad").await;
            // It is found while another one is being made, so that it waits for its turn.
            want(&world, profiles(&["good", "bad", "a", "b", "c", "d", "e", "f"])).await;
            world
                .until("it to be missed", async || {
                    asked(&eks) > before || phase(&world, "bad").await == Some(Phase::Queued)
                })
                .await;
            if asked(&eks) == before {
                break (world, eks, before);
            }
            // Unless that was just when one was done and the next not begun, which happens once in a hundred times.
            world.finish().await;
        };
        remove(&world, &["good"], is_whole).await;
        assert_eq!(asked(&eks), before, "whole {is_whole}");
        eks.was_never_asked_too_much();
        world.finish().await;
    }
}

#[tokio::test]
async fn the_end_does_not_wait_for_what_could_not_be_made() {
    let (world, eks) = with(&["bad"]).await;
    eks.refuse("blue/bad", Some("ThrottlingException: Rate exceeded"));
    world
        .until("it to be tried often", async || eks.asked("create blue/bad") > 8)
        .await;
    // Another one has the turn for a moment, after which the first one rests for two minutes.
    eks.refuse("blue/other", Some("InvalidParameterException: no such subnet"));
    want(&world, profiles(&["bad", "other"])).await;
    until_phase(&world, "other", Phase::Failed).await;
    until_resting(&world).await;
    let asked = eks.asked("create blue/bad");
    let began = world.clock().now();
    world.delete_plane("blue").await;
    world.until_plane_is_gone("blue").await;
    let done = eks.done();
    let last = done.last().unwrap();
    assert_eq!((last.verb, last.what.as_str()), ("delete", "blue"));
    let waited = last.from.duration_since(began).unsigned_abs();
    assert_eq!(eks.asked("create blue/bad"), asked);
    assert!(waited < Duration::from_secs(10), "{waited:?}");
    world.finish().await;
}

/// Until the profile has been tried, and lets others go first.
async fn until_resting(world: &World) {
    world
        .until("it to rest", async || {
            let told = profile(world, "bad").await.and_then(|one| one.message);
            told.is_some_and(|told| told.contains("is tried again from"))
        })
        .await;
}

#[tokio::test]
async fn a_pause_of_one_that_goes_leaves_no_failure_behind() {
    let (world, eks) = with(&["bad", "good"]).await;
    world.until_state("blue", State::Ready).await;
    let apply = "blue-bad-fargate-apply";
    world.annotate(apply, foreign_marks::PAUSED, Some("true")).await;
    world.settle().await;
    want(&world, profiles(&["good"])).await;
    until_phase(&world, "bad", Phase::Waiting).await;
    world.annotate(apply, foreign_marks::PAUSED, None).await;
    until_busy(&world, &eks, "delete blue/bad").await;
    world.advance(Duration::from_secs(10)).await;
    let told = profile(&world, "bad").await.unwrap();
    assert_eq!((told.phase, told.failure_message), (Some(Phase::Deleting), None));
    assert_eq!(world.status("blue").await.state, Some(State::Configuring));
    world.until_gone(apply).await;
    world.until_state("blue", State::Ready).await;
    world.finish().await;
}
