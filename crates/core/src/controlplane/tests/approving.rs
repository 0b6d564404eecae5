//! An update that waits for an approval is one update, however long somebody takes to decide, and whatever is decided.

use capt_api::{
    captcontrolplane::{ControlPlaneState as State, OperationRecord, OperationResult},
    version::Version,
};

use super::{
    World, at, living, message, said,
    world::{Terraform, say},
};
use crate::owned::TroubleClass;

/// Minutes of a week.
const WEEK: i64 = 7 * 24 * 60;

/// Who found that the change destroys something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Our runner, which has the change already.
    ByPlan,
    /// Whoever writes Workspaces, because another runner makes no plans.
    ByRendering,
}

fn history(world: &World) -> Vec<OperationRecord> {
    let progress = world.status().progress.expect("progress");
    progress.history.expect("records")
}

/// Time passes, and the API server is asked again.
fn pass(world: &mut World, minutes: i64) {
    world.pass(minutes);
    world.probe();
}

/// One with a change that waits for a person, and the record of it.
fn waiting(held: Held) -> (World, OperationRecord) {
    let mut world = living();
    pass(&mut world, 10);
    world.edit(|spec| spec.version = Version::from("1.32"));
    world.step();
    let began = history(&world).pop().expect("a record");
    assert_eq!((began.operation.as_str(), began.result), ("Update", None));
    pass(&mut world, 1);
    let now = at(world.clock);
    let seen = world.apply_mut();
    let generation = seen.wta.metadata.generation;
    let status = seen.wta.status.get_or_insert_default();
    status.observed_generation = generation;
    match held {
        Held::ByPlan => status.last_applied_revision = Some("other".to_owned()),
        Held::ByRendering => {
            status.pending_revision = Some("other".to_owned());
            status.applied = false;
            say(seen, "Applied", false, "DestructiveChange", now);
        }
    }
    say(seen, "ApprovalNeeded", true, "DestructiveChange", now);
    world.calm();
    assert_eq!(said(&world.status(), "Ready"), "True/WaitingForApproval");
    assert_eq!(history(&world).last(), Some(&began), "{held:?}: it goes on");
    let progress = world.status().progress.expect("progress");
    assert_eq!(progress.current_operation.as_deref(), Some("Update"));
    assert_eq!(progress.estimated_time_remaining, None, "nobody knows");
    pass(&mut world, WEEK);
    assert!(world.decide().is_quiet(), "{held:?}");
    (world, began)
}

/// A person decided.
fn decide(world: &mut World) {
    let now = at(world.clock);
    let seen = world.apply_mut();
    say(seen, "ApprovalNeeded", false, "NotNeeded", now);
}

fn ended(world: &World, began: &OperationRecord) -> (Option<OperationResult>, Option<String>) {
    let records = history(world);
    assert_eq!(records.len(), 2, "{records:#?}");
    let last = records.into_iter().next_back().expect("a record");
    assert_eq!(last.start_time, began.start_time);
    (last.result, last.message)
}

#[test]
fn an_update_that_waited_for_an_approval_goes_on_when_it_is_given() {
    for held in [Held::ByPlan, Held::ByRendering] {
        let (mut world, began) = waiting(held);
        decide(&mut world);
        world.terraform = Terraform::Hangs;
        world.settle();
        assert_eq!(world.status().state, Some(State::Provisioning), "{held:?}");
        // What a person took does not count.
        pass(&mut world, 50);
        world.settle();
        assert_eq!(world.status().state, Some(State::Provisioning), "{held:?}");
        assert_eq!(ended(&world, &began).0, None);
        world.terraform = Terraform::Works;
        world.settle();
        assert_eq!(world.status().state, Some(State::Ready));
        assert_eq!(
            ended(&world, &began).0,
            Some(OperationResult::Succeeded),
            "{held:?}"
        );
    }
}

#[test]
fn an_update_that_went_on_may_take_too_long_all_the_same() {
    let (mut world, _) = waiting(Held::ByPlan);
    decide(&mut world);
    world.terraform = Terraform::Hangs;
    world.settle();
    pass(&mut world, 61);
    world.settle();
    assert_eq!(world.status().state, Some(State::Degraded));
}

#[test]
fn an_update_is_cancelled_when_a_person_takes_the_change_back() {
    for held in [Held::ByPlan, Held::ByRendering] {
        let (mut world, began) = waiting(held);
        world.edit(|spec| spec.version = Version::from("1.31"));
        world.step();
        decide(&mut world);
        world.settle();
        assert_eq!(world.status().state, Some(State::Ready), "{held:?}");
        let (result, message) = ended(&world, &began);
        assert_eq!(result, Some(OperationResult::Cancelled), "{held:?}");
        let message = message.expect("a message");
        assert!(message.contains("taken back"), "{message}");
        let is_told = |event: &String| event.contains("The update is done");
        assert!(!world.events.iter().any(is_told), "{:#?}", world.events);
    }
}

#[test]
fn an_update_that_fails_after_its_approval_failed() {
    let (mut world, began) = waiting(Held::ByPlan);
    decide(&mut world);
    world.terraform = Terraform::Fails(TroubleClass::Terminal);
    world.settle();
    assert_eq!(ended(&world, &began).0, Some(OperationResult::Failed));
}

#[test]
fn an_update_that_is_refused_failed() {
    let (mut world, began) = waiting(Held::ByRendering);
    decide(&mut world);
    let now = at(world.clock);
    say(world.apply_mut(), "Applied", false, "StateLocationChanged", now);
    world.calm();
    assert_eq!(world.status().state, Some(State::Degraded));
    assert_eq!(ended(&world, &began).0, Some(OperationResult::Failed));
    assert!(world.decide().is_quiet());
}

#[test]
fn that_a_person_is_waited_for_is_said_first_whatever_else_is_wrong() {
    let mut world = living();
    world.edit(|spec| spec.version = Version::from("1.30"));
    world.settle();
    assert_eq!(said(&world.status(), "Ready"), "True/VersionTooLow");
    let now = at(world.clock);
    let seen = world.apply_mut();
    let status = seen.wta.status.get_or_insert_default();
    status.pending_revision = Some("other".to_owned());
    status.applied = false;
    say(seen, "Applied", false, "DestructiveChange", now);
    say(seen, "ApprovalNeeded", true, "DestructiveChange", now);
    world.calm();
    let status = world.status();
    assert_eq!(said(&status, "Ready"), "True/WaitingForApproval");
    assert!(message(&status, "Ready").contains("Write 1.31 again"));
}
