//! How profiles go, alone and with their cluster.

use super::*;

#[test]
fn a_profile_that_is_not_wanted_any_more_goes_and_nothing_else_is_touched() {
    let mut world = with(&["a", "b"]);
    world.settle();
    let before = variables(&world, "blue-b-fargate-apply");
    want(&mut world, &["b"]);
    world.calm();
    assert_eq!(phase(&world, "a"), Some(Phase::Deleting));
    world.settle();
    assert_eq!(world.destroyed, ["blue-a-fargate-apply"]);
    assert_eq!(of(&world, "a"), None);
    assert_eq!(variables(&world, "blue-b-fargate-apply"), before);
    assert_eq!(world.status().fargate_profiles_ready.as_deref(), Some("1/1"));
    want(&mut world, &[]);
    world.settle();
    let status = world.status();
    assert_eq!(status.fargate_profile_statuses, Some(Vec::new()));
    assert_eq!(said(&status, "FargateProfileReady"), "True/NoFargateProfiles");
    assert_eq!(status.state, Some(State::Ready));
    let finalizers = world
        .snapshot
        .control_plane
        .metadata
        .finalizers
        .clone()
        .unwrap_or_default();
    assert!(!finalizers.contains(&marks::FARGATE_PROFILES_FINALIZER.to_owned()));
}

#[test]
fn one_that_waits_for_its_turn_to_go_says_so_and_has_all_its_time_after_that() {
    for is_whole in [true, false] {
        let mut world = with(&["a", "b"]);
        world.settle();
        world.goes_slowly = true;
        if is_whole {
            world.delete();
        } else {
            want(&mut world, &[]);
        }
        world.settle();
        let phases = [phase(&world, "a"), phase(&world, "b")];
        assert_eq!(phases, [Some(Phase::Queued), Some(Phase::Deleting)]);
        let text = of(&world, "a").and_then(|one| one.message).unwrap_or_default();
        assert!(
            text.contains("to be removed")
                && text.contains("number 1")
                && text.contains("blue-b-fargate-apply"),
            "{text}"
        );
        world.pass(39);
        world.settle();
        world.pass(2);
        world.settle();
        assert_eq!(
            of(&world, "a").and_then(|one| one.failure_message),
            None,
            "{is_whole}"
        );
        let late = of(&world, "b").and_then(|one| one.failure_message);
        assert!(
            late.unwrap_or_default().contains("not gone after 40m"),
            "{is_whole}"
        );
        world.goes_slowly = false;
        world.settle();
        assert_eq!(world.is_gone, is_whole);
        assert!(world.destroyed.contains(&"blue-a-fargate-apply".to_owned()));
        let gone = world.events.iter().filter(|event| event.contains("it is gone"));
        assert_eq!(gone.count(), 2, "each is told once: {:#?}", world.events);
    }
}

#[test]
fn profiles_go_one_at_a_time_before_the_cluster() {
    let mut world = with(&["a", "b"]);
    world.settle();
    let finalizers = world
        .snapshot
        .control_plane
        .metadata
        .finalizers
        .clone()
        .unwrap_or_default();
    assert!(finalizers.contains(&marks::FARGATE_PROFILES_FINALIZER.to_owned()));
    world.delete();
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.destroyed.len(), 3);
    assert!(world.destroyed[0].ends_with("fargate-apply") && world.destroyed[1].ends_with("fargate-apply"));
    assert!(world.destroyed[2].contains("eks"), "{:?}", world.destroyed);
}

#[test]
fn a_cluster_is_destroyed_after_its_profiles_also_where_the_spec_names_somebody_elses() {
    let mut world = with(&["a", "b"]);
    world.settle();
    let mut other = world.apply().clone();
    other.wta.metadata.name = Some("theirs".to_owned());
    other.wta.metadata.uid = Some("theirs".to_owned());
    other.wta.metadata.owner_references = None;
    other.wta.metadata.labels = Some(BTreeMap::from([(marks::OWNER.to_owned(), "Other.x".to_owned())]));
    world.snapshot.applies.push(other);
    world.edit(|spec| spec.workspace_template_apply_name = Some("theirs".to_owned()));
    world.delete();
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.destroyed.len(), 3, "{:?}", world.destroyed);
    assert_eq!(world.destroyed[2], "blue-eks-controlplane-apply");
}

