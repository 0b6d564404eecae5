//! Plans: which are applied, which wait for a person, and which are only told.

use super::*;

#[test]
fn a_held_plan_costs_nothing_until_it_is_approved_or_outdated() {
    let held = |change: fn(&mut Snapshot)| {
        with(|it| {
            let memory = memory(it);
            memory.settled = None;
            memory.held = Some(Held {
                plan: "p1".into(),
                about: about(),
            });
            change(it);
        })
    };
    let cases: Vec<(&str, Snapshot, Next)> = vec![
        ("waits", held(|_| {}), FOR_A_WHILE),
        (
            "approved",
            held(|it| it.requests.approved = Some("p1".into())),
            CHANGE,
        ),
        (
            "another approved",
            held(|it| it.requests.approved = Some("p2".into())),
            FOR_A_WHILE,
        ),
        (
            "approved with a token",
            held(|it| it.requests.approved = Some("p1/again".into())),
            CHANGE,
        ),
        (
            "approved before",
            held(|it| {
                it.requests.approved = Some("p1".into());
                memory(it).answered.insert(APPROVED.into(), "p1".into());
            }),
            FOR_A_WHILE,
        ),
        (
            "approved before and again",
            held(|it| {
                it.requests.approved = Some("p1/again".into());
                memory(it).answered.insert(APPROVED.into(), "p1".into());
            }),
            CHANGE,
        ),
        ("allowed", held(|it| it.requests.allow_destructive = true), CHANGE),
        ("spec changed", held(|it| it.generation = 2), CHANGE),
        ("retry", held(|it| it.requests.retry = Some("t".into())), CHANGE),
    ];
    for (case, snapshot, next) in cases {
        assert_eq!(now(&snapshot), next, "{case}");
    }
    assert_eq!(decide(&held(|_| {}), at(HOUR)), POLL);
}

#[test]
fn a_plan_is_applied_only_as_far_as_policies_and_approvals_go() {
    let all = Grants {
        create: true,
        update: true,
        delete: false,
    };
    let none = Grants::default();
    let create_only = Grants { create: true, ..none };
    let update_only = Grants { update: true, ..none };
    let no = Requests::default();
    let approved = |id: &str| Requests {
        approved: Some(id.to_owned()),
        ..Requests::default()
    };
    let allows = Requests {
        allow_destructive: true,
        ..Requests::default()
    };
    let new = PlanFacts {
        exists: false,
        is_empty: false,
        is_destructive: false,
        id: "p1",
    };
    let change = PlanFacts { exists: true, ..new };
    let loss = PlanFacts {
        is_destructive: true,
        ..change
    };
    let nothing = PlanFacts {
        is_empty: true,
        ..change
    };
    let unused = BTreeMap::new();
    let cases = [
        (all, &no, new, AfterPlan::Apply { creates: true }),
        (all, &no, change, AfterPlan::Apply { creates: false }),
        (all, &no, nothing, AfterPlan::Settle),
        (none, &no, nothing, AfterPlan::Settle),
        (none, &no, new, AfterPlan::Refuse),
        (none, &no, change, AfterPlan::Tell),
        (create_only, &no, new, AfterPlan::Apply { creates: true }),
        (create_only, &no, change, AfterPlan::Tell),
        (update_only, &no, new, AfterPlan::Refuse),
        (update_only, &no, change, AfterPlan::Apply { creates: false }),
        (all, &no, loss, AfterPlan::Hold),
        (create_only, &allows, loss, AfterPlan::Tell),
        (all, &approved("p2"), loss, AfterPlan::Hold),
        (all, &approved("p1"), loss, AfterPlan::Apply { creates: false }),
        (all, &allows, loss, AfterPlan::Apply { creates: false }),
    ];
    for (allowed, requests, plan, expected) in cases {
        assert_eq!(
            after_plan(allowed, requests, &unused, plan),
            expected,
            "{allowed:?} {requests:?} {plan:?}"
        );
    }
    let used = BTreeMap::from([(APPROVED.to_owned(), "p1".to_owned())]);
    for (requests, expected) in [
        (approved("p1"), AfterPlan::Hold),
        (approved("p1/again"), AfterPlan::Apply { creates: false }),
        (allows, AfterPlan::Apply { creates: false }),
    ] {
        assert_eq!(after_plan(all, &requests, &used, loss), expected, "{requests:?}");
    }
}
