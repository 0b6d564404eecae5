use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

fn claim(runner: &str, id: &str) -> Claim {
    let info = LockInfo {
        id: id.to_owned(),
        operation: "OperationTypeApply".to_owned(),
        ..LockInfo::default()
    };
    Claim {
        runner: runner.to_owned(),
        info,
        stop_seconds: 0,
    }
}

fn taken(decision: Decision) -> (LeaseState, Taken) {
    match decision {
        Decision::Take { lease, because } => (*lease, because),
        Decision::Held(holder) => panic!("held by {holder:?}"),
    }
}

fn held(decision: Decision) -> Holder {
    match decision {
        Decision::Held(holder) => *holder,
        Decision::Take { because, .. } => panic!("taken because {because:?}"),
    }
}

#[test]
fn others_wait_until_a_holder_that_lost_its_lock_must_have_stopped() {
    let slow = Claim {
        stop_seconds: 95,
        ..claim("runner-a", "1")
    };
    let other = claim("runner-b", "2");
    let (lease, _) = taken(acquire(None, at(0), &slow, at(0)));
    assert_eq!(renew(Some(&lease), &slow, at(0), at(30)), Renewal::Lost);
    assert_eq!(
        held(acquire(Some(&lease), at(0), &other, at(124))).until,
        Some(at(125))
    );
    assert!(matches!(
        taken(acquire(Some(&lease), at(0), &other, at(125))).1,
        Taken::Expired { .. }
    ));
}

#[test]
fn a_life_of_a_lock() {
    let (a, b) = (claim("runner-a", "1"), claim("runner-b", "2"));
    let (lease, because) = taken(acquire(None, at(0), &a, at(0)));
    assert_eq!(because, Taken::Absent);
    assert_eq!(lease.holder.as_deref(), Some("1"));
    assert_eq!(lease.duration_seconds, Some(30));

    assert_eq!(held(acquire(Some(&lease), at(0), &b, at(29))).until, Some(at(30)));
    assert_eq!(renew(Some(&lease), &a, at(0), at(9)), Renewal::Wait(at(10)));
    let Renewal::Write(renewed) = renew(Some(&lease), &a, at(0), at(10)) else {
        panic!()
    };
    assert_eq!(renewed.renewed, Some(at(10)));
    assert_eq!(
        held(acquire(Some(&renewed), at(11), &b, at(40))).until,
        Some(at(41))
    );

    let (stolen, because) = taken(acquire(Some(&renewed), at(11), &b, at(41)));
    assert_eq!(
        because,
        Taken::Expired {
            runner: "runner-a".to_owned()
        }
    );
    assert_eq!(stolen.transitions, 1);
    assert_eq!(renew(Some(&stolen), &a, at(40), at(41)), Renewal::Lost);
    assert_eq!(release(&stolen, &a), None);

    let free = release(&stolen, &b).unwrap();
    assert_eq!(
        (free.holder.as_ref(), free.info.as_ref(), free.duration_seconds),
        (None, None, None)
    );
    let (_, because) = taken(acquire(Some(&free), at(50), &a, at(50)));
    assert_eq!(because, Taken::Free);
}

#[test]
fn a_runner_finds_its_own_lock_again() {
    let (lease, _) = taken(acquire(None, at(0), &claim("runner-a", "1"), at(0)));
    let (again, because) = taken(acquire(Some(&lease), at(1), &claim("runner-a", "2"), at(1)));
    assert_eq!(
        (because, again.holder.as_deref(), again.transitions),
        (Taken::Own, Some("2"), 1)
    );
    let (same, _) = taken(acquire(Some(&lease), at(1), &claim("runner-a", "1"), at(1)));
    assert_eq!(same.transitions, 0);
}

#[test]
fn a_lock_of_plain_terraform_is_never_taken() {
    let text = r#"{"ID":"97e2","Operation":"OperationTypeApply","Info":"","Who":"ada@laptop","Version":"1.11.4","Created":"2026-11-15T17:56:59.991911925Z","Path":""}"#;
    let info = LockInfo::from_json(text).unwrap();
    assert_eq!(info.to_json(), text);
    let lease = LeaseState {
        holder: Some("97e2".to_owned()),
        info: Some(info),
        ..LeaseState::default()
    };
    let holder = held(acquire(
        Some(&lease),
        at(0),
        &claim("runner-a", "1"),
        at(1_000_000),
    ));
    assert_eq!(
        (holder.until, holder.info.unwrap().who.as_str()),
        (None, "ada@laptop")
    );
    assert!(LockInfo::from_json("not json").is_none());
}

#[test]
fn a_mark_that_terraform_left_behind_does_not_count() {
    let (lease, _) = taken(acquire(None, at(0), &claim("runner-a", "1"), at(0)));
    assert_eq!(lease.runner(), Some("runner-a"));
    let broken = LeaseState {
        holder: None,
        info: None,
        ..lease.clone()
    };
    assert_eq!(
        taken(acquire(Some(&broken), at(0), &claim("runner-b", "2"), at(0))).1,
        Taken::Free
    );
    let theirs = LeaseState {
        holder: Some("12".to_owned()),
        ..lease
    };
    for runner in ["runner-a", "runner-b"] {
        let holder = held(acquire(Some(&theirs), at(0), &claim(runner, "3"), at(1_000_000)));
        assert_eq!((holder.runner, holder.until), (None, None));
    }
}

#[test]
fn who_cannot_renew_in_time_stops_before_another_may_begin() {
    let a = claim("runner-a", "1");
    let (lease, _) = taken(acquire(None, at(0), &a, at(0)));
    assert!(matches!(
        renew(Some(&lease), &a, at(0), at(29)),
        Renewal::Write(_)
    ));
    assert_eq!(renew(Some(&lease), &a, at(0), at(30)), Renewal::Lost);
    assert_eq!(renew(None, &a, at(0), at(1)), Renewal::Lost);
}

proptest! {
    /// Two runners whose clocks differ by any amount never both believe that they hold the lock.
    #[test]
    fn never_two_holders(skew in -100_000i64..100_000, delays in proptest::collection::vec(0i64..25, 1..40)) {
        let (a, b) = (claim("a", "1"), claim("b", "2"));
        let (mut lease, _) = taken(acquire(None, at(0), &a, at(0)));
        let (mut renewed, mut seen, mut now) = (at(0), at(skew), 0);
        for delay in delays {
            now += delay;
            if let Renewal::Write(next) = renew(Some(&lease), &a, renewed, at(now)) {
                (lease, renewed, seen) = (*next, at(now), at(now + skew));
            }
            let a_holds = renew(Some(&lease), &a, renewed, at(now)) != Renewal::Lost;
            let b_may_take = matches!(acquire(Some(&lease), seen, &b, at(now + skew)), Decision::Take { .. });
            prop_assert!(!(a_holds && b_may_take), "both at {now}");
        }
    }
}
