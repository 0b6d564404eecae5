//! Folds events into progress.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Durations, InFlight, Operation, Progress, remaining, words};
use crate::{
    plan::Plan,
    stream::{Action, Event, Hook, Kind, Step},
};

/// Operations in flight that are listed; Terraform runs ten at once unless it is told otherwise.
const MAX_IN_FLIGHT: usize = 50;

/// Of an operation that goes on, never more than this much counts as done.
const ALMOST: f64 = 0.9;

/// An operation that takes this many times as long as expected shows that the expectation was wrong.
const FAR_TOO_LONG: f64 = 2.0;

/// Follows one operation.
#[derive(Clone, Debug)]
pub struct Tracker {
    operation: Operation,
    durations: Durations,
    /// By address, action, and a number that tells several operations of the same kind on one address apart.
    pub(super) items: BTreeMap<(String, Action, u32), Item>,
    pub(super) dependencies: BTreeMap<String, Vec<String>>,
    expected_reads: u32,
    percent: u8,
    succeeded: bool,
    learned: Vec<(String, Action, f64)>,
}

/// One operation on one resource.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub weight: f64,
    pub known: bool,
    trusted: bool,
    pub status: Status,
    resource_type: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Status {
    Pending,
    Running(Timestamp),
    Done,
    Failed,
}

impl Tracker {
    /// Begins to follow an operation. `resources` is how many there are in the state, which is what a plan reads.
    #[must_use]
    pub fn new(operation: Operation, resources: usize, durations: Durations) -> Self {
        Self {
            operation,
            durations,
            items: BTreeMap::new(),
            dependencies: BTreeMap::new(),
            expected_reads: u32::try_from(resources).unwrap_or(u32::MAX),
            percent: 0,
            succeeded: false,
            learned: Vec::new(),
        }
    }

    /// Tells what depends on what, by addresses without keys. Makes the remaining time honest where things are made one
    /// after the other.
    #[must_use]
    pub fn with_dependencies(mut self, dependencies: BTreeMap<String, Vec<String>>) -> Self {
        self.dependencies = dependencies;
        self
    }

    /// Tells what is going to be done, so that nothing counts as most of it before it is.
    pub fn expect(&mut self, plan: &Plan) {
        let mut numbers: BTreeMap<(&str, &Action), u32> = BTreeMap::new();
        for change in &plan.changes {
            for action in parts(&change.action) {
                // A leftover and its successor are deleted under the same address.
                let number = numbers.entry((&change.address, action)).or_default();
                self.expect_one(&change.address, &change.resource_type, action, *number);
                *number += 1;
            }
        }
    }

    /// Takes note of an event. `now` stands in for a time that the event does not have.
    pub fn observe(&mut self, event: &Event, now: Timestamp) {
        let at = event.at.unwrap_or(now);
        match (&event.kind, self.reads_only()) {
            (Kind::PlannedChange(change), false) => {
                for action in parts(&change.action) {
                    let resource = &change.resource;
                    self.expect_one(&resource.addr, &resource.resource_type, action, 0);
                }
            }
            (Kind::Apply(step, hook), _) => self.step(*step, hook, &hook.action, at),
            (Kind::Refresh(step, hook), true) => self.step(*step, hook, &Action::Read, at),
            _ => {}
        }
    }

    /// The operation ended well.
    pub fn succeed(&mut self) {
        self.succeeded = true;
    }

    /// How far it is now. Takes `&mut` because per cent never fall.
    pub fn progress(&mut self, now: Timestamp) -> Progress {
        let count = |wanted: fn(&Status) -> bool| {
            u32::try_from(self.items.values().filter(|item| wanted(&item.status)).count()).unwrap_or(u32::MAX)
        };
        let failed = count(|status| *status == Status::Failed);
        let done = count(|status| *status == Status::Done).saturating_add(failed);
        let mut total = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        if self.reads_only() {
            total = total.max(self.expected_reads);
        }
        self.percent = if self.succeeded {
            100
        } else {
            self.percent.max(self.share(total, now))
        };
        let in_flight = self.in_flight();
        let remaining_seconds = (!self.succeeded).then(|| remaining::seconds(self, now)).flatten();
        let mut progress = Progress {
            operation: self.operation,
            done,
            total,
            failed,
            in_flight,
            percent: self.percent,
            remaining_seconds,
            message: String::new(),
        };
        progress.message = words::message(&progress, now);
        progress.in_flight.truncate(MAX_IN_FLIGHT);
        progress
    }

    /// Hands what was learned about durations to the memory of all runs.
    pub fn teach(&self, durations: &mut Durations) {
        for (resource_type, action, seconds) in &self.learned {
            durations.learn(resource_type, action, *seconds);
        }
    }

    fn reads_only(&self) -> bool {
        matches!(self.operation, Operation::Plan | Operation::Refresh)
    }

