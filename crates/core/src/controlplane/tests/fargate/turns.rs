//! Who of a cluster and its profiles operates when.

use super::*;

#[test]
fn one_at_a_time_in_the_order_of_the_spec_and_the_others_say_their_place() {
    let mut world = with(&["a", "b", "c"]);
    let mut order = Vec::new();
    for _ in 0..40 {
        world.calm();
        let busy = ["a", "b", "c"]
            .into_iter()
            .filter(|name| phase(&world, name) == Some(Phase::Creating))
            .count();
        assert!(busy <= 1);
        if phase(&world, "a") == Some(Phase::Creating) {
            let text = of(&world, "c").and_then(|one| one.message).unwrap_or_default();
            assert!(
                text.contains("number 2") && text.contains("blue-a-fargate-apply"),
                "{text}"
            );
        }
        if let Some(holder) = turn(&world)
            && order.last() != Some(&holder)
        {
            order.push(holder);
        }
        let before = world.snapshot.clone();
        world.act();
        if before == world.snapshot {
            break;
        }
    }
    assert_eq!(
        order[1..],
        [
            "blue-a-fargate-apply",
            "blue-b-fargate-apply",
            "blue-c-fargate-apply"
        ]
    );
}

#[test]
fn places_follow_the_spec_from_the_first_moment_on() {
    let mut world = with(&["z", "m", "a"]);
    let mut was_told = false;
    for _ in 0..60 {
        world.step();
        for (name, number) in [("m", "number 1"), ("a", "number 2")] {
            if phase(&world, "z") != Some(Phase::Creating) {
                continue;
            }
            let text = of(&world, name).and_then(|one| one.message).unwrap_or_default();
            assert!(text.contains(number), "{name}: {text}");
            was_told = true;
        }
        world.act();
        if phase(&world, "z") == Some(Phase::Ready) {
            break;
        }
    }
    assert!(was_told);
    // Those that have said that they wait are not before those that have not come to that yet.
    let mut world = with(&["z", "m", "a"]);
    hang_when_the_cluster_is_up(&mut world);
    let late = world
        .snapshot
        .applies
        .iter_mut()
        .find(|seen| seen.name() == "blue-m-fargate-apply")
        .expect("it is there");
    late.wta.status = None;
    world.calm();
    let text = of(&world, "m").and_then(|one| one.message).unwrap_or_default();
    assert!(text.contains("number 1"), "{text}");
}

#[test]
fn nobody_gets_in_line_for_a_moment_if_nobody_else_needs_the_turn() {
    let mut world = with(&["a", "b"]);
    world.settle();
    assert_eq!(turn(&world).as_deref(), Some("blue-b-fargate-apply"));
    world.edit(|spec| {
        let profile = &mut spec.additional_fargate_profiles.as_mut().expect("profiles")[0];
        profile.tags = Some(BTreeMap::from([("team".to_owned(), "x".to_owned())]));
    });
    let decision = world.step();
    assert!(
        decision.own.annotations.contains_key(marks::TURN),
        "{decision:#?}"
    );
    assert_eq!(phase(&world, "a"), Some(Phase::Updating));
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Ready));
    world.edit(|spec| {
        let profiles = spec.additional_fargate_profiles.as_mut();
        profiles.expect("profiles").pop();
    });
    world.step();
    assert_eq!(phase(&world, "b"), Some(Phase::Deleting));
    world.calm();
    assert_eq!(turn(&world).as_deref(), Some("blue-b-fargate-apply"));
}

#[test]
fn time_in_the_queue_does_not_count_and_late_is_told_until_it_is_there() {
    let mut world = with(&["a"]);
    hang_when_the_cluster_is_up(&mut world);
    world.pass(19);
    world.settle();
    assert_eq!(of(&world, "a").and_then(|one| one.failure_message), None);
    world.pass(2);
    world.settle();
    let late = of(&world, "a").expect("it is listed");
    assert_eq!(late.phase, Some(Phase::Creating));
    assert!(late.failure_message.unwrap_or_default().contains("20m"));
    assert_eq!(world.status().state, Some(State::Degraded));
    assert!(world.step().is_quiet());
    world.terraform = Terraform::Works;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(of(&world, "a").and_then(|one| one.failure_message), None);
}

