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

use super::{key::ObjectKey, queue::Queue, settling::Unsettled};

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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Subject {
    controller: Controller,
    key: ObjectKey,
}

/// Who is interested in what.
pub(crate) struct Wakes {
    interests: Mutex<Interests>,
    queues: Vec<Arc<Queue>>,
}

/// There are very many of them, so that facts and subjects are remembered by a short number each.
#[derive(Default)]
struct Interests {
    /// Who reads which fact.
    readers: BTreeSet<(Number, Id)>,
    ids: HashMap<Subject, Id>,
    /// What is known of everybody, by their number. Nothing of those whose number is free.
    subjects: Vec<Option<Reading>>,
    /// Numbers that are free.
    free: Vec<Id>,
    unsettled: Unsettled,
}

/// Stands for a subject as long as it reads, or there is something that it read.
type Id = u32;

/// What is known of a subject.
struct Reading {
    subject: Subject,
    /// What it read the last time, in order.
    facts: Arc<[Number]>,
    /// How many times it is reading now.
    now: u32,
}

/// Stands for a fact. Two with the same number would wake somebody for nothing, which does no harm and is rare.
pub(crate) type Number = u32;

impl Fact<'_> {
    /// The number that stands for it.
    pub(crate) fn number(&self) -> Number {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        let [a, b, c, d, ..] = hasher.finish().to_ne_bytes();
        Number::from_ne_bytes([a, b, c, d])
    }
}

impl Interests {
    /// Who reads a fact.
    fn readers(&self, fact: Number) -> impl Iterator<Item = Id> {
        self.readers.range((fact, 0)..=(fact, Id::MAX)).map(|(_, id)| *id)
    }

    fn reading(&self, id: Id) -> Option<&Reading> {
        self.subjects.get(id as usize)?.as_ref()
    }

    /// Begins a reading. Tells what was read the last time.
    fn begin(&mut self, subject: Subject) -> (Id, Arc<[Number]>) {
        let known = self.ids.get(&subject).copied();
        let id = known.unwrap_or_else(|| self.add(subject));
        let reading = self.subjects.get_mut(id as usize).and_then(Option::as_mut);
        let facts = reading.map(|reading| {
            reading.now += 1;
            reading.facts.clone()
        });
        (id, facts.unwrap_or_default())
    }

    fn add(&mut self, subject: Subject) -> Id {
        let id = self.free.pop().unwrap_or_else(|| {
            self.subjects.push(None);
            Id::try_from(self.subjects.len() - 1).unwrap_or(Id::MAX)
        });
        self.ids.insert(subject.clone(), id);
        if let Some(place) = self.subjects.get_mut(id as usize) {
            *place = Some(Reading {
                subject,
                facts: Arc::default(),
                now: 0,
            });
        }
        id
    }

    /// Takes up what was read. What was read before and not this time is of no interest any more, if this time was complete.
    fn finish(&mut self, id: Id, noted: &BTreeSet<Number>, is_complete: bool) {
        let Some(reading) = self.subjects.get_mut(id as usize).and_then(Option::as_mut) else {
            return;
        };
        if is_complete && reading.facts.iter().eq(noted) {
            return;
        }
        let gone = reading.facts.iter().filter(|fact| !noted.contains(*fact));
        let mut all: Vec<Number> = noted.iter().copied().collect();
        if is_complete {
            for fact in gone {
                self.readers.remove(&(*fact, id));
            }
        } else {
            all.extend(gone);
            all.sort_unstable();
        }
        reading.facts = all.into();
        self.unsettled.note();
    }

    /// Gives back the room that was needed only while there was much to do. All that is old is given back before the new is
    /// made.
    fn rest(&mut self) {
        if !self.unsettled.is_worth_it(self.ids.len()) {
            return;
        }
        let readers: Vec<(Number, Id)> = std::mem::take(&mut self.readers).into_iter().collect();
        self.readers = readers.into_iter().collect();
        let mut facts = Vec::with_capacity(self.readers.len());
        let mut ends = Vec::with_capacity(self.ids.len());
        for reading in self.subjects.iter_mut().flatten() {
            facts.extend_from_slice(&std::mem::take(&mut reading.facts));
            ends.push(facts.len());
        }
        let mut from = 0;
        for (reading, to) in self.subjects.iter_mut().flatten().zip(ends) {
            reading.facts = facts.get(from..to).unwrap_or_default().into();
            from = to;
        }
        let readings = self.subjects.iter().flatten();
        let copies: Vec<ObjectKey> = readings.map(|reading| reading.subject.key.copied()).collect();
        for (reading, copy) in self.subjects.iter_mut().flatten().zip(copies) {
            reading.subject.key = copy;
        }
        self.ids = (0..)
            .zip(&self.subjects)
            .filter_map(|(id, reading)| Some((reading.as_ref()?.subject.clone(), id)))
            .collect();
    }

    /// Ends a reading. A subject that reads nothing and read nothing is forgotten.
    fn end(&mut self, id: Id) {
        let Some(place) = self.subjects.get_mut(id as usize) else {
            return;
        };
        let Some(reading) = place else { return };
        reading.now = reading.now.saturating_sub(1);
        if reading.now == 0 && reading.facts.is_empty() {
            self.ids.remove(&reading.subject);
            *place = None;
            self.free.push(id);
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
        let subjects: Vec<Subject> = {
            let interests = self.interests.lock();
            let ids: BTreeSet<Id> = facts.iter().flat_map(|fact| interests.readers(*fact)).collect();
            let readings = ids.into_iter().filter_map(|id| interests.reading(id));
            readings.map(|reading| reading.subject.clone()).collect()
        };
        for subject in subjects {
            if !is_woken(subject.controller, &subject.key) {
                self.wake(subject.controller, &subject.key);
            }
        }
    }

    /// Gives back, now and then, the room that was needed only while there was much to do.
    pub(crate) fn rest(&self) {
        self.interests.lock().rest();
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
        let (id, before) = self.interests.lock().begin(subject);
        Reader {
            wakes: self.clone(),
            id,
            before,
            noted: Mutex::default(),
        }
    }
}

/// Reads facts on behalf of an object, and notes which.
pub(crate) struct Reader {
    wakes: Arc<Wakes>,
    id: Id,
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
            interests.readers.insert((fact, self.id));
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
        interests.finish(self.id, &noted, is_complete);
    }
}

/// A reading that was cut short adds to what was read before.
impl Drop for Reader {
    fn drop(&mut self) {
        if !self.noted.get_mut().is_empty() {
            self.end(false);
        }
        self.wakes.interests.lock().end(self.id);
    }
}
