//! How far an operation is, and what was done before.
//!
//! The running operation stands in the history too, as the record without an end: that is where its beginning is
//! remembered. What depends on the clock alone is computed anew only when something else changes, or a status would
//! never come to rest; but nothing is promised any more once it takes longer than was expected.

use std::time::Duration;

use capt_api::{
    captcontrolplane::{OperationRecord, OperationResult, ProgressInfo},
    duration,
    version::{Minor, Version},
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{pauses, timeouts};

/// How many operations are remembered, beside pauses.
const MAX_OPERATIONS: usize = 12;
/// The longest message of a record.
const MAX_MESSAGE: usize = 1024;

/// The operation that makes a control plane.
pub const CREATE: &str = "Create";
/// The operation that changes one.
pub const UPDATE: &str = "Update";
/// The operation that sets up again what is around one.
pub const CONFIGURE: &str = "Configure";
/// The operation that repairs one.
pub const RECOVER: &str = "Recover";
/// The operation that removes one.
pub const DELETE: &str = "Delete";
/// What is said of a creation that nobody saw.
const MADE_UNSEEN: &str = "It was made after it had failed, and nobody saw when that began";
/// Not an operation: time in which nothing was done, because somebody asked for that.
pub const PAUSED: &str = "Paused";

/// How long operations took before, for the same template. Gather it from the ConfigMap of statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// How long it takes to make a control plane.
    pub create: Option<Duration>,
    /// How long it takes to change one.
    pub update: Option<Duration>,
    /// How long it takes to bring one to the next minor version.
    pub upgrade: Option<Duration>,
    /// How long it takes to remove one.
    pub delete: Option<Duration>,
}

impl Statistics {
    /// How long an operation takes.
    fn of(&self, operation: &str, walk: Option<&Walk>) -> Option<Duration> {
        match (operation, walk) {
            (CREATE, _) => self.create,
            (UPDATE, Some(walk)) => Some(self.upgrade?.saturating_mul(walk.steps())),
            (UPDATE, None) => self.update,
            (DELETE, _) => self.delete,
            _ => None,
        }
    }
}

/// An upgrade, which goes through every minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Where it began.
    pub from: Minor,
    /// What runs.
    pub at: Minor,
    /// Where it ends.
    pub to: Minor,
}

impl Walk {
    /// How many steps it has.
    fn steps(&self) -> u32 {
        self.to.minor.saturating_sub(self.from.minor).max(1)
    }

    /// How many of them are done.
    fn done(&self) -> u32 {
        let done = self.at.minor.saturating_sub(self.from.minor);
        done.min(self.steps())
    }

    /// How much of it is done in per cent, with so many of the step under way.
    #[must_use]
    pub fn percent(&self, step: i32) -> i32 {
        let whole = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let hundredths = whole(self.done()).saturating_mul(100).saturating_add(step);
        (hundredths / whole(self.steps())).clamp(0, 100)
    }

    /// What is remembered of it with the operation.
    fn words(&self) -> String {
        format!("from {} to {}", self.from, self.to)
    }

    /// Where an operation began to walk, if it does.
    #[must_use]
    pub fn beginning(record: &OperationRecord) -> Option<Minor> {
        let rest = record.message.as_deref()?.strip_prefix("from ")?;
        Version::from(rest.split_once(" to ")?.0).minor()
    }

    /// How many steps an operation that is over had, if it walked.
    #[must_use]
    pub fn steps_of(record: &OperationRecord) -> Option<u32> {
        let from = Self::beginning(record)?;
        let (_, to) = record.message.as_deref()?.split_once(" to ")?;
        let to = Version::from(to).minor()?;
        Some(Self { from, at: to, to }.steps())
    }
}

