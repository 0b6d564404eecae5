//! How far a control plane is.

use capt_api::{
    captcontrolplane::{OperationResult, ProgressInfo},
    conditions::captcontrolplane::CAPTControlPlaneReason as Reason,
    version::Version,
};

use super::{
    deciding::Deciding,
    judging::{Eks, Facts, Problem},
    making, operation,
    progress::{self, Now, Walk},
};
use crate::{decision::EventKind, owned::OwnedSeen};

/// What the runner calls it when it makes or changes something.
const APPLY: &str = "apply";

/// How far the operation is.
pub(super) fn advance(
    deciding: &mut Deciding<'_>,
    facts: &Facts,
    seen: Option<&OwnedSeen>,
    restarts: bool,
    message: &str,
) {
    let operation = operation::current(deciding, facts, seen);
    // That a plan is made says nothing about how much of it is done.
    let live = seen
        .and_then(|seen| seen.wta.status.as_ref())
        .and_then(|status| status.progress.as_ref())
        .filter(|live| {
            live.operation
                .as_deref()
                .is_none_or(|operation| operation == APPLY)
        });
    let walk = seen
        .filter(|_| operation == Some(progress::UPDATE) && facts.problem.is_none())
        .and_then(|seen| walk(deciding, seen, restarts));
    let share = live
        .and_then(|live| live.percent_complete)
        .unwrap_or_default()
        .clamp(0, 100);
    let percent = match (&facts.infrastructure, &facts.problem, &facts.eks) {
        _ if facts.was_initialized => {
            let done = walk.map_or(share, |walk| walk.percent(share));
            5 + done * 90 / 100
        }
        (Err(_), ..) => 0,
        (Ok(()), Some(_), _) => 5,
        (Ok(()), None, Eks::Up) => 90,
        (Ok(()), None, _) => 10 + share * 75 / 100,
    };
    let ending = operation::ending(deciding, facts, seen, restarts && operation.is_some());
    let left = live.and_then(|live| live.estimated_time_remaining.as_ref());
    let now = Now {
        operation,
        percent,
        live_remaining: left.and_then(capt_api::duration::Duration::to_std),
        walk,
        reached: seen.and_then(|seen| making::certain_version(deciding, seen)),
        outcome: ending.result,
        is_void: ending.is_void,
        message: Some(ending.message.unwrap_or(message)),
        restarts,
        steps_on: operation.is_some()
            && (goes_on(deciding, facts) || (operation == Some(progress::UPDATE) && steps_on(deciding))),
        serves: facts.was_initialized,
        is_untold: live.is_some() && left.is_none(),
        is_open: facts.expired.is_some()
            || operation::awaits_person(facts)
            || waits_for_somebody(deciding, facts),
    };
    let mut before = deciding.status.progress.take();
    if fails_at_once(facts, before.as_ref()) {
        let begun = Now {
            operation: Some(progress::CREATE),
            ..now.clone()
        };
        let statistics = &deciding.snapshot.statistics;
        before = Some(progress::advance(
            before.as_ref(),
            &begun,
            statistics,
            deciding.now,
        ));
    }
    let progress = progress::advance(before.as_ref(), &now, &deciding.snapshot.statistics, deciding.now);
    // That it is ready again says the same as it did the first time, and nobody would see it.
    let ended = progress::just_ended(before.as_ref(), &progress).filter(|_| operation.is_none());
    let is_done = ended.is_some_and(|ended| {
        ended.operation == progress::UPDATE && ended.result == Some(OperationResult::Succeeded)
    });
    if is_done {
        let is_told = |seen: &OwnedSeen| making::running_version(deciding, seen).is_some();
        let is_doubted =
            seen.is_some_and(|seen| is_told(seen) && making::certain_version(deciding, seen).is_none());
        let runs = deciding.status.version.as_ref().filter(|_| !is_doubted);
        let message = match runs {
            Some(runs) => format!("The update is done: version {runs} runs"),
            None => "The update is done".to_owned(),
        };
        deciding.tell(EventKind::Normal, Reason::NotRollingOut, &message);
    }
    deciding.status.progress = Some(progress);
}

