//! What to do about a Workspace next.
//!
//! Pure functions over plain data: the driver gathers facts, asks, carries one thing out and asks again. Facts that cost
//! something are asked for only when a decision depends on them, so that a Workspace at rest costs nothing.
//!
//! The gates come in this order: is it ours, does something run, is it paused, may anything be done at all, is it going
//! away, are its inputs there, and only then work.

mod snapshot;
mod timing;

use std::collections::BTreeMap;

use capt_api::{
    approval,
    conditions::workspace::WorkspaceReason,
    foreign::marks::{CROSSPLANE_FINALIZER, EXTERNAL_NAME, RECONCILE_REQUESTED},
    marks::{APPROVED, IN_TURN, MEND, PLAN_REQUESTED, RETRY_REQUESTED, TERRAFORM_STATE_FINALIZER, UNLOCK},
};
use k8s_openapi::jiff::Timestamp;

pub(crate) use snapshot::{
    About, ConnectionFacts, Failed, Held, InputFacts, Looked, Memory, NamespaceFacts, Policy, Requests,
    Running, Snapshot, StateFacts, What, Whose,
};
pub(crate) use timing::{Answers, PEACE, answered, answers_at, backoff, later};

use crate::inputs::Grants;

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing, before this time or before something happens.
    Wait(Option<Timestamp>),
    /// Nothing, and say that somebody else uses it.
    LeaveAlone,
    /// Find out more and ask again.
    Look(Look),
    /// Say that it is paused.
    Pause,
    /// Put our marks on it.
    Prepare {
        /// The Terraform workspace, if it is to be chosen.
        external_name: Option<String>,
        /// Where its state is, if that is not written down.
        home: Option<String>,
    },
    /// Write the connection Secret from the state that is kept.
    HandOut,
    /// Tell what the state has of something that was ready before this object was made.
    TakeUp,
    /// Say again what was said before something was in the way, which is not any more.
    SayAgain,
    /// Run something as soon as there is room.
    Run(What, Priority),
    /// Tell what runs to stop.
    Cancel,
    /// Say why nothing can be done.
    Refuse {
        /// One word.
        reason: WorkspaceReason,
        /// Why, and what to do.
        message: String,
    },
    /// Say that others have to let go of it first.
    AwaitOthers,
    /// Take our finalizer off.
    LetGo {
        /// Its infrastructure is gone, and with it goes what is kept of its state.
        is_destroyed: bool,
    },
    /// Take our finalizer off, and forget what this machine has of it: it was moved away, and lives elsewhere.
    Forget,
}

/// Something to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// What is remembered about earlier operations.
    Memory,
    /// What Terraform would be told.
    Inputs,
    /// What exists.
    State,
    /// What becomes of its namespace.
    Namespace,
}

/// What is more urgent comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Priority {
    /// Somebody waits for it to go.
    Delete,
    /// Somebody asked for something or changed something.
    User,
    /// Something new is to be made.
    Create,
    /// Nobody waits.
    Poll,
}

/// What to do about a Workspace now.
pub(crate) fn decide(snapshot: &Snapshot, now: Timestamp) -> Next {
    match snapshot.whose {
        Whose::Ours => {}
        Whose::Others => return Next::Wait(None),
        Whose::Disputed => return Next::LeaveAlone,
    }
    let is_paused = snapshot.is_paused || snapshot.is_moved_away || snapshot.policies == Policy::Paused;
    if let Some(running) = snapshot.running {
        return while_running(snapshot, running, is_paused);
    }
    if snapshot.is_moved_away && snapshot.is_deleting && is_held_by_us(snapshot) {
        return Next::Forget;
    }
    if is_unclaimed(snapshot) {
        return going_away(snapshot, Grants::default(), now);
    }
    if is_paused {
        return match snapshot.said_paused == Some(snapshot.generation) {
            true => while_paused(snapshot),
            false => Next::Pause,
        };
    }
    match &snapshot.policies {
        Policy::Paused => Next::Wait(None),
        Policy::Unsupported(message) => Next::Refuse {
            reason: WorkspaceReason::PoliciesUnsupported,
            message: message.clone(),
        },
        Policy::Granted(grants) if snapshot.is_deleting => going_away(snapshot, *grants, now),
        Policy::Granted(_) => match (staying(snapshot, now), hands_out_at(snapshot)) {
            (Next::Wait(until), Some(at)) => Next::Wait(Some(until.map_or(at, |until| until.min(at)))),
            (next, _) => next,
        },
    }
}

