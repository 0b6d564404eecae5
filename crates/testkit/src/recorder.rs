//! What was asked of the API, by whom, and what came of it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use apiary::clock::SharedClock;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;

use crate::call::{Call, Verb};

/// One call and what came of it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// When it was made, in the world's time.
    pub at: Timestamp,
    /// The call.
    pub call: Call,
    /// What the server answered, if the call got there.
    pub executed: Option<u16>,
    /// What the caller was told, if anything.
    pub told: Option<u16>,
    /// The `resourceVersion` of the object that the server answered with.
    pub resource_version: String,
}

impl Entry {
    /// Whether the server did it.
    #[must_use]
    pub fn took_effect(&self) -> bool {
        self.executed.is_some_and(|code| (200..300).contains(&code))
    }

    /// Whether it made a new object.
    #[must_use]
    pub fn created(&self) -> bool {
        self.executed == Some(201) && matches!(self.call.verb, Verb::Create | Verb::Apply)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = |code: Option<u16>| code.map_or_else(|| "-".to_owned(), |code| code.to_string());
        write!(
            f,
            "{} {}: executed {}, told {}",
            self.at,
            self.call,
            code(self.executed),
            code(self.told)
        )
    }
}

/// A point in the record, to ask what happened since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(usize);

/// The record of all calls that went through the fault layer. Cloning shares it.
#[derive(Clone)]
pub struct Recorder {
    clock: SharedClock,
    record: Arc<Mutex<Record>>,
}

#[derive(Default)]
struct Record {
    entries: Vec<Entry>,
    in_flight: usize,
    /// Revisions that leader election made: they are no progress.
    lease_revisions: BTreeSet<String>,
    /// Revisions that other writes made: a write that changed nothing makes none.
    revisions: BTreeSet<String>,
}

impl Recorder {
    pub(crate) fn new(clock: SharedClock) -> Self {
        Self {
            clock,
            record: Arc::default(),
        }
    }

    /// All calls, oldest first.
    #[must_use]
    pub fn calls(&self) -> Vec<Entry> {
        self.record.lock().entries.clone()
    }

    /// Calls that could change something, leader election apart, oldest first.
    #[must_use]
    pub fn writes(&self) -> Vec<Entry> {
        self.select(Mark(0), is_write)
    }

    /// Now, for [`Recorder::writes_since`] and [`Recorder::requests_since`].
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.record.lock().entries.len())
    }

    /// Writes since then.
    #[must_use]
    pub fn writes_since(&self, mark: Mark) -> Vec<Entry> {
        self.select(mark, is_write)
    }

    /// Everything asked since then that a cluster at rest should not cost: all but watches and leader election.
    #[must_use]
    pub fn requests_since(&self, mark: Mark) -> Vec<Entry> {
        self.select(mark, |entry| {
            entry.call.verb != Verb::Watch && !entry.call.is_lease()
        })
    }

    fn select(&self, mark: Mark, keep: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        self.record
            .lock()
            .entries
            .iter()
            .skip(mark.0)
            .filter(|entry| keep(entry))
            .cloned()
            .collect()
    }

    /// Calls that will still be answered.
    pub(crate) fn in_flight(&self) -> usize {
        self.record.lock().in_flight
    }

    pub(crate) fn lease_revisions(&self) -> usize {
        self.record.lock().lease_revisions.len()
    }

    pub(crate) fn revisions(&self) -> usize {
        self.record.lock().revisions.len()
    }

    /// Opens the entry of a call. It is closed by dropping what is returned.
    pub(crate) fn open(&self, call: &Call) -> Open {
        let mut record = self.record.lock();
        record.in_flight += 1;
        let index = record.entries.len();
        record.entries.push(Entry {
            at: self.clock.now(),
            call: call.clone(),
            executed: None,
            told: None,
            resource_version: String::new(),
        });
        Open {
            recorder: self.clone(),
            index,
            is_in_flight: true,
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("calls", &self.record.lock().entries.len())
            .finish_non_exhaustive()
    }
}

fn is_write(entry: &Entry) -> bool {
    entry.call.is_write() && !entry.call.is_lease()
}

/// The entry of a call that is under way.
pub(crate) struct Open {
    recorder: Recorder,
    index: usize,
    is_in_flight: bool,
}

impl Open {
    pub(crate) fn executed(&self, code: u16) {
        self.change(|entry| entry.executed = Some(code));
    }

    pub(crate) fn answered_with(&self, document: &Value) {
        let Some(version) = document["metadata"]["resourceVersion"].as_str() else {
            return;
        };
        self.change(|entry| version.clone_into(&mut entry.resource_version));
        let mut record = self.recorder.record.lock();
        let entry = &record.entries[self.index];
        if !entry.took_effect() || !entry.call.is_write() {
            return;
        }
        match entry.call.is_lease() {
            true => record.lease_revisions.insert(version.to_owned()),
            false => record.revisions.insert(version.to_owned()),
        };
    }

    pub(crate) fn told(&self, code: u16) {
        self.change(|entry| entry.told = Some(code));
    }

    /// Says that nobody will ever answer, so that nobody waits for it either.
    pub(crate) fn given_up(&mut self) {
        if std::mem::take(&mut self.is_in_flight) {
            self.recorder.record.lock().in_flight -= 1;
        }
    }

    fn change(&self, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.recorder.record.lock().entries.get_mut(self.index) {
            change(entry);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.given_up();
    }
}
