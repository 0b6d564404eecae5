//! What outlives its WorkspaceTemplateApply, because somebody deleted that by hand.

use super::*;

#[test]
fn what_outlived_its_apply_waits_for_a_word_when_its_owner_goes() {
    let eks = "blue-eks-controlplane-apply";
    let profile = "blue-a-fargate-apply";
    for lost in [vec![eks], vec![profile], vec![eks, profile]] {
        for how in ["", "keep:", "false"] {
            let is_kept = !how.is_empty();
            let mut all = with_profile();
            lose(&mut all, &lost);
            let operations = all.operations.len();
            all.world.delete();
            all.mirror();
            all.settle();
            assert!(!all.world.is_gone, "{lost:?}");
            assert_eq!(all.operations.len(), operations + usize::from(lost == [eks]));
            let told = message(&all.world.status(), "Deleting");
            for name in &lost {
                // The cluster is asked about when what stands on it is gone.
                let is_asked = told.contains(*name) || lost.len() > 1 && *name == eks;
                assert!(is_asked && told.contains("let-go=keep:"), "{name}: {told}");
            }
            let said = said(&all.world.status(), "Deleting");
            assert_eq!(said, "True/DeletionFailed");
            // What is asked about later is not spoken about yet.
            let names = if lost.len() > 1 {
                vec![profile, eks]
            } else {
                lost.clone()
            };
            let answers = if how == "false" { vec![""] } else { names };
            let mut so_far = Vec::new();
            for answer in answers {
                assert!(!all.world.is_gone, "{lost:?}");
                so_far.push(format!("{how}{answer}"));
                let answer = so_far.join(",");
                let told = message(&all.world.status(), "Deleting");
                let is_offered = told.contains(&format!("let-go={answer}"));
                assert!(is_offered || how == "false", "{answer}: {told}");
                all.world.annotate(marks::LET_GO, &answer);
                all.settle();
            }
            assert!(all.world.is_gone, "{lost:?}");
            if !is_kept {
                assert!(all.infrastructure.is_empty(), "{:?}", all.infrastructure);
                let done = &all.operations[all.operations.len() - 2..];
                assert_eq!(*done, [format!("destroy {profile}"), format!("destroy {eks}")]);
            } else {
                assert_eq!(all.infrastructure.len(), lost.len(), "{lost:?}");
            }
        }
    }
}

/// A profile that is not wanted any more, and whose WorkspaceTemplateApply somebody had deleted, stays in the status for as
/// long as its Workspace is left.
#[test]
fn a_profile_that_outlived_its_apply_and_is_not_wanted_says_so() {
    let mut all = with_profile();
    lose(&mut all, &["blue-a-fargate-apply"]);
    all.world.edit(|spec| spec.additional_fargate_profiles = None);
    all.mirror();
    all.settle();
    let rows = all.world.status().fargate_profile_statuses.expect("rows");
    let told = rows[0].failure_message.as_deref().unwrap_or_default();
    for part in [
        "the WorkspaceTemplateApply blue-a-fargate-apply",
        "write the profile a into the spec again",
        "kubectl label workspaces.tf.m.upbound.io blue-a-fargate",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(all.world.status().state, Some(State::Degraded));
    assert_eq!(all.infrastructure.len(), 2, "nothing is destroyed");
    let snapshot = all.applies.get_mut("blue-a-fargate-apply").expect("it was there");
    snapshot.workspaces.clear();
    all.mirror();
    all.settle();
    assert_eq!(all.world.status().fargate_profile_statuses, Some(Vec::new()));
    assert_eq!(all.world.status().state, Some(State::Ready));
}

/// A control plane with one profile, all of which is there.
fn with_profile() -> Together {
    let mut all = Together::new();
    all.settle();
    let role = Role::FargateProfile("a".to_owned());
    add_child(&mut all.world, "blue-a-fargate-apply", role);
    all.settle();
    all
}

/// Somebody deletes WorkspaceTemplateApplies, and nothing is made again before something else happens.
fn lose(all: &mut Together, lost: &[&str]) {
    all.world
        .snapshot
        .applies
        .retain(|seen| !lost.contains(&seen.name()));
    for name in lost {
        all.applies.get_mut(*name).expect("it was there").kept = None;
    }
}