#[test]
fn a_profile_that_cannot_be_destroyed_does_not_hold_up_the_others() {
    for is_whole in [true, false] {
        let mut world = with(&["a", "b", "c"]);
        world.settle();
        world.fails_for = vec!["blue-a-fargate-apply".to_owned()];
        if is_whole {
            world.delete();
        } else {
            want(&mut world, &[]);
        }
        for _ in 0..40 {
            world.calm();
            world.act();
        }
        let mut destroyed = world.destroyed.clone();
        destroyed.sort();
        assert_eq!(
            destroyed,
            ["blue-b-fargate-apply", "blue-c-fargate-apply"],
            "{is_whole}"
        );
        let told = of(&world, "a").expect("it is listed");
        assert_eq!(told.phase, Some(Phase::Deleting));
        assert!(told.failure_message.unwrap_or_default().contains("pods are left"));
        world.fails_for.clear();
        world.settle();
        assert_eq!(world.is_gone, is_whole);
        assert!(world.destroyed.contains(&"blue-a-fargate-apply".to_owned()));
        if is_whole {
            assert_eq!(
                world.destroyed.last().map(String::as_str),
                Some("blue-eks-controlplane-apply")
            );
        }
    }
}

#[test]
fn one_hold_is_enough_to_bring_a_deletion_to_its_end() {
    for stripped in [
        marks::CAPTCONTROLPLANE_FINALIZER,
        marks::FARGATE_PROFILES_FINALIZER,
    ] {
        let mut world = with(&["a"]);
        world.settle();
        world.delete();
        world.step();
        let finalizers = world.snapshot.control_plane.metadata.finalizers.as_mut();
        finalizers.expect("it is held").retain(|name| name != stripped);
        world.settle();
        assert!(world.is_gone, "{stripped}");
        assert_eq!(
            world.destroyed,
            ["blue-a-fargate-apply", "blue-eks-controlplane-apply"],
            "{stripped}"
        );
    }
}

#[test]
fn one_that_failed_gets_the_turn_to_go_and_not_a_moment_before_it_goes() {
    let name = "blue-a-fargate-apply";
    for (is_whole, others) in [(true, true), (false, true), (true, false), (false, false)] {
        let mut world = with(if others { &["a", "b"] } else { &["a"] });
        world.fails_for = vec![name.to_owned()];
        world.settle();
        assert_eq!(phase(&world, "a"), Some(Phase::Failed));
        let held = turn(&world);
        assert_eq!(held.as_deref() == Some(name), !others);
        world.fails_for.clear();
        if is_whole {
            world.delete();
        } else {
            want(&mut world, if others { &["b"] } else { &[] });
        }
        for _ in 0..80 {
            let is_quiet = world.is_gone || world.step().is_quiet();
            let seen = world.snapshot.applies.iter().find(|seen| seen.name() == name);
            let is_going = seen.is_none_or(crate::owned::OwnedSeen::is_deleting);
            assert!(is_going || turn(&world) == held, "{is_whole} {others}");
            if let Some(told) = of(&world, "a") {
                assert_eq!(told.failure_message, None, "{is_whole} {others}: that is over");
                let goes = [
                    Some(Phase::Deleting),
                    Some(Phase::Queued).filter(|_| is_whole && others),
                ];
                assert!(goes.contains(&told.phase), "{is_whole} {others}: {told:?}");
            }
            if is_quiet {
                world.act();
            }
        }
        assert!(world.destroyed.contains(&name.to_owned()), "{is_whole} {others}");
        assert_eq!(world.is_gone, is_whole);
    }
}

#[test]
fn that_one_goes_counts_from_when_it_was_deleted_also_if_it_is_told_a_moment_later() {
    for (late, counts) in [(1, true), (3, false)] {
        let mut world = with(&["a"]);
        world.settle();
        world.goes_slowly = true;
        want(&mut world, &[]);
        // Whoever carries this out writes all but the status, as if that were to wait.
        for _ in 0..4 {
            let decision = world.decide();
            let before = world.snapshot.control_plane.status.clone();
            world.carry_out(&decision, usize::MAX);
            world.snapshot.control_plane.status = before;
        }
        let deleted = world.clock;
        world.clock += late;
        world.step();
        let told = of(&world, "a").and_then(|one| one.since).expect("it is told");
        let expected = if counts { deleted } else { world.clock };
        assert_eq!(told.0, at(expected), "{late}");
    }
}
