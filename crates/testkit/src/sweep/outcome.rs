//! What a run came to, and whether another one came to the same.

use std::collections::{BTreeMap, BTreeSet};

use crate::call::Verb;
use crate::recorder::Entry;
use crate::snapshot::Snapshot;

const MISSED: &str = "the fault never happened: this run made fewer writes than the undisturbed one";

/// What a run came to.
pub(super) struct Outcome {
    /// What there is in the end, masked.
    pub(super) end: Snapshot,
    /// How it came to be.
    pub(super) writes: Vec<Entry>,
    /// The fault of this run found a write to act on.
    pub(super) acted: bool,
    /// It did not, and should have.
    pub(super) missed: bool,
}

impl Outcome {
    /// The complaint about a fault that never happened, if that is so.
    pub(super) fn misses(&self) -> Vec<String> {
        self.missed.then(|| MISSED.to_owned()).into_iter().collect()
    }

    /// What is wrong with `other` if this is right.
    pub(super) fn compare(&self, other: &Self) -> Vec<String> {
        let mut wrong = self.end.differences(&other.end);
        wrong.extend(other.misses());
        let expected = counts(&self.writes, Entry::created);
        let found = counts(&other.writes, Entry::created);
        let objects: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
        for object in objects {
            let times = |counts: &BTreeMap<String, usize>| counts.get(object).copied().unwrap_or_default();
            let (expected, found) = (times(&expected), times(&found));
            if found != expected {
                wrong.push(format!("{object} was created {found} times, not {expected}"));
            }
        }
        let deleted = |entry: &Entry| entry.took_effect() && entry.call.verb == Verb::Delete;
        let expected = counts(&self.writes, deleted);
        for object in counts(&other.writes, deleted).into_keys() {
            if !expected.contains_key(&object) {
                wrong.push(format!("{object} was deleted, which must not happen"));
            }
        }
        wrong
    }
}

/// Events say how a run went, not what it came to.
pub(super) fn is_told(entry: &Entry) -> bool {
    entry.call.resource == "events"
}

fn counts(writes: &[Entry], keep: impl Fn(&Entry) -> bool) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in writes.iter().filter(|entry| keep(entry) && !is_told(entry)) {
        let call = &entry.call;
        *counts
            .entry(format!("{} {}/{}", call.resource, call.namespace, call.name))
            .or_default() += 1;
    }
    counts
}