/// Whether Terraform failed to make what nobody saw it begin with.
fn fails_at_once(facts: &Facts, before: Option<&ProgressInfo>) -> bool {
    let is_tried = facts.infrastructure.is_ok() && facts.problem.is_none();
    let history = before.and_then(|before| before.history.as_deref());
    let mut operations = history.unwrap_or_default().iter();
    let is_first = !operations.any(|record| record.operation != progress::PAUSED);
    !facts.was_initialized && is_tried && matches!(facts.eks, Eks::Broken(_)) && is_first
}

/// Whether nothing goes on before somebody does something.
fn waits_for_somebody(deciding: &Deciding<'_>, facts: &Facts) -> bool {
    let problem = facts.problem.as_ref();
    if facts.infrastructure.is_ok() {
        return problem.is_some();
    }
    let cluster = deciding.snapshot.cluster.as_ref();
    let is_nobodys = match &deciding.snapshot.infrastructure {
        Some(network) => {
            let is_of_another =
                network.cluster.is_some() && network.cluster.as_ref() != cluster.map(|cluster| &cluster.name);
            network.left_alone.is_some() || network.waits_for_person || is_of_another
        }
        // Those of other kinds have somebody who makes them.
        None => cluster
            .and_then(|cluster| cluster.infrastructure_ref.as_ref())
            .is_some_and(|(kind, _)| kind == "CAPTCluster"),
    };
    // What a network has to tell is told when it is there.
    let is_of_network = |problem: &Problem| problem.note.reason == Reason::SecretError;
    is_nobodys || problem.is_some_and(|problem| !is_of_network(problem))
}

/// Whether an operation that waited for a person goes on. The time that a person took is nobody's else.
pub(super) fn goes_on(deciding: &Deciding<'_>, facts: &Facts) -> bool {
    deciding.waited_for_person() && !operation::awaits_person(facts)
}

/// Whether a cluster has just come to another version than was told before, so that the next step of its upgrade begins, if
/// there is one.
pub(super) fn steps_on(deciding: &Deciding<'_>) -> bool {
    let minor = |version: &Option<String>| Version::from(version.as_deref()?).minor();
    let before = deciding.snapshot.control_plane.status.as_ref();
    let before = before.and_then(|status| minor(&status.version));
    before.is_some_and(|before| minor(&deciding.status.version).is_some_and(|now| now > before))
}

/// Tells a version that a cluster has come to while it is paused: what runs then comes to its end, and which version that
/// leads to is a fact that was observed, not something that was done. The next step begins when the pause ends, with all
/// the time that it may take.
pub(super) fn follow(deciding: &mut Deciding<'_>) {
    let seen = deciding.found.usable().filter(|_| !deciding.is_deleting());
    let running = seen.and_then(|seen| making::certain_version(deciding, seen));
    let told = Version::from(deciding.status.version.as_deref().unwrap_or_default()).minor();
    let (Some(told), Some(running)) = (told, running) else {
        return;
    };
    if told >= running {
        return;
    }
    making::tell_version(deciding, running);
    let progress = deciding.status.progress.as_mut();
    if let Some(history) = progress.and_then(|progress| progress.history.as_mut()) {
        progress::step_on(history, deciding.now);
    }
}

/// The upgrade that an update is, if it is one.
fn walk(deciding: &Deciding<'_>, seen: &OwnedSeen, restarts: bool) -> Option<Walk> {
    let at = making::running_version(deciding, seen)?;
    let to = deciding.snapshot.control_plane.spec.version.minor()?;
    let running = progress::running(deciding.history()).filter(|_| !restarts);
    let from = match running.filter(|record| record.operation == progress::UPDATE) {
        // What it began as, it stays: nobody knows how long it went on before.
        Some(record) => Walk::beginning(record)?,
        None => at,
    };
    (from < to && from.major == to.major).then_some(Walk { from, at, to })
}
