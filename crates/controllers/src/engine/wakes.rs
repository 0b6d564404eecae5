//! Who has to look again when a fact changes: whoever read it the last time.
//!
//! Interests are noted before a fact is read, and facts change before interests are looked up. So a change is either
//! seen by the reader or wakes it, whatever the two do at the same time.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use parking_lot::Mutex;

use super::{key::ObjectKey, queue::Queue};

/// A controller, by its place in the list of queues.
pub(crate) type Controller = usize;

/// Something that can change.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Fact<'a> {
    /// The table that it is in.
    pub(crate) table: &'static str,
    /// Where in the table.
    pub(crate) place: Place<'a>,
}

/// A place in a table.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) enum Place<'a> {
    /// One object, whether it is there or not.
    Object(&'a ObjectKey),
    /// All objects that have a value in an index.
    Index(&'static str, &'a str),
    /// Which objects these are, whatever else changes about them.
    Members(&'static str, &'a str),
    /// The values of one object in an index.
    Values(&'static str, &'a ObjectKey),
    /// Whether there are such objects at all.
    Served,
}

/// Who reads: a controller, on behalf of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Subject {
    controller: Controller,
    key: ObjectKey,
}

/// Who is interested in what.
pub(crate) struct Wakes {
    interests: Mutex<Interests>,
    queues: Vec<Arc<Queue>>,
}

/// There are very many of them, so that facts are remembered by a number each. Two with the same number would wake
/// somebody for nothing, which does no harm.
struct Interests {
    /// Who reads which fact.
    readers: BTreeSet<(Number, Arc<Subject>)>,
    /// What everybody read the last time, in order.
    facts: HashMap<Arc<Subject>, Arc<[Number]>>,
    /// Comes before all others.
    first: Arc<Subject>,
}

/// Stands for a fact.
pub(crate) type Number = u64;

impl Fact<'_> {
    /// The number that stands for it.
    pub(crate) fn number(&self) -> Number {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

impl Default for Interests {
    fn default() -> Self {
        let first = Subject {
            controller: 0,
            key: ObjectKey::cluster_scoped(""),
        };
        Self {
            readers: BTreeSet::new(),
            facts: HashMap::new(),
            first: Arc::new(first),
        }
    }
}

impl Interests {
    /// Who reads a fact.
    fn readers(&self, fact: Number) -> impl Iterator<Item = &Arc<Subject>> {
        let all = self.readers.range((fact, self.first.clone())..);
        all.take_while(move |(other, _)| *other == fact)
            .map(|(_, subject)| subject)
    }

    /// Ends a reading. What was read before and not this time is of no interest any more, if this time was complete.
    fn finish(&mut self, subject: &Arc<Subject>, noted: &BTreeSet<Number>, is_complete: bool) {
        let before = self.facts.get(subject).cloned().unwrap_or_default();
        if is_complete && before.iter().eq(noted) {
            return;
        }
        let gone = before.iter().filter(|fact| !noted.contains(*fact));
        let mut all: Vec<Number> = noted.iter().copied().collect();
        if is_complete {
            for fact in gone {
                self.readers.remove(&(*fact, subject.clone()));
            }
        } else {
            all.extend(gone);
            all.sort_unstable();
        }
        if all.is_empty() {
            self.facts.remove(subject);
        } else {
            self.facts.insert(subject.clone(), all.into());
        }
    }
}

impl Wakes {
    /// Wakes by these queues.
    pub(crate) fn new(queues: Vec<Arc<Queue>>) -> Arc<Self> {
        Arc::new(Self {
            interests: Mutex::default(),
            queues,
        })
    }

    /// Wakes one object.
    pub(crate) fn wake(&self, controller: Controller, key: &ObjectKey) {
        if let Some(queue) = self.queues.get(controller) {
            queue.wake(key);
        }
    }

    /// Wakes an object that got this version.
    pub(crate) fn wake_changed(&self, controller: Controller, key: &ObjectKey, version: u64) {
        if let Some(queue) = self.queues.get(controller) {
            queue.wake_changed(key, version);
        }
    }

    /// Wakes everybody who read these facts, but those who are woken anyway.
    pub(crate) fn changed(&self, facts: &HashSet<Number>, is_woken: impl Fn(Controller, &ObjectKey) -> bool) {
        let mut subjects = BTreeSet::new();
        {
            let interests = self.interests.lock();
            for fact in facts {
                subjects.extend(interests.readers(*fact).cloned());
            }
        }
        for subject in subjects {
            if !is_woken(subject.controller, &subject.key) {
                self.wake(subject.controller, &subject.key);
            }
        }
    }

    /// Whether anybody read a fact the last time.
    pub(crate) fn is_read(&self, fact: Number) -> bool {
        self.interests.lock().readers(fact).next().is_some()
    }

    /// Begins to read on behalf of an object.
    pub(crate) fn reader(self: &Arc<Self>, controller: Controller, key: &ObjectKey) -> Reader {
        let subject = Subject {
            controller,
            key: key.clone(),
        };
        let known = self
            .interests
            .lock()
            .facts
            .get_key_value(&subject)
            .map(|(known, facts)| (known.clone(), facts.clone()));
        let (subject, before) = known.unwrap_or_else(|| (Arc::new(subject), Arc::default()));
        Reader {
            wakes: self.clone(),
            subject,
            before,
            noted: Mutex::default(),
        }
    }
}

/// Reads facts on behalf of an object, and notes which.
pub(crate) struct Reader {
    wakes: Arc<Wakes>,
    subject: Arc<Subject>,
    /// What was read the last time: that is of interest until this time ends.
    before: Arc<[Number]>,
    noted: Mutex<BTreeSet<Number>>,
}

impl Reader {
    /// Notes that a fact is about to be read.
    pub(crate) fn note(&self, fact: Number) {
        let is_new = self.noted.lock().insert(fact) && self.before.binary_search(&fact).is_err();
        if is_new {
            let mut interests = self.wakes.interests.lock();
            interests.readers.insert((fact, self.subject.clone()));
        }
    }

    /// Ends a reading that was complete: what was read before and was not read this time is of no interest any more.
    pub(crate) fn finish(self) {
        self.end(true);
    }

    /// Ends the reading about an object that is gone.
    pub(crate) fn forget(self) {
        // Both what was read now and what was read before.
        self.end(false);
        self.end(true);
    }

    fn end(&self, is_complete: bool) {
        let noted = std::mem::take(&mut *self.noted.lock());
        let mut interests = self.wakes.interests.lock();
        interests.finish(&self.subject, &noted, is_complete);
    }
}

/// A reading that was cut short adds to what was read before.
impl Drop for Reader {
    fn drop(&mut self) {
        if !self.noted.get_mut().is_empty() {
            self.end(false);
        }
    }
}