/// What is known about the operation now.
#[derive(Clone, Debug, PartialEq)]
pub struct Now<'a> {
    /// What is being done, if anything is.
    pub operation: Option<&'a str>,
    /// How much of it is done, in per cent.
    pub percent: i32,
    /// How long the rest takes, if the runner knows; of an upgrade, the rest of the step under way.
    pub live_remaining: Option<Duration>,
    /// The upgrade that it is, if it is one.
    pub walk: Option<Walk>,
    /// The version that runs, if that is certain.
    pub reached: Option<Minor>,
    /// How the operation before this one ended, if it has to end now.
    pub outcome: OperationResult,
    /// That operation was none, and is forgotten.
    pub is_void: bool,
    /// More about how it ended.
    pub message: Option<&'a str>,
    /// It is begun anew, although it is the same.
    pub restarts: bool,
    /// One of its steps is done, or somebody who was waited for has decided, and the next begins.
    pub steps_on: bool,
    /// There is something that serves, whatever becomes of a change of it.
    pub serves: bool,
    /// The runner tells how far it is, and not how long the rest takes.
    pub is_untold: bool,
    /// It takes longer than it may, or waits for somebody, so that nobody can say how long it takes still.
    pub is_open: bool,
}

/// The record of the running operation.
#[must_use]
pub fn running(history: &[OperationRecord]) -> Option<&OperationRecord> {
    history.iter().rev().find(|record| is_open(record))
}

/// Whether it is the record of an operation that is not over.
fn is_open(record: &OperationRecord) -> bool {
    record.end_time.is_none() && record.operation != PAUSED
}

fn running_mut(history: &mut [OperationRecord]) -> Option<&mut OperationRecord> {
    history.iter_mut().rfind(|record| is_open(record))
}

/// Lets the next step of the running operation begin.
pub(super) fn step_on(history: &mut [OperationRecord], now: Timestamp) {
    if let Some(running) = running_mut(history) {
        running.step_start_time = Some(Time(now));
    }
}

/// When the step began that an operation is at.
#[must_use]
pub fn step_began(record: &OperationRecord) -> Timestamp {
    let step = record.step_start_time.as_ref();
    step.unwrap_or(&record.start_time).0
}

/// When an operation, or the step that it is at, last began, whether it still runs or not.
#[must_use]
pub fn last_began(history: &[OperationRecord], operation: &str) -> Option<Timestamp> {
    history
        .iter()
        .rev()
        .find(|record| record.operation == operation)
        .map(step_began)
}

/// The operation that ended between two reports, for those who count and learn from them.
#[must_use]
pub fn just_ended<'a>(before: Option<&ProgressInfo>, after: &'a ProgressInfo) -> Option<&'a OperationRecord> {
    let began = running(before?.history.as_deref().unwrap_or_default())?;
    let history = after.history.as_deref().unwrap_or_default();
    history.iter().find(|record| {
        record.operation == began.operation
            && record.start_time == began.start_time
            && record.end_time.is_some()
    })
}

/// The progress from now on.
#[must_use]
pub fn advance(
    old: Option<&ProgressInfo>,
    now: &Now<'_>,
    statistics: &Statistics,
    at: Timestamp,
) -> ProgressInfo {
    let old = old.cloned().unwrap_or_default();
    let mut history = old.history.clone().unwrap_or_default();
    let before = running(&history).map(|record| record.operation.clone());
    let is_same = before.as_deref() == now.operation && !now.restarts;
    if !is_same {
        if now.is_void {
            history.retain(|record| !is_open(record));
        }
        end(&mut history, now, at);
        if let Some(operation) = now.operation {
            push(
                &mut history,
                OperationRecord {
                    operation: operation.to_owned(),
                    start_time: Time(at),
                    step_start_time: None,
                    end_time: None,
                    result: None,
                    message: now.walk.as_ref().map(Walk::words),
                },
            );
        }
    } else {
        // Somebody may want another version meanwhile.
        if let (Some(walk), Some(running)) = (&now.walk, running_mut(&mut history)) {
            running.message = Some(walk.words());
        }
        if now.steps_on {
            step_on(&mut history, at);
        }
    }
    if is_made_unseen(&history, now) {
        let record = OperationRecord {
            operation: CREATE.to_owned(),
            start_time: Time(at),
            step_start_time: None,
            end_time: Some(Time(at)),
            result: Some(OperationResult::Succeeded),
            message: Some(MADE_UNSEEN.to_owned()),
        };
        push(&mut history, record);
    }
    let percent = match now.operation {
        Some(_) if is_same => Some(
            now.percent
                .clamp(0, 99)
                .max(old.percent_complete.unwrap_or_default()),
        ),
        Some(_) => Some(now.percent.clamp(0, 99)),
        // Also where nobody saw it come about: it was taken over, or its status was lost.
        None if now.outcome != OperationResult::Failed => Some(100),
        // How far a change got that is over says nothing about what is there.
        None if now.serves => None,
        None => old.percent_complete.or_else(|| before.as_ref().map(|_| 0)),
    };
    let estimated_time_remaining = match now.operation {
        None => None,
        Some(_) if now.is_open => None,
        Some(operation) => {
            let left = remaining(&history, operation, now, statistics, at);
            let new = left.filter(|left| !left.is_zero()).map(rounded);
            // Time alone makes an estimate no other one, until it has run out. That nobody knows more is no end of it, unless
            // whoever runs it takes back what he said.
            if is_same && percent == old.percent_complete {
                let has_run_out = left.map_or(now.is_untold, |left| left.is_zero());
                old.estimated_time_remaining.filter(|_| !has_run_out).or(new)
            } else {
                new
            }
        }
    };
    ProgressInfo {
        current_operation: now.operation.map(str::to_owned),
        percent_complete: percent,
        estimated_time_remaining,
        history: (!history.is_empty()).then_some(history),
    }
}