/// Whether somebody deletes what was retained and may do nothing. Nobody is left who would ever allow anything, so that it
/// would go for ever; and without a grant it takes nothing with it.
fn is_unclaimed(snapshot: &Snapshot) -> bool {
    let is_claimed = snapshot.is_paused || snapshot.is_moved_away || snapshot.is_named_by_maker;
    snapshot.is_retained && snapshot.is_deleting && snapshot.policies == Policy::Paused && !is_claimed
}

/// A plan changes nothing, and whoever asks for one wants to know what the end of the pause would bring.
fn while_paused(snapshot: &Snapshot) -> Next {
    let is_known = snapshot.external_name.is_some() && snapshot.home.is_some() && is_held_by_us(snapshot);
    if snapshot.requests.plan.is_none() || snapshot.is_deleting || !is_known {
        return Next::Wait(None);
    }
    let Some(memory) = &snapshot.memory else {
        return Next::Look(Look::Memory);
    };
    let is_asked = is_asked(snapshot.requests.plan.as_deref(), memory, PLAN_REQUESTED);
    // What a crash left behind is kept when Terraform runs the next time, as is a state whose Secret is gone, and that
    // would be a change.
    match is_asked && !memory.is_unfinished && !snapshot.is_state_doubted {
        true => Next::Run(What::Plan, Priority::User),
        false => Next::Wait(None),
    }
}

/// Only a deletion that may destroy stops what runs: a change waits, and to be left alone in mid-work would leave things
/// half made. A destruction that was granted and is not any more is stopped too: somebody wants to keep what is left.
fn while_running(snapshot: &Snapshot, running: Running, is_paused: bool) -> Next {
    let may_destroy = match &snapshot.policies {
        Policy::Granted(grants) if snapshot.is_deleting && !is_paused => Some(grants.delete),
        _ => None,
    };
    let is_in_the_way = match running.what {
        What::Plan | What::Converge => {
            may_destroy == Some(true) && snapshot.finalizers == [CROSSPLANE_FINALIZER]
        }
        What::Destroy => may_destroy == Some(false),
        What::Rescue => false,
    };
    match is_in_the_way && !running.is_cancelled {
        true => Next::Cancel,
        false => Next::Wait(None),
    }
}

fn going_away(snapshot: &Snapshot, grants: Grants, now: Timestamp) -> Next {
    if !is_held_by_us(snapshot) {
        return Next::Wait(None);
    }
    let Some(memory) = &snapshot.memory else {
        return Next::Look(Look::Memory);
    };
    if !grants.delete {
        return orphan(snapshot, memory, now);
    }
    if snapshot.finalizers.len() > 1 {
        return Next::AwaitOthers;
    }
    match &snapshot.state {
        None => return Next::Look(Look::State),
        Some(StateFacts::Unknown { reason, message }) => {
            return Next::Refuse {
                reason: *reason,
                message: message.clone(),
            };
        }
        // What a crash left on the machine may be more than what was kept.
        Some(StateFacts::Nothing) if !memory.is_unfinished => return Next::LetGo { is_destroyed: true },
        Some(StateFacts::Absent) if !memory.is_unfinished && !may_exist(snapshot) => {
            return Next::LetGo { is_destroyed: true };
        }
        Some(StateFacts::Absent | StateFacts::Nothing | StateFacts::Something | StateFacts::Elsewhere) => {}
    }
    match &snapshot.namespace {
        None => return Next::Look(Look::Namespace),
        Some(NamespaceFacts::Stays) => {}
        Some(NamespaceFacts::Goes) => {
            return Next::Refuse {
                reason: WorkspaceReason::NamespaceTerminating,
                message: namespace_goes(snapshot),
            };
        }
        Some(NamespaceFacts::Unknown(why)) => {
            return Next::Refuse {
                reason: WorkspaceReason::Denied,
                message: format!(
                    "nothing is destroyed before it is known that not all of its namespace goes. Give the runner the \
                     right to get namespaces: {why}"
                ),
            };
        }
    }
    match &snapshot.inputs {
        None => Next::Look(Look::Inputs),
        Some(InputFacts::Unresolved { reason, message }) => Next::Refuse {
            reason: *reason,
            message: message.clone(),
        },
        Some(InputFacts::Ready { hash, .. }) => match held_back(snapshot, memory, What::Destroy, hash, now) {
            Some(next) => next,
            None => Next::Run(What::Destroy, Priority::Delete),
        },
    }
}