    fn expect_one(&mut self, address: &str, resource_type: &str, action: &Action, number: u32) {
        let key = (address.to_owned(), action.clone(), number);
        self.items
            .entry(key)
            .or_insert_with(|| item(&self.durations, resource_type, action));
    }

    fn step(&mut self, step: Step, hook: &Hook, action: &Action, at: Timestamp) {
        let resource = &hook.resource;
        let open = |item: &Item| matches!(item.status, Status::Pending | Status::Running(_));
        // A leftover and its successor are deleted under the same address.
        let key = (0..)
            .map(|number| (resource.addr.clone(), action.clone(), number))
            .find(|key| self.items.get(key).is_none_or(open));
        let Some(key) = key else { return };
        if step != Step::Started && !self.items.contains_key(&key) && key.2 > 0 {
            // The end of something that has ended already.
            return;
        }
        let durations = &self.durations;
        let item = self
            .items
            .entry(key)
            .or_insert_with(|| item(durations, &resource.resource_type, action));
        match (step, item.status) {
            (Step::Started, _) | (Step::Progress, Status::Pending) => item.status = Status::Running(at),
            (Step::Progress, _) => {}
            (Step::Complete, status) => {
                if let Status::Running(since) = status {
                    let seconds = at.duration_since(since).as_secs_f64();
                    self.learned
                        .push((item.resource_type.clone(), action.clone(), seconds));
                }
                item.status = Status::Done;
            }
            (Step::Errored, _) => item.status = Status::Failed,
        }
    }

    fn in_flight(&self) -> Vec<InFlight> {
        let mut running: Vec<InFlight> = self
            .items
            .iter()
            .filter_map(|((address, action, _), item)| match item.status {
                Status::Running(since) => Some(InFlight {
                    address: address.clone(),
                    action: action.clone(),
                    since,
                }),
                _ => None,
            })
            .collect();
        running.sort_by_key(|one| one.since);
        running
    }

    /// The share of the work that is done, at most 99.
    ///
    /// It is measured by number and by expected time, and the smaller share counts: many quick operations say little
    /// while a slow one goes on, and a slow one that is done says little about those that nothing is known about.
    fn share(&self, total: u32, now: Timestamp) -> u8 {
        // How much there is to read is known only from what was there before.
        if total == 0 || (self.reads_only() && self.expected_reads == 0) {
            return 0;
        }
        let unseen = (f64::from(total) - self.items.len() as f64).max(0.0);
        let (mut done, mut done_time, mut time) = (0.0, 0.0, unseen);
        for item in self.items.values() {
            let part = item.part_done(now);
            done += part;
            done_time += part * item.weight;
            time += item.weight;
        }
        let share = (done / f64::from(total)).min(done_time / time);
        // What is a whole number must not become less by the way it is represented.
        (share * 100.0 + 1e-6).clamp(0.0, 99.0) as u8
    }
}

/// What an apply does for a planned action.
fn parts(action: &Action) -> &[Action] {
    match action {
        Action::Replace => &[Action::Delete, Action::Create],
        action if action.operations() == 1 => std::slice::from_ref(action),
        _ => &[],
    }
}

impl Item {
    fn part_done(&self, now: Timestamp) -> f64 {
        match self.status {
            Status::Running(_) if self.is_far_too_long(now) => 0.0,
            Status::Running(since) if self.trusted => (self.elapsed(since, now) / self.weight).min(ALMOST),
            Status::Pending | Status::Running(_) | Status::Failed => 0.0,
            Status::Done => 1.0,
        }
    }

    /// Seconds that it is expected to take from now on. What is late is expected to stay late by its own measure.
    pub(super) fn seconds_left(&self, now: Timestamp) -> f64 {
        match self.status {
            Status::Pending => self.weight,
            Status::Running(since) => {
                let elapsed = self.elapsed(since, now);
                (self.weight - elapsed).max(elapsed * 0.2)
            }
            Status::Done | Status::Failed => 0.0,
        }
    }

    /// Whether it shows that what was expected of it was wrong.
    fn is_far_too_long(&self, now: Timestamp) -> bool {
        match self.status {
            Status::Running(since) => self.elapsed(since, now) >= self.weight * FAR_TOO_LONG,
            Status::Pending | Status::Done | Status::Failed => false,
        }
    }

    /// Whether it takes longer than usual.
    pub(super) fn is_late(&self, now: Timestamp) -> bool {
        match self.status {
            Status::Running(since) => self.elapsed(since, now) >= self.weight,
            Status::Pending | Status::Done | Status::Failed => false,
        }
    }

    fn elapsed(&self, since: Timestamp, now: Timestamp) -> f64 {
        now.duration_since(since).as_secs_f64().max(0.0)
    }
}

fn item(durations: &Durations, resource_type: &str, action: &Action) -> Item {
    Item {
        weight: durations.expected(resource_type, action),
        known: durations.knows(resource_type, action),
        trusted: durations.trusts(resource_type, action),
        status: Status::Pending,
        resource_type: resource_type.to_owned(),
    }
}
