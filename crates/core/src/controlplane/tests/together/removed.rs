//! Profiles that are not well and are removed: nothing is begun for them any more, and nothing is waited for that only
//! concerned their making.

use super::*;

const A: &str = "blue-a-fargate-apply";
const B: &str = "blue-b-fargate-apply";

/// What is the matter with the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matter {
    Broken,
    Throttled,
    Drifted,
}

/// A cluster with a profile that something is the matter with, and perhaps another one that is well and was made after it.
fn with(matter: Matter, another: bool) -> Together {
    let mut all = Together::new();
    all.settle();
    match matter {
        Matter::Broken => all.broken = vec![A.to_owned()],
        Matter::Throttled => all.throttled = vec![A.to_owned()],
        Matter::Drifted => {}
    }
    add_child(&mut all.world, A, Role::FargateProfile("a".to_owned()));
    if another {
        add_child(&mut all.world, B, Role::FargateProfile("b".to_owned()));
    }
    all.settle_busy(20);
    all
}

/// What a person does with `kubectl edit`, or with `kubectl delete`.
fn remove(all: &mut Together, is_whole: bool) {
    if is_whole {
        all.world.delete();
    } else {
        all.world.edit(|spec| {
            let profiles = spec.additional_fargate_profiles.get_or_insert_default();
            profiles.retain(|profile| profile.name != "a");
        });
    }
}

#[test]
fn nothing_is_begun_for_a_profile_that_is_removed() {
    for matter in [Matter::Broken, Matter::Throttled, Matter::Drifted] {
        for (another, is_whole) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut all = with(matter, another);
            if matter == Matter::Drifted {
                // It is found while somebody else is at work, so that it waits for its turn.
                let eks = "blue-eks-controlplane-apply".to_owned();
                all.slow = vec![eks.clone()];
                all.world.edit(|spec| spec.version = Version::from("1.32"));
                all.settle();
                all.drifted = vec![A.to_owned()];
                all.settle();
                remove(&mut all, is_whole);
                all.settle_busy(2);
                all.slow.clear();
            } else {
                remove(&mut all, is_whole);
            }
            let name = format!("{matter:?}, another {another}, whole {is_whole}");
            let done = all.operations.len();
            // Where nobody else has the turn, its own runner may be at it until it hears of its end.
            let is_alone = !another && matter != Matter::Drifted;
            all.settle_busy(1);
            let begun: Vec<String> = all.operations[done..]
                .iter()
                .filter(|one| one.ends_with(A))
                .cloned()
                .collect();
            assert!(begun.is_empty() || is_alone, "{name}: {begun:?}");
            let done = all.operations.len();
            all.settle_busy(30);
            let begun: Vec<&String> = all.operations[done..]
                .iter()
                .filter(|one| one.ends_with(A) && !one.starts_with("destroy"))
                .collect();
            assert_eq!(begun, Vec::<&String>::new(), "{name}");
            assert!(
                all.world.snapshot.applies.iter().all(|seen| seen.name() != A),
                "{name}"
            );
            assert_eq!(all.world.is_gone, is_whole, "{name}");
            let told = all.world.status().fargate_profile_statuses.unwrap_or_default();
            assert!(is_whole || told.iter().all(|one| one.name != "a"), "{name}");
        }
    }
}

#[test]
fn what_could_not_be_made_is_no_reason_to_wait_with_the_end() {
    for is_whole in [true, false] {
        let mut all = with(Matter::Throttled, true);
        let told = all.world.status().fargate_profile_statuses.unwrap_or_default();
        let text = told[0].message.clone().unwrap_or_default();
        assert!(text.contains("it was tried, and is tried again from"), "{text}");
        assert!(!text.contains("after blue"), "nobody is at work: {text}");
        let clock = all.world.clock;
        remove(&mut all, is_whole);
        all.settle_busy(30);
        assert_eq!(all.world.clock, clock, "no time has passed");
        assert!(all.world.snapshot.applies.iter().all(|seen| seen.name() != A));
        assert_eq!(all.world.is_gone, is_whole);
    }
}