/// Nothing is destroyed; what a crash left on this machine is brought into safety first if that can be done.
fn orphan(snapshot: &Snapshot, memory: &Memory, now: Timestamp) -> Next {
    if !memory.is_unfinished {
        return Next::LetGo { is_destroyed: false };
    }
    match &snapshot.inputs {
        None => Next::Look(Look::Inputs),
        Some(InputFacts::Unresolved {
            reason: WorkspaceReason::Network,
            message,
        }) => Next::Refuse {
            reason: WorkspaceReason::Network,
            message: message.clone(),
        },
        Some(InputFacts::Unresolved { .. }) => Next::LetGo { is_destroyed: false },
        Some(InputFacts::Ready { hash, .. }) => match held_back(snapshot, memory, What::Rescue, hash, now) {
            Some(next) => next,
            None => Next::Run(What::Rescue, Priority::Delete),
        },
    }
}

fn staying(snapshot: &Snapshot, now: Timestamp) -> Next {
    // Another name would lead to another state, or to none.
    if snapshot.external_name.is_none() && snapshot.is_named_by_maker {
        return Next::Refuse {
            reason: WorkspaceReason::InputInvalid,
            message: format!(
                "somebody took away the annotation {EXTERNAL_NAME}, under which its state is kept. The controllers that made \
                 it bring it back; nothing is done before that"
            ),
        };
    }
    // It serves whatever becomes of the next look, which may fail or wait for a person.
    if snapshot.is_to_be_taken_up {
        return Next::TakeUp;
    }
    let (hash, home) = match &snapshot.inputs {
        None => return Next::Look(Look::Inputs),
        Some(InputFacts::Unresolved { reason, message }) => {
            return Next::Refuse {
                reason: *reason,
                message: message.clone(),
            };
        }
        Some(InputFacts::Ready { hash, home }) => (hash, home),
    };
    // Our finalizer comes only now: what never could run has nothing to be destroyed, and must not be held.
    if snapshot.external_name.is_none() || snapshot.home.is_none() || !is_held_by_us(snapshot) {
        return Next::Prepare {
            external_name: snapshot.external_name.is_none().then(|| snapshot.name.clone()),
            home: snapshot.home.is_none().then(|| home.clone()),
        };
    }
    let Some(memory) = &snapshot.memory else {
        return Next::Look(Look::Memory);
    };
    if snapshot.is_state_doubted && snapshot.was_made {
        match &snapshot.state {
            None => return Next::Look(Look::State),
            // Without it everything would be made a second time. What this machine has may be all that is left.
            Some(StateFacts::Absent) => {
                let held = held_back(snapshot, memory, What::Rescue, hash, now);
                return held.unwrap_or(Next::Run(What::Rescue, Priority::User));
            }
            Some(_) => {}
        }
    }
    if hands_out_at(snapshot).is_some_and(|at| now >= at) {
        return Next::HandOut;
    }
    if is_asked(snapshot.requests.plan.as_deref(), memory, PLAN_REQUESTED) {
        return Next::Run(What::Plan, Priority::User);
    }
    let is_retry = is_asked_to_try(snapshot, memory);
    if snapshot.is_refused && !is_retry && is_known_to_be(snapshot, memory, hash) {
        return Next::SayAgain;
    }
    if !is_retry && let Some(next) = held_back(snapshot, memory, What::Converge, hash, now) {
        return next;
    }
    let about = About {
        hash: hash.clone(),
        generation: snapshot.generation,
    };
    let due = next_look(snapshot, memory);
    let is_due = due.is_some_and(|due| now >= due) || snapshot.connection == ConnectionFacts::OnlyByRun;
    let held = memory.held.as_ref().filter(|held| held.about == about);
    let is_approved = held.is_some_and(|held| is_allowed(&snapshot.requests, &memory.answered, &held.plan));
    let is_held = held.is_some() && !is_approved && !snapshot.is_refused;
    let is_at_rest = memory.settled.as_ref() == Some(&about) || is_held;
    match (is_retry, is_at_rest, is_due) {
        (false, true, false) => Next::Wait(due),
        (false, true, true) => Next::Run(What::Converge, Priority::Poll),
        (false, false, _) if is_new(memory) => Next::Run(What::Converge, Priority::Create),
        (_, _, _) => Next::Run(What::Converge, Priority::User),
    }
}

