//! Turns: EKS does one thing at a time with a cluster, so that its owner says which of its children may operate.
//!
//! Whose turn it is stands in an annotation on the owner, written before the turn is used and only if nobody wrote since.
//! It is given to a child only while every other one is seen at rest, so that no change of ours runs beside another one.
//! Who cannot use the turn does not hold it: it fails, or waits for a person, a Secret or the end of a pause. What passes by
//! itself is tried again after those who wait already.
//!
//! Our runner only tells what somebody changed by hand, and that is mended in turn too.
//!
//! That is no proof that EKS never sees two: another runner mends what it finds whenever it looks; and what a runner does with
//! Workspaces that are out of our reach is not known. EKS refuses the second one then, which counts as a wait.

use std::time::Duration;

use capt_api::{conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason, marks};
use k8s_openapi::jiff::{SignedDuration, Timestamp};

pub(super) use crate::owned::cannot_go;
use crate::owned::{OwnedSeen, Setback, Standing, gave_up, standing};

/// How long one that failed and is to be tried again lets others go first, at least and at most.
const FIRST_REST: Duration = Duration::from_secs(15);
const LONGEST_REST: Duration = Duration::from_secs(120);

/// What a child could do with the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// Make or change something.
    Work,
    /// Destroy something.
    Deletion,
}

/// One that takes turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its name.
    pub name: String,
    /// What it could do with the turn.
    pub need: Need,
    /// It is proved that nothing runs for it.
    pub is_at_rest: bool,
    /// Its Workspace was written, and who runs it has not said anything about that yet. It may be on its way to rest, so
    /// that what it seems to need is not known.
    pub is_in_doubt: bool,
    /// It is to be removed, and that is not seen on it yet. With the turn it would still make or change something.
    pub is_announced: bool,
    /// Since when it waits for the turn, if it does.
    pub waiting_since: Option<Timestamp>,
}

impl Child {
    /// A WorkspaceTemplateApply that exists.
    #[must_use]
    pub fn of(seen: &OwnedSeen) -> Self {
        let waiting = seen
            .condition("Waiting")
            .filter(|condition| condition.reason == "WaitingForTurn" && condition.status == "True");
        // One that nothing was made for yet waits since it is there, whether it has said so or not.
        let created = seen.wta.metadata.creation_timestamp.as_ref();
        let since = match seen.has_workspace() {
            false => created,
            true => waiting.map(|condition| &condition.last_transition_time),
        };
        Self {
            name: seen.name().to_owned(),
            need: need(seen),
            is_at_rest: is_at_rest(seen),
            is_in_doubt: !seen.is_deleting() && !is_looked_at(seen),
            is_announced: false,
            waiting_since: since.map(|since| since.0),
        }
    }

    /// One that is about to be made.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            need: Need::Work,
            is_at_rest: true,
            is_in_doubt: false,
            is_announced: false,
            waiting_since: None,
        }
    }
}

fn need(seen: &OwnedSeen) -> Need {
    let word = |type_: &str| seen.condition(type_).map(|condition| condition.reason.as_str());
    match standing(seen) {
        Standing::Going { .. } => {
            let waits_for_others = word("Deleting") == Some("WaitingForDependents");
            let is_let_go = seen.annotation(marks::LET_GO) == Some("true");
            let is_stuck = seen.is_paused() || gave_up(seen).is_some();
            if is_let_go && seen.has_workspace() && !waits_for_others && !is_stuck {
                Need::Deletion
            } else {
                Need::Nothing
            }
        }
        Standing::Working | Standing::Retrying { .. } => Need::Work,
        Standing::Ready if (seen.is_to_be_mended() || is_asked_again(seen)) && !seen.is_paused() => {
            Need::Work
        }
        Standing::Waiting {
            reason: Reason::WaitingForTurn,
            ..
        } => Need::Work,
        Standing::Waiting { .. }
        | Standing::Refused { .. }
        | Standing::AwaitsApproval { .. }
        | Standing::Failed { .. }
        | Standing::Ready => Need::Nothing,
    }
}

/// Whether nothing of ours runs for a WorkspaceTemplateApply and no change of it will start by itself.
fn is_at_rest(seen: &OwnedSeen) -> bool {
    let is_running = seen.run.as_ref().is_some_and(|run| run.is_running);
    let is_paused = seen.condition("Synced").is_some_and(|synced| {
        let generation = seen.workspace.as_ref().map(|workspace| workspace.generation);
        synced.reason == "ReconcilePaused" && synced.observed_generation == generation
    });
    // One that goes says so as soon as it begins to.
    let deleting = seen
        .condition("Deleting")
        .filter(|deleting| deleting.status == "True" && seen.is_deleting());
    let waits = deleting.is_some_and(|deleting| {
        matches!(
            deleting.reason.as_str(),
            "WaitingForTurn" | "WaitingForDependents" | "WaitingForOwner"
        )
    });
    let is_about_to_run = is_running || is_asked_again(seen);
    let is_still = seen.holds() && is_looked_at(seen) && !is_about_to_run && (!seen.is_deleting() || waits);
    // A Workspace that is written down and gone, as after a move: nothing can run for it until it is made again.
    let is_absent = seen.workspace.is_none() && !is_running && (waits || waits_for_turn(seen));
    // What cannot be paused would hold up everybody for ever.
    let is_out_of_reach = !is_running && (is_refused(seen) || cannot_go(seen).is_some());
    !seen.has_workspace() || is_paused || is_still || is_absent || is_out_of_reach
}

