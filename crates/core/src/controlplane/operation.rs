//! Which operation is going on, and how the one before it ended.
//!
//! An operation is what reaches Terraform: another rendering than the one that is real. That somebody deleted an object which
//! is made again is none. One that waits for an approval or the end of a pause is still the same, and goes on when somebody
//! has decided.

use capt_api::{
    captcontrolplane::{OperationRecord, OperationResult},
    conditions::captcontrolplane::CAPTControlPlaneReason as Reason,
};

use super::{
    deciding::Deciding,
    judging::{Eks, Facts, Problem, Setup},
    making, progress,
};
use crate::owned::{OwnedSeen, Standing, standing};

/// What is said of an update that somebody took back.
const TAKEN_BACK: &str = "What was asked for was taken back";

/// Whether a person must approve a change or end a pause, be it that something serves meanwhile or not.
pub(super) fn awaits_person(facts: &Facts) -> bool {
    let is_held = |reason| reason == Reason::WaitingForApproval;
    matches!(facts.eks, Eks::AwaitsPerson(_)) || facts.impairments.iter().any(|note| is_held(note.reason))
}

/// Whether nothing is done any more, until somebody changes something.
fn is_stopped(facts: &Facts) -> bool {
    let is_lasting = |problem: &Problem| !problem.is_passing;
    matches!(facts.eks, Eks::Broken(_))
        || matches!(facts.setup, Setup::Broken(_)) && facts.eks == Eks::Up
        || facts.problem.as_ref().is_some_and(is_lasting)
}

/// What is being done, if anything is.
pub(super) fn current(
    deciding: &Deciding<'_>,
    facts: &Facts,
    seen: Option<&OwnedSeen>,
) -> Option<&'static str> {
    if is_stopped(facts) {
        return None;
    }
    if !facts.was_initialized {
        let is_made = facts.infrastructure.is_ok()
            && facts.problem.is_none()
            && facts.eks == Eks::Up
            && facts.setup == Setup::Done;
        return (!is_made).then_some(progress::CREATE);
    }
    let running = running(deciding).filter(|record| record.operation == progress::UPDATE);
    let told = deciding.status.workspace_template_status.as_ref();
    let told = told.and_then(|told| told.last_applied_revision.as_deref());
    let is_other = seen.is_some_and(|seen| seen.wants_other(told));
    let is_unknown = seen.is_none_or(|seen| seen.wanted_revision().is_none());
    let is_update = match &facts.eks {
        Eks::Building(_) => true,
        // The next step of an upgrade is about to be written, and waits from then on.
        _ if awaits_person(facts) => is_other || (running.is_some() && is_on_its_way(deciding, seen)),
        // Whoever was deleted meanwhile is made again, and goes on.
        Eks::Unwell(_) => running.is_some() && (is_other || is_unknown),
        _ => false,
    };
    let is_configured = matches!(facts.setup, Setup::Outstanding(_)) && facts.eks == Eks::Up;
    match (is_update, is_configured) {
        (true, _) => Some(progress::UPDATE),
        (false, true) => Some(progress::CONFIGURE),
        (false, false) => None,
    }
}

/// Whether a higher version is wanted than runs, as far as anybody knows.
fn is_on_its_way(deciding: &Deciding<'_>, seen: Option<&OwnedSeen>) -> bool {
    let wanted = deciding.snapshot.control_plane.spec.version.minor();
    let running = seen.and_then(|seen| making::running_version(deciding, seen));
    running.is_some_and(|running| wanted.is_some_and(|wanted| running < wanted))
}

/// How an operation ended.
pub(super) struct Ending {
    /// How.
    pub(super) result: OperationResult,
    /// Why, if it is not what is said of the control plane.
    pub(super) message: Option<&'static str>,
    /// Nothing ever came of it.
    pub(super) is_void: bool,
}

/// How the operation that runs ended, if it has to end now.
pub(super) fn ending(
    deciding: &Deciding<'_>,
    facts: &Facts,
    seen: Option<&OwnedSeen>,
    is_restarted: bool,
) -> Ending {
    let plain = |result| Ending {
        result,
        message: None,
        is_void: false,
    };
    // An upgrade that changed nothing is over, and was none.
    let is_in_vain = facts
        .impairments
        .iter()
        .any(|note| note.reason == Reason::VersionNotReached);
    let running = running(deciding);
    let is_setting_up = running.is_some_and(|record| record.operation == progress::CONFIGURE);
    // What came back by itself is nothing that anybody did.
    if is_setting_up && !is_stopped(facts) {
        return Ending {
            is_void: true,
            ..plain(OperationResult::Succeeded)
        };
    }
    let running = running.filter(|record| record.operation == progress::UPDATE);
    let is_refused = seen.is_some_and(|seen| matches!(standing(seen), Standing::Refused { .. }));
    if is_restarted {
        return plain(OperationResult::Cancelled);
    }
    if is_stopped(facts) || (facts.was_initialized && (is_in_vain || is_refused)) {
        return plain(OperationResult::Failed);
    }
    match running {
        Some(running) if !is_done(deciding, running) => Ending {
            result: OperationResult::Cancelled,
            message: Some(TAKEN_BACK),
            is_void: !has_reached(deciding, seen, running),
        },
        _ => plain(OperationResult::Succeeded),
    }
}

/// Whether an update made something else real, or put right what one before it left half changed.
fn is_done(deciding: &Deciding<'_>, running: &OperationRecord) -> bool {
    let before = deciding.snapshot.control_plane.status.as_ref();
    let before = before.and_then(|status| status.workspace_template_status.as_ref());
    let before = before.and_then(|told| told.last_applied_revision.as_ref());
    let now = deciding.status.workspace_template_status.as_ref();
    let revision = now.and_then(|told| told.last_applied_revision.as_ref());
    let written = now.and_then(|told| told.last_applied_time.as_ref());
    let is_known = before.is_some() && revision.is_some();
    let last = deciding
        .history()
        .iter()
        .rev()
        .find(|record| record.end_time.is_some() && record.operation != progress::PAUSED);
    !is_known
        || before != revision
        || written.is_some_and(|written| *written > running.start_time)
        || last.is_some_and(|last| last.result == Some(OperationResult::Failed))
}

/// Whether another rendering came as far as the Workspace, or as a person who was to approve it.
fn has_reached(deciding: &Deciding<'_>, seen: Option<&OwnedSeen>, running: &OperationRecord) -> bool {
    let status = seen.and_then(|seen| seen.wta.status.as_ref());
    let written = status.and_then(|status| status.last_applied_time.as_ref());
    let has_waited = running.step_start_time.is_some() || deciding.waited_for_person();
    has_waited || written.is_some_and(|written| *written > running.start_time)
}

fn running<'a>(deciding: &'a Deciding<'_>) -> Option<&'a OperationRecord> {
    progress::running(deciding.history())
}
