//! Changes, failures, and other tries.

use super::*;

#[test]
fn one_failure_stops_only_itself_and_makes_the_control_plane_degraded() {
    let mut world = with(&["a", "b", "c"]);
    world.fails_for = vec!["blue-b-fargate-apply".to_owned()];
    world.settle();
    let status = world.status();
    assert_eq!(status.state, Some(State::Degraded));
    assert!(status.ready);
    assert_eq!(status.fargate_profiles_ready.as_deref(), Some("2/3"));
    let failed = of(&world, "b").expect("it is listed");
    assert_eq!(failed.phase, Some(Phase::Failed));
    assert_eq!(failed.failure_reason.as_deref(), Some("FargateProfileFailed"));
    assert_eq!(
        failed.failure_message.as_deref(),
        Some("Failed to create Fargate profile: no subnets")
    );
    assert!(!failed.ready);
    assert_eq!(said(&status, "FargateProfileFailed"), "True/FargateProfileFailed");
    assert!(message(&status, "FargateProfileFailed").starts_with("b: "));
    assert!(world.step().is_quiet(), "no endless tries");

    world.fails_for.clear();
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.settle();
    assert_eq!(
        world.status().state,
        Some(State::Ready),
        "{:#?} {:?}",
        of(&world, "b"),
        turn(&world)
    );
    assert_eq!(of(&world, "b").and_then(|one| one.failure_message), None);
}

#[test]
fn a_change_touches_only_the_profile_that_it_is_about() {
    let mut world = with(&["a", "b"]);
    world.settle();
    let hash = of(&world, "a").and_then(|one| one.observed_selectors_hash);
    let other = world
        .snapshot
        .applies
        .iter()
        .find(|seen| seen.name() == "blue-b-fargate-apply");
    let generation = other.and_then(|seen| seen.wta.metadata.generation);
    world.edit(|spec| {
        let profile = &mut spec.additional_fargate_profiles.as_mut().expect("profiles")[0];
        profile.selectors[0].namespace = Some("elsewhere".to_owned());
    });
    world.calm();
    assert_eq!(phase(&world, "a"), Some(Phase::Updating));
    assert_eq!(of(&world, "a").and_then(|one| one.observed_selectors_hash), hash);
    world.settle();
    assert_ne!(of(&world, "a").and_then(|one| one.observed_selectors_hash), hash);
    let other = world
        .snapshot
        .applies
        .iter()
        .find(|seen| seen.name() == "blue-b-fargate-apply");
    assert_eq!(other.and_then(|seen| seen.wta.metadata.generation), generation);
}

#[test]
fn another_try_goes_only_to_what_is_stuck() {
    let mut world = with(&["a", "b"]);
    world.fails_for = vec!["blue-b-fargate-apply".to_owned()];
    world.settle();
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.calm();
    let asked = |world: &World| -> Vec<String> {
        let applies = world.snapshot.applies.iter();
        applies
            .filter(|seen| seen.annotation(marks::RETRY_REQUESTED) == Some("again"))
            .map(|seen| seen.name().to_owned())
            .collect()
    };
    assert_eq!(asked(&world), ["blue-b-fargate-apply"]);
    let annotations = world.snapshot.control_plane.metadata.annotations.clone();
    assert!(
        !annotations
            .unwrap_or_default()
            .contains_key(marks::RETRY_REQUESTED)
    );
}

#[test]
fn a_request_for_another_try_is_kept_until_it_can_be_passed_on() {
    let mut world = with(&["a"]);
    world.fails_for = vec!["blue-a-fargate-apply".to_owned()];
    world.settle();
    let secret = world.snapshot.vpc_secret.take();
    world.fails_for.clear();
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.calm();
    let is_kept = |world: &World| {
        let annotations = world.snapshot.control_plane.metadata.annotations.clone();
        annotations
            .unwrap_or_default()
            .contains_key(marks::RETRY_REQUESTED)
    };
    assert!(
        is_kept(&world),
        "nothing is known that a profile could be written by"
    );
    assert!(world.step().is_quiet(), "and nothing goes round for that");
    world.snapshot.vpc_secret = secret;
    world.settle();
    assert!(!is_kept(&world));
    assert_eq!(phase(&world, "a"), Some(Phase::Ready));

    let mut world = with(&["a"]);
    world.terraform = Terraform::Fails(crate::owned::TroubleClass::Terminal);
    world.settle();
    let version = world.snapshot.control_plane.spec.version.clone();
    world.edit(|spec| spec.version = capt_api::version::Version::from("nonsense"));
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.calm();
    assert!(
        is_kept(&world),
        "nothing is written for a spec that makes no sense"
    );
    world.terraform = Terraform::Works;
    world.edit(|spec| spec.version = version);
    world.settle();
    assert!(!is_kept(&world));
    assert_eq!(world.status().state, Some(State::Ready), "{:#?}", world.status());
}