/// Whether it is known from the last operation how things stand with these inputs.
fn is_known_to_be(snapshot: &Snapshot, memory: &Memory, hash: &str) -> bool {
    let is_about = |about: &About| about.hash == hash && about.generation == snapshot.generation;
    match &memory.failed {
        Some(failed) => failed.what == What::Converge && is_about(&failed.about),
        None => memory.settled.as_ref().is_some_and(is_about),
    }
}

/// From when on a connection Secret that somebody changed is written again. What was never settled nor taken up has no
/// outputs that others may see; and somebody who writes it again and again must not make us do the same.
fn hands_out_at(snapshot: &Snapshot) -> Option<Timestamp> {
    let was_settled = snapshot.memory.as_ref().is_some_and(|memory| memory.was_settled);
    let has_outputs = was_settled || snapshot.is_taken_up || snapshot.is_connection_refused;
    if snapshot.connection != ConnectionFacts::Doubted || !has_outputs {
        return None;
    }
    Some(timing::answers_at(snapshot.rewritten, &salt(snapshot)))
}

/// A failure with nothing changed since holds the next try back: for a while, until it is looked again anyway, or until
/// somebody changes something or asks for another try.
fn held_back(snapshot: &Snapshot, memory: &Memory, what: What, hash: &str, now: Timestamp) -> Option<Next> {
    let failed = memory.failed.as_ref()?;
    let is_same =
        failed.what == what && failed.about.hash == hash && failed.about.generation == snapshot.generation;
    if !is_same || is_asked_to_try(snapshot, memory) {
        return None;
    }
    let until = match failed.is_transient {
        true => Some(later(failed.at, timing::backoff(failed.count, &salt(snapshot)))),
        // To look again is harmless, and so is to keep a state that could not be kept. To make the same thing again, which
        // fails again, is not.
        false if failed.has_acted && what == What::Converge && !memory.is_unfinished => None,
        false => snapshot
            .poll
            .map(|interval| timing::next_look(failed.at, interval, &salt(snapshot))),
    };
    match until {
        Some(until) if now >= until => None,
        until => Some(Next::Wait(until)),
    }
}

fn next_look(snapshot: &Snapshot, memory: &Memory) -> Option<Timestamp> {
    let interval = snapshot.poll?;
    Some(match memory.looked? {
        Looked::At(time) => timing::next_look(time, interval, &salt(snapshot)),
        Looked::BeforeStart(start) => timing::first_look(start, interval, &salt(snapshot)),
    })
}

/// Whether something may exist although there is no state where it would be kept.
fn may_exist(snapshot: &Snapshot) -> bool {
    snapshot.was_made || snapshot.is_unread
}

fn namespace_goes(snapshot: &Snapshot) -> String {
    let home = snapshot.home.as_deref().unwrap_or("its Secret");
    format!(
        "nothing is destroyed because a namespace goes, and nothing can be made in it any more to destroy it with. To \
         let the Workspace go and keep the infrastructure: take Delete and * out of spec.managementPolicies, save the \
         state in {home}, and take the finalizer {TERRAFORM_STATE_FINALIZER} off. The commands, and how to go on with \
         that state in another namespace, are in docs/runner.md, \"When its namespace goes\""
    )
}