#[test]
fn those_whose_workspaces_are_gone_take_turns_to_come_back() {
    let mut world = with(&["a", "b"]);
    world.settle();
    // As after a move: it is written down which Workspace each has, and none of them is there.
    for seen in &mut world.snapshot.applies {
        seen.workspace = None;
        let status = seen.wta.status.as_mut().expect("a status");
        status.applied = false;
        status.ready_revision = None;
        let conditions = status.conditions.get_or_insert_default();
        conditions.retain(|condition| !["Applied", "Synced", "Ready"].contains(&condition.type_.as_str()));
    }
    world.settle();
    assert!(
        world.snapshot.applies.iter().all(crate::owned::OwnedSeen::holds),
        "{:?} {:#?}",
        turn(&world),
        world.status().fargate_profile_statuses
    );
}

#[test]
fn the_turn_stays_with_the_one_that_is_given_something_new_to_do() {
    let mut world = with(&["a"]);
    world.settle();
    world.edit(|spec| spec.version = capt_api::version::Version::from("1.33"));
    // The first of two minors is done, and a profile waits.
    for _ in 0..30 {
        world.calm();
        if world.variable("kubernetes_version") == Some("1.32") {
            break;
        }
        world.act();
    }
    want(&mut world, &["a", "b"]);
    for _ in 0..40 {
        let holder = turn(&world);
        let decision = world.decide();
        let writes_eks = decision.children.iter().any(|child| {
            child.target.name == "blue-eks-controlplane-apply"
                && holder.as_deref() == Some("blue-eks-controlplane-apply")
        });
        if writes_eks {
            assert!(
                !decision.own.annotations.contains_key(marks::TURN),
                "{decision:#?}"
            );
        }
        world.carry_out(&decision, usize::MAX);
        if decision.is_quiet() {
            world.act();
        }
    }
    assert_eq!(world.status().version.as_deref(), Some("1.33"));
    assert_eq!(phase(&world, "b"), Some(Phase::Ready));
}

#[test]
fn a_cluster_that_is_not_well_does_not_keep_the_turn_from_profiles() {
    for is_transient in [true, false] {
        let mut world = with(&["a", "b"]);
        world.settle();
        let now = super::super::at(world.clock);
        let eks = world.apply_mut();
        if is_transient {
            eks.trouble = Some(crate::owned::Trouble {
                class: crate::owned::TroubleClass::Transient,
                message: "throttled".to_owned(),
            });
            super::super::world::say(eks, "Synced", false, "ReconcileError", now);
        } else {
            super::super::world::say(eks, "Ready", false, "Unavailable", now);
        }
        world.annotate(marks::TURN, "blue-eks-controlplane-apply");
        want(&mut world, &["a"]);
        world.calm();
        assert_eq!(turn(&world), None, "{is_transient}: it gives it up");
        let eks = world.apply_mut();
        eks.trouble = None;
        super::super::world::say(eks, "Synced", false, "ReconcilePaused", now);
        world.calm();
        assert_eq!(
            turn(&world).as_deref(),
            Some("blue-b-fargate-apply"),
            "{is_transient}"
        );
    }
}

#[test]
fn a_change_of_the_cluster_does_not_hold_up_the_end_of_its_profiles() {
    let mut world = with(&["a"]);
    world.settle();
    world.terraform = Terraform::Hangs;
    world.edit(|spec| spec.version = capt_api::version::Version::from("1.32"));
    world.settle();
    assert_eq!(turn(&world).as_deref(), Some("blue-eks-controlplane-apply"));
    world.delete();
    world.calm();
    assert_eq!(turn(&world), None, "it gives it up");
    let now = super::super::at(world.clock);
    super::super::world::say(world.apply_mut(), "Synced", false, "ReconcilePaused", now);
    world.calm();
    assert_eq!(turn(&world).as_deref(), Some("blue-a-fargate-apply"));
}