#[test]
fn another_try_of_a_late_profile_begins_with_all_its_time() {
    let mut world = with(&["a"]);
    hang_when_the_cluster_is_up(&mut world);
    world.pass(21);
    world.settle();
    assert!(of(&world, "a").and_then(|one| one.failure_message).is_some());
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.settle();
    assert_eq!(of(&world, "a").and_then(|one| one.failure_message), None);
    assert_eq!(phase(&world, "a"), Some(Phase::Creating));
    world.pass(19);
    world.settle();
    assert_eq!(of(&world, "a").and_then(|one| one.failure_message), None);
    world.pass(2);
    world.settle();
    assert!(of(&world, "a").and_then(|one| one.failure_message).is_some());
}

#[test]
fn a_change_that_cannot_be_made_is_not_told_as_done() {
    let mut world = with(&["a"]);
    world.settle();
    let hash = of(&world, "a").and_then(|one| one.observed_selectors_hash);
    let secret = world.snapshot.vpc_secret.take();
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Ready), "nothing else is wanted");
    world.edit(|spec| {
        let profile = &mut spec.additional_fargate_profiles.as_mut().expect("profiles")[0];
        profile.selectors[0].namespace = Some("elsewhere".to_owned());
    });
    world.settle();
    let told = of(&world, "a").expect("it is listed");
    assert_eq!(told.phase, Some(Phase::Waiting));
    assert!(told.ready, "it works as it is");
    assert_eq!(told.observed_selectors_hash, hash);
    let text = told.message.unwrap_or_default();
    assert!(text.contains("vpc-connection"), "{text}");
    world.snapshot.vpc_secret = secret;
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Ready));
    assert_ne!(of(&world, "a").and_then(|one| one.observed_selectors_hash), hash);
}

#[test]
fn only_a_change_that_may_destroy_is_told_as_a_replacement() {
    for (reason, is_told) in [("DestructiveChange", true), ("AdoptedChange", false)] {
        let mut world = with(&["a"]);
        world.settle();
        let apply = world.snapshot.applies.last_mut().expect("a profile's");
        super::super::world::say(
            apply,
            "ApprovalNeeded",
            true,
            reason,
            super::super::at(world.clock),
        );
        world.calm();
        let text = of(&world, "a").and_then(|one| one.message).unwrap_or_default();
        assert_eq!(text.contains("replacement"), is_told, "{text}");
        assert!(text.contains("about ApprovalNeeded"), "{text}");
    }
}

/// What somebody did to a profile elsewhere is told whatever else there is to say about it.
#[test]
fn a_drift_is_told_in_every_phase_and_what_was_removed_is_not_ready() {
    let name = "blue-a-fargate-apply";
    let changed = "changed by somebody else: x.y (update)";
    let removed = "changed by somebody else: x.y (delete)";
    for (drift, asks, phase, ready, words) in [
        (None, false, Phase::Ready, true, "Pods can run on it"),
        (Some(changed), false, Phase::Updating, true, "is being mended"),
        (Some(removed), false, Phase::Updating, false, "is being mended"),
        (Some(removed), true, Phase::Waiting, false, "about ApprovalNeeded"),
        (None, true, Phase::Waiting, true, "about ApprovalNeeded"),
    ] {
        let mut world = with(&["a"]);
        world.settle();
        let mut applies = world.snapshot.applies.iter_mut();
        let seen = applies.find(|seen| seen.name() == name).expect("its apply");
        seen.workspace.get_or_insert_default().drift = drift.map(str::to_owned);
        if asks {
            say(seen, "ApprovalNeeded", true, "DestructiveChange", at(1));
        }
        world.calm();
        let row = of(&world, "a").expect("a row");
        let told = row.message.unwrap_or_default();
        assert_eq!((row.phase, row.ready), (Some(phase), ready), "{drift:?} {asks}");
        assert!(
            told.contains(words) && drift.is_none_or(|drift| told.contains(drift)),
            "{told}"
        );
        assert!(asks || row.failure_message.is_none(), "{drift:?} {asks}");
    }
}