/// Whether a person asked for another try that our runner has not answered yet. Who is well begins with it at once.
fn is_asked_again(seen: &OwnedSeen) -> bool {
    let asked = seen.annotation(marks::RETRY_REQUESTED);
    let run = seen.run.as_ref();
    asked.is_some() && run.is_some_and(|run| run.retry_answered.as_deref() != asked)
}

/// Whether who runs Terraform has looked at the Workspace as it is now, as far as it says so. What was written a moment ago
/// still has the conditions of what was there before.
fn is_looked_at(seen: &OwnedSeen) -> bool {
    let Some(workspace) = &seen.workspace else {
        return true;
    };
    let synced = seen.condition("Synced");
    let looked_at = synced.and_then(|synced| synced.observed_generation);
    let looked_at = looked_at.or(workspace.observed_generation);
    looked_at.is_none_or(|generation| generation == workspace.generation)
}

/// Whether a WorkspaceTemplateApply is refused for a reason by which nothing can be written to its Workspace, or nobody
/// heeds it.
fn is_refused(seen: &OwnedSeen) -> bool {
    matches!(
        standing(seen),
        Standing::Refused {
            reason: Reason::WorkspaceNotOurs
                | Reason::WorkspaceRetained
                | Reason::WorkspaceMovedAway
                | Reason::WorkspaceApiMissing
                | Reason::WorkspaceGroupMismatch
                | Reason::ManagementPoliciesDisabled,
            ..
        }
    )
}

fn waits_for_turn(seen: &OwnedSeen) -> bool {
    seen.is_observed()
        && seen
            .condition("Waiting")
            .is_some_and(|waiting| waiting.status == "True" && waiting.reason == "WaitingForTurn")
}

/// Until when one that was tried and waits for its turn again lets others go first, if it does. It comes again at once if
/// something else is wanted of it, or a person asks for another try. `need` is what it could do with the turn.
#[must_use]
pub fn rests_until(seen: &OwnedSeen, need: Need, now: Timestamp) -> Option<Timestamp> {
    let setback = setback(seen, need)?;
    let doubled = FIRST_REST.saturating_mul(1 << setback.count.saturating_sub(1).min(8));
    let rest = SignedDuration::try_from(doubled.min(LONGEST_REST)).ok()?;
    let until = setback.at.checked_add(rest).ok()?;
    (until > now).then_some(until)
}

/// What one that waits for its turn failed with the last time, if it only has to be tried again. That something could not be
/// made is no reason not to remove it.
#[must_use]
pub fn setback(seen: &OwnedSeen, need: Need) -> Option<&Setback> {
    let run = seen.run.as_ref().filter(|run| !run.is_running)?;
    let requested = seen.annotation(marks::RETRY_REQUESTED);
    let is_answered = requested.is_none() || run.retry_answered.as_deref() == requested;
    let status = seen.wta.status.as_ref();
    let is_the_same = status.is_some_and(|status| status.pending_revision.is_none());
    let setback = run.setback.as_ref().filter(|_| is_answered && is_the_same)?;
    (setback.is_of_end == (need == Need::Deletion)).then_some(setback)
}

/// Whose turn it is from now on. `None` is nobody's, until everybody is at rest.
#[must_use]
pub fn hand_out(holder: Option<&str>, children: &[Child]) -> Option<String> {
    let queue = queue(children);
    if queue.is_empty() {
        // Nobody needs it, so that nothing has to be written.
        return holder.map(str::to_owned);
    }
    let current = children.iter().find(|child| Some(child.name.as_str()) == holder);
    // Also while it still rests: it may have heard of its turn and begin at any moment, so that nobody overtakes it.
    if let Some(current) = current.filter(|current| current.need != Need::Nothing) {
        return Some(current.name.clone());
    }
    // It is a matter of moments until it goes. Nobody overtakes it, and nothing has to be written.
    if queue.first().is_some_and(|first| first.is_announced) {
        return holder.map(str::to_owned);
    }
    // One that runs although it is not its turn can only be brought to an end by giving it the turn.
    let next = queue
        .iter()
        .find(|next| !next.is_in_doubt && !next.is_announced && others_rest(next, children));
    next.map(|next| next.name.clone())
}

/// Who gets the turn as soon as its removal is seen, and has nobody to wait for until then.
#[must_use]
pub fn announced<'a>(holder: Option<&str>, children: &'a [Child]) -> Option<&'a str> {
    let is_used = children
        .iter()
        .any(|child| Some(child.name.as_str()) == holder && child.need != Need::Nothing);
    let first = queue(children).into_iter().next().filter(|_| !is_used)?;
    (first.is_announced && others_rest(first, children)).then_some(first.name.as_str())
}

fn others_rest(one: &Child, children: &[Child]) -> bool {
    let mut others = children.iter().filter(|child| child.name != one.name);
    others.all(|child| child.is_at_rest)
}

/// Those that could use the turn, in the order in which they get it: deletions first, then who waits longest.
#[must_use]
pub fn queue(children: &[Child]) -> Vec<&Child> {
    let mut queue: Vec<&Child> = children
        .iter()
        .filter(|child| child.need != Need::Nothing)
        .collect();
    queue.sort_by_key(|child| {
        let since = child.waiting_since.unwrap_or(Timestamp::MAX);
        (child.need != Need::Deletion, since)
    });
    queue
}

#[cfg(test)]
mod tests;
