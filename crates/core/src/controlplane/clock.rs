//! The steps that are going on, and what time says about them.

use capt_api::conditions::captcontrolplane::CAPTControlPlaneReason as Reason;
use k8s_openapi::jiff::Timestamp;

use super::{
    advancing,
    deciding::Deciding,
    judging::{Eks, Facts, Note, Setup},
    progress,
    timeouts::{self, Running, Step},
};
use crate::owned::OwnedSeen;

/// Lets time have its say.
pub(super) fn judge(
    deciding: &mut Deciding<'_>,
    facts: &mut Facts,
    seen: Option<&OwnedSeen>,
    restarts: bool,
) {
    let running = steps(deciding, facts, seen, restarts);
    let spec = &deciding.snapshot.control_plane.spec;
    let verdict = timeouts::judge(spec, &running, deciding.history(), deciding.now);
    let doing = match (&facts.infrastructure, &facts.eks, &facts.setup) {
        (Err(note), ..) if !facts.was_initialized => note.message.as_str(),
        (_, Eks::Building(note) | Eks::AwaitsPerson(note) | Eks::Unwell(note) | Eks::Broken(note), _)
        | (_, Eks::Up, Setup::Outstanding(note) | Setup::Broken(note)) => note.message.as_str(),
        (_, Eks::Up, Setup::Done) => "it is not ready yet",
    };
    facts.expired = verdict
        .expired
        .map(|(step, limit)| Note::new(step.reason(), step.message(limit, doing)));
    deciding.look_again(verdict.look_again);
}

/// The steps that are going on, and since when.
fn steps(deciding: &Deciding<'_>, facts: &Facts, seen: Option<&OwnedSeen>, restarts: bool) -> Vec<Running> {
    let now = deciding.now;
    let goes_on = advancing::goes_on(deciding, facts);
    let began = |operation| {
        let last = progress::last_began(deciding.history(), operation);
        if restarts || goes_on {
            now
        } else {
            last.unwrap_or(now)
        }
    };
    let since = |step, fact: Option<Timestamp>, began: Timestamp| Running {
        step,
        since: fact.map_or(began, |fact| fact.max(began)),
    };
    let mut steps = Vec::new();
    let waits_for_network = facts.infrastructure.is_err() && !facts.was_initialized;
    // What the network has to bring is missing as long as there is none, which is nothing that a person could mend.
    let waits_for_a_person = facts
        .problem
        .as_ref()
        .is_some_and(|problem| !(problem.is_passing && waits_for_network));
    if waits_for_a_person || matches!(facts.eks, Eks::AwaitsPerson(_)) {
        return steps;
    }
    let waits_for_secret = matches!(
        (&facts.eks, &facts.setup),
        (Eks::Up, Setup::Outstanding(note)) if note.reason == Reason::SecretError
    );
    if facts.was_initialized {
        let running = |operation| {
            let last = progress::running(deciding.history())
                .filter(|record| record.operation == operation && !restarts && !goes_on);
            last.map_or(now, progress::step_began)
        };
        if matches!(facts.eks, Eks::Building(_)) {
            let since = if advancing::steps_on(deciding) {
                now
            } else {
                running(progress::UPDATE)
            };
            steps.push(Running {
                step: Step::Update,
                since,
            });
        }
        // One that was there and is lost has the same time to come back.
        if waits_for_secret {
            steps.push(Running {
                step: Step::Secret,
                since: running(progress::CONFIGURE),
            });
        }
        return steps;
    }
    let began = began(progress::CREATE);
    if facts.infrastructure.is_err() {
        steps.push(since(Step::Vpc, None, began));
        return steps;
    }
    let ready_since = deciding
        .snapshot
        .infrastructure
        .as_ref()
        .filter(|infrastructure| infrastructure.ready)
        .and_then(|infrastructure| infrastructure.ready_since);
    steps.push(since(Step::ControlPlane, ready_since, began));
    let workspace = seen.and_then(|seen| seen.workspace.as_ref());
    if matches!(facts.eks, Eks::Building(_) | Eks::Unwell(_))
        && let Some(created) = workspace.and_then(|workspace| workspace.created_at)
    {
        steps.push(since(Step::Workspace, Some(created), began));
    }
    if waits_for_secret {
        let ready = seen.and_then(|seen| seen.condition("Ready"));
        let ready = ready.map(|ready| ready.last_transition_time.0);
        steps.push(since(Step::Secret, ready, began));
    }
    steps
}