#[test]
fn what_is_being_replaced_is_not_ready() {
    for replaces in [false, true] {
        let mut world = with(&["a"]);
        world.settle();
        let mut applies = world.snapshot.applies.iter_mut();
        let seen = applies.find(|seen| seen.name() == "blue-a-fargate-apply");
        let seen = seen.expect("its apply");
        seen.run = Some(crate::owned::RunGlance {
            is_running: true,
            replaces,
            ..crate::owned::RunGlance::default()
        });
        let status = seen.wta.status.get_or_insert_default();
        status.last_applied_revision = Some("other".to_owned());
        world.calm();
        let row = of(&world, "a").expect("a row");
        assert_eq!((row.phase, row.ready), (Some(Phase::Updating), !replaces));
        let told = row.message.unwrap_or_default();
        assert_eq!(told.contains("replaced"), replaces, "{told}");
        let counted = world.status().fargate_profiles_ready;
        assert_eq!(counted.as_deref(), Some(if replaces { "0/1" } else { "1/1" }));
    }
}

#[test]
fn a_profile_of_which_nothing_was_made_can_be_made_from_another_template() {
    for made_nothing in [true, false] {
        let name = "blue-a-fargate-apply";
        let mut world = with(&["a"]);
        world.fails_for = vec![name.to_owned()];
        world.settle();
        assert_eq!(phase(&world, "a"), Some(Phase::Failed));
        let mut applies = world.snapshot.applies.iter_mut();
        let seen = applies.find(|seen| seen.name() == name).expect("its apply");
        seen.workspace.get_or_insert_default().made_nothing = made_nothing;
        seen.run = Some(crate::owned::RunGlance::default());
        let uid = seen.uid().to_owned();
        if made_nothing {
            world.fails_for.clear();
        }
        world.edit(|spec| {
            let profile = &mut spec.additional_fargate_profiles.as_mut().expect("profiles")[0];
            profile.workspace_template_ref.name = "other".to_owned();
        });
        world.settle();
        let mut applies = world.snapshot.applies.iter();
        let seen = applies.find(|seen| seen.name() == name).expect("its apply");
        let row = of(&world, "a").expect("a row");
        assert_eq!(seen.uid() != uid, made_nothing, "another one takes its place");
        if made_nothing {
            assert_eq!(seen.wta.spec.template_ref.name, "other");
            assert_eq!((row.phase, row.failure_message), (Some(Phase::Ready), None));
        } else {
            assert_eq!(seen.wta.spec.template_ref.name, "fargate-profile");
            let text = row.failure_message.unwrap_or_default();
            assert!(
                text.contains("no subnets") && text.contains("cannot be changed"),
                "{text}"
            );
        }
    }
}

#[test]
fn that_a_profile_begins_may_be_told_later_unless_the_same_look_tells_what_no_other_one_sees() {
    let begin = |change: fn(&mut World)| {
        let mut world = with(&["a"]);
        world.settle();
        want(&mut world, &["a", "b"]);
        change(&mut world);
        let decision = world.decide();
        assert!(decision.own.status.is_some());
        decision
    };
    let alone = begin(|_| {});
    assert!(alone.own.tells_progress);
    assert!(alone.own.annotations.contains_key(marks::TURN));

    let asked = begin(|world| world.annotate(marks::RETRY_REQUESTED, "again"));
    assert!(asked.own.annotations.contains_key(marks::RETRY_REQUESTED));
    assert!(!asked.own.tells_progress);

    let misnamed =
        begin(|world| world.edit(|spec| spec.workspace_template_apply_name = Some("other".to_owned())));
    assert!(misnamed.events.iter().any(|event| event.reason == "InvalidSpec"));
    assert!(!misnamed.own.tells_progress);
}