fn is_new(memory: &Memory) -> bool {
    !memory.was_settled && memory.settled.is_none() && memory.held.is_none()
}

fn is_held_by_us(snapshot: &Snapshot) -> bool {
    snapshot
        .finalizers
        .iter()
        .any(|finalizer| finalizer == CROSSPLANE_FINALIZER)
}

/// Whether somebody wants it to be tried or looked at now.
fn is_asked_to_try(snapshot: &Snapshot, memory: &Memory) -> bool {
    let requests = &snapshot.requests;
    is_asked(requests.retry.as_deref(), memory, RETRY_REQUESTED)
        || (memory.failed.is_none() && is_asked_to_mend(requests, memory))
        || is_asked(requests.look.as_deref(), memory, RECONCILE_REQUESTED)
        || (memory.failed.is_some() && is_asked(requests.unlock.as_deref(), memory, UNLOCK))
}

/// Whether it is time to mend what somebody else changed.
fn is_asked_to_mend(requests: &Requests, memory: &Memory) -> bool {
    let token = requests.mend.as_deref().filter(|token| *token != IN_TURN);
    is_asked(token, memory, MEND)
}

/// Whether nothing may be changed now, although the policies let it: it takes turns with others, all that is asked for was
/// made, and nobody says that it is time to mend anything. `was_made` says that these inputs were made real.
pub(crate) fn only_looks(requests: &Requests, memory: &Memory, was_made: bool) -> bool {
    let has_broken_off = memory.is_unfinished
        || memory.held.is_some()
        || memory.failed.as_ref().is_some_and(|failed| failed.has_acted)
        || (memory.settled.is_none() && memory.failed.is_none() && memory.made.is_none());
    requests.mend.is_some()
        && was_made
        && !has_broken_off
        && !is_asked_to_mend(requests, memory)
        && !is_asked(requests.retry.as_deref(), memory, RETRY_REQUESTED)
}

fn is_asked(token: Option<&str>, memory: &Memory, mark: &str) -> bool {
    token.is_some_and(|token| memory.answered.get(mark).map(String::as_str) != Some(token))
}

fn salt(snapshot: &Snapshot) -> String {
    format!("{} {}", snapshot.seed, snapshot.uid)
}

/// What a plan says that was just made, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanFacts<'a> {
    /// Something exists.
    pub(crate) exists: bool,
    /// It would do nothing.
    pub(crate) is_empty: bool,
    /// It would end something that works.
    pub(crate) is_destructive: bool,
    /// What an approval has to name.
    pub(crate) id: &'a str,
}

/// What becomes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterPlan {
    /// There is nothing to do.
    Settle,
    /// It is applied.
    Apply {
        /// Nothing exists yet.
        creates: bool,
    },
    /// It waits for an approval.
    Hold,
    /// It is only told, because nothing may be changed.
    Tell,
    /// There is nothing, and nothing may be made.
    Refuse,
}

/// What becomes of a plan to converge, with the requests that were answered before.
pub(crate) fn after_plan(
    grants: Grants,
    requests: &Requests,
    answered: &BTreeMap<String, String>,
    plan: PlanFacts<'_>,
) -> AfterPlan {
    if plan.is_empty {
        return AfterPlan::Settle;
    }
    match plan.exists {
        false if !grants.create => return AfterPlan::Refuse,
        true if !grants.update => return AfterPlan::Tell,
        _ => {}
    }
    if plan.is_destructive && !is_allowed(requests, answered, plan.id) {
        return AfterPlan::Hold;
    }
    AfterPlan::Apply {
        creates: !plan.exists,
    }
}

/// Whether a plan may destroy something. An approval counts once.
fn is_allowed(requests: &Requests, answered: &BTreeMap<String, String>, plan: &str) -> bool {
    let used_up = answered.get(APPROVED).map(String::as_str);
    requests.allow_destructive || approval::counts(requests.approved.as_deref(), plan, used_up)
}

#[cfg(test)]
mod tests;