#[test]
fn what_is_new_gets_in_line_while_the_cluster_is_changed_and_passes_a_change_that_fails() {
    let eks = "blue-eks-controlplane-apply";
    let mut world = with(&["a"]);
    world.settle();
    world.terraform = Terraform::Hangs;
    world.edit(|spec| spec.version = capt_api::version::Version::from("1.32"));
    world.settle();
    want(&mut world, &["a", "late"]);
    world.settle();
    let told = of(&world, "late").expect("it is listed");
    assert_eq!(told.phase, Some(Phase::Queued));
    let text = told.message.unwrap_or_default();
    assert!(text.contains("number 1") && text.contains(eks), "{text}");
    world.terraform = Terraform::Works;
    world.fails_for = vec![eks.to_owned()];
    world.settle();
    assert_eq!(said(&world.status(), "Ready"), "True/UpdateFailed");
    assert_eq!(phase(&world, "late"), Some(Phase::Ready));
    want(&mut world, &["a", "late", "later"]);
    world.settle();
    assert_eq!(phase(&world, "later"), Some(Phase::Ready));
}

#[test]
fn an_update_of_the_cluster_in_the_queue_says_its_place_too() {
    let mut world = with(&["a", "b"]);
    hang_when_the_cluster_is_up(&mut world);
    world.edit(|spec| spec.version = capt_api::version::Version::from("1.32"));
    world.settle();
    let text = message(&world.status(), "Ready");
    assert!(
        text.contains("number 1 in the queue, after blue-a-fargate-apply"),
        "{text}"
    );
    let told = of(&world, "b").and_then(|one| one.message).unwrap_or_default();
    assert!(told.contains("number 2 in the queue"), "{told}");
}

#[test]
fn one_that_is_made_again_after_it_went_gets_in_line_behind_those_that_waited() {
    let mut world = with(&["a", "b"]);
    world.settle();
    world.goes_slowly = true;
    want(&mut world, &["b"]);
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Deleting));
    want(&mut world, &["a", "b"]);
    world.edit(|spec| {
        let profiles = spec.additional_fargate_profiles.as_mut().expect("profiles");
        profiles[1].tags = Some(BTreeMap::from([("team".to_owned(), "x".to_owned())]));
    });
    world.settle();
    assert_eq!(phase(&world, "b"), Some(Phase::Queued));
    assert_eq!(turn(&world).as_deref(), Some("blue-a-fargate-apply"));

    world.goes_slowly = false;
    world.terraform = Terraform::Hangs;
    world.act();
    assert!(
        world
            .snapshot
            .applies
            .iter()
            .all(|seen| seen.name() != "blue-a-fargate-apply")
    );
    let decision = world.step();
    assert_eq!(turn(&world).as_deref(), Some("blue-b-fargate-apply"));
    // It would begin with a turn that it has no more.
    let made = |child: &crate::decision::Desired| child.target.name == "blue-a-fargate-apply";
    assert!(!decision.children.iter().any(made));
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Queued));
    assert_eq!(phase(&world, "b"), Some(Phase::Updating));
    world.terraform = Terraform::Works;
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Ready));
    assert_eq!(phase(&world, "b"), Some(Phase::Ready));
}

#[test]
fn nothing_is_written_about_the_turn_of_one_that_went_if_nobody_else_needs_it() {
    let mut world = with(&["a", "b"]);
    world.settle();
    want(&mut world, &["b"]);
    world.settle();
    assert_eq!(phase(&world, "a"), None);
    assert_eq!(turn(&world).as_deref(), Some("blue-a-fargate-apply"));
    want(&mut world, &["a", "b"]);
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Ready));
    assert_eq!(turn(&world).as_deref(), Some("blue-a-fargate-apply"));
}

#[test]
fn one_whose_apply_somebody_deleted_keeps_its_turn_because_it_may_be_at_work() {
    let mut world = with(&["a", "b"]);
    hang_when_the_cluster_is_up(&mut world);
    assert_eq!(turn(&world).as_deref(), Some("blue-a-fargate-apply"));
    // Nobody looked between its deletion and its end, and its Workspace is still there.
    world
        .snapshot
        .applies
        .retain(|seen| seen.name() != "blue-a-fargate-apply");
    world.calm();
    assert_eq!(turn(&world).as_deref(), Some("blue-a-fargate-apply"));
    assert_eq!(phase(&world, "a"), Some(Phase::Creating));
}
