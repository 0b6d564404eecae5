//! Who operates when, where only one may at a time.

use super::*;

#[test]
fn children_take_turns_from_the_first_to_the_last() {
    let mut all = Together::new();
    all.settle();
    for name in ["a", "b", "c"] {
        let role = Role::FargateProfile(name.to_owned());
        add_child(&mut all.world, &format!("blue-{name}-fargate-apply"), role);
    }
    all.world.edit(|spec| spec.version = Version::from("1.32"));
    all.settle();
    assert_eq!(all.world.status().state, Some(State::Ready));
    assert_eq!(all.infrastructure.len(), 4);
    assert_eq!(all.operations.len(), 5, "each once: {:?}", all.operations);
    all.world.delete();
    all.settle();
    assert!(all.world.is_gone);
    assert!(all.infrastructure.is_empty());
    assert_eq!(
        all.operations.last().map(String::as_str),
        Some("destroy blue-eks-controlplane-apply"),
        "the cluster goes last: {:?}",
        all.operations
    );
}

#[test]
fn one_that_fails_does_not_block_the_rest_and_is_not_tried_for_ever() {
    let mut all = Together::new();
    all.settle();
    all.broken = vec!["blue-eks-controlplane-apply".to_owned()];
    all.world.edit(|spec| spec.version = Version::from("1.32"));
    all.settle_busy(8);
    for name in ["a", "b"] {
        let role = Role::FargateProfile(name.to_owned());
        add_child(&mut all.world, &format!("blue-{name}-fargate-apply"), role);
    }
    all.settle();
    let fails = all
        .operations
        .iter()
        .filter(|operation| operation.starts_with("fail"))
        .count();
    assert_eq!(
        all.infrastructure.len(),
        3,
        "the others are made: {:?}",
        all.operations
    );
    assert_eq!(all.world.status().state, Some(State::Degraded));
    assert_eq!(
        said(&all.world.status(), "Ready"),
        "True/UpdateFailed",
        "it is not forgotten"
    );
    let eks = &all.world.snapshot.applies[0];
    assert!(matches!(standing(eks), Standing::Failed { .. }));
    all.settle();
    let later = all
        .operations
        .iter()
        .filter(|operation| operation.starts_with("fail"))
        .count();
    assert_eq!(fails, later, "not tried for ever");
    all.broken.clear();
    all.world.annotate(marks::RETRY_REQUESTED, "1");
    all.settle();
    assert_eq!(
        all.world.status().state,
        Some(State::Ready),
        "{:#?}",
        all.world.status()
    );
    assert_eq!(all.world.status().version.as_deref(), Some("1.32"));
}

#[test]
fn one_that_takes_too_long_lets_others_go_first_and_goes_on_after_them() {
    let mut all = Together::new();
    all.settle();
    let eks = "blue-eks-controlplane-apply";
    all.slow = vec![eks.to_owned()];
    all.world.edit(|spec| spec.version = Version::from("1.32"));
    all.settle();
    let profile = "blue-a-fargate-apply";
    add_child(&mut all.world, profile, Role::FargateProfile("a".to_owned()));
    all.settle();
    assert_eq!(
        all.operations,
        [format!("apply {eks}")],
        "it waits for the one that runs"
    );
    all.world.pass(60);
    all.settle();
    assert_eq!(said(&all.world.status(), "Ready"), "True/UpdateTimeout");
    assert_eq!(all.operations.last(), Some(&format!("apply {profile}")));
    all.slow.clear();
    all.settle();
    assert_eq!(
        all.operations.last(),
        Some(&format!("apply {eks}")),
        "it is its turn again"
    );
    assert_eq!(all.world.status().state, Some(State::Ready));
}

#[test]
fn who_is_tried_again_lets_others_go_first_and_comes_again_after_a_while() {
    let mut all = Together::new();
    all.settle();
    let [a, b, c] = ["a", "b", "c"].map(|name| format!("blue-{name}-fargate-apply"));
    all.throttled = vec![a.clone()];
    for (name, apply) in [("a", &a), ("b", &b), ("c", &c)] {
        add_child(&mut all.world, apply, Role::FargateProfile(name.to_owned()));
    }
    all.settle_busy(20);
    // This runner does not rest by itself.
    all.operations.dedup();
    let tried = format!("fail {a}");
    let expected = [tried.clone(), format!("apply {b}"), format!("apply {c}")];
    assert_eq!(all.operations[1..], expected, "it makes room at once, and rests");
    let told = all.world.status().fargate_profile_statuses.expect("profiles");
    assert_eq!(told[0].phase, Some(Phase::Queued), "{told:#?}");
    assert_eq!(told[0].failure_message, None, "a wait is no failure");
    let text = told[0].message.clone().unwrap_or_default();
    assert!(text.contains("TooManyRequestsException"), "{text}");
    let left = all.world.decide().look_again;
    assert!(left.is_some_and(|left| left.as_secs() == 15), "{left:?}");
    all.world.clock += 15;
    all.settle_busy(8);
    assert_eq!(
        all.operations.last(),
        Some(&tried),
        "it is tried again, and keeps the turn that nobody needs"
    );
    all.throttled.clear();
    all.settle();
    assert_eq!(all.operations.last(), Some(&format!("apply {a}")));
    assert_eq!(all.world.status().state, Some(State::Ready));
}

#[test]
fn what_somebody_changed_by_hand_is_mended_in_turn() {
    let mut all = Together::new();
    all.settle();
    let eks = "blue-eks-controlplane-apply".to_owned();
    let [a, b] = ["a", "b"].map(|name| format!("blue-{name}-fargate-apply"));
    add_child(&mut all.world, &a, Role::FargateProfile("a".to_owned()));
    all.settle();
    all.slow = vec![b.clone()];
    add_child(&mut all.world, &b, Role::FargateProfile("b".to_owned()));
    all.settle();
    let done = all.operations.len();
    all.drifted = vec![eks.clone(), a.clone()];
    all.settle();
    assert_eq!(all.operations.len(), done, "b is being made");
    let told = all.world.status().fargate_profile_statuses.expect("profiles");
    assert_eq!(told[0].phase, Some(Phase::Queued), "{told:#?}");
    all.slow.clear();
    all.settle();
    let expected = [format!("apply {b}"), format!("mend {eks}"), format!("mend {a}")];
    assert_eq!(all.operations[done..], expected, "one after the other, and once");
    assert_eq!(all.world.status().state, Some(State::Ready));
}