/// Whether something serves of which all that is known is that it could not be made: it was made after that, while nobody
/// looked.
fn is_made_unseen(history: &[OperationRecord], now: &Now<'_>) -> bool {
    let last = history.iter().rfind(|record| record.operation != PAUSED);
    let is_known_as_failed = last
        .is_some_and(|record| record.operation == CREATE && record.result == Some(OperationResult::Failed));
    is_known_as_failed && now.operation.is_none() && now.serves && now.outcome == OperationResult::Succeeded
}

/// How long the rest takes, if that is known: what the runner says, or what is left of the usual time.
fn remaining(
    history: &[OperationRecord],
    operation: &str,
    now: &Now<'_>,
    statistics: &Statistics,
    at: Timestamp,
) -> Option<Duration> {
    let began = || running(history).map(|record| record.start_time.0);
    let by_statistics = || {
        let usual = statistics.of(operation, now.walk.as_ref())?;
        let since = match now.walk {
            Some(_) => began()?,
            None => step_began(running(history)?),
        };
        Some(usual.saturating_sub(timeouts::elapsed(since, history, at)))
    };
    // What the runner knows ends with the step, and the others take as long as those before, or as usual.
    let live = || {
        let step = now.live_remaining?;
        let Some(walk) = now.walk else { return Some(step) };
        let others = walk.steps().saturating_sub(walk.done()).saturating_sub(1);
        if others == 0 {
            return Some(step);
        }
        let measured = || {
            let whole = timeouts::elapsed(began()?, history, at);
            whole.checked_div(walk.done())
        };
        let each = statistics.upgrade.or_else(measured)?;
        Some(step.saturating_add(each.saturating_mul(others)))
    };
    live().or_else(by_statistics)
}

/// In steps of ten seconds, because nobody knows better.
fn rounded(left: Duration) -> duration::Duration {
    let steps = left.as_secs().div_ceil(10) * 10;
    Duration::from_secs(steps).into()
}

fn end(history: &mut [OperationRecord], now: &Now<'_>, at: Timestamp) {
    for record in history.iter_mut().filter(|record| is_open(record)) {
        record.step_start_time = None;
        record.end_time = Some(Time(at));
        record.result = Some(now.outcome);
        // What was gone through is worth knowing where nothing went wrong, also where that is less than was wanted once.
        if now.outcome != OperationResult::Succeeded {
            record.message = now
                .message
                .map(|message| message.chars().take(MAX_MESSAGE).collect());
        } else if let (Some(from), Some(to)) = (Walk::beginning(record), now.reached)
            && from < to
        {
            record.message = Some(Walk { from, at: to, to }.words());
        }
    }
}

/// Adds an operation, and drops the oldest that is over if there are too many. Pauses are no operations.
fn push(history: &mut Vec<OperationRecord>, record: OperationRecord) {
    history.push(record);
    // There may be more of them from a time when they were operations like others.
    pauses::bound(history);
    let is_operation = |record: &OperationRecord| record.operation != PAUSED;
    while history.iter().filter(|record| is_operation(record)).count() > MAX_OPERATIONS {
        let is_over = |record: &OperationRecord| is_operation(record) && record.end_time.is_some();
        let oldest = history
            .iter()
            .position(is_over)
            .or_else(|| history.iter().position(is_operation));
        history.remove(oldest.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests;
