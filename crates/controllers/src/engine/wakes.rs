//! Who has to look again when a fact changes: whoever read it the last time.
//!
//! Interests are noted before a fact is read, and facts change before interests are looked up. So a change is either
//! seen by the reader or wakes it, whatever the two do at the same time.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use parking_lot::Mutex;

use super::{key::ObjectKey, queue::Queue};

/// A controller, by its place in the list of queues.
pub(crate) type Controller = usize;

/// Something that can change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fact {
    /// The table that it is in.
    pub(crate) table: &'static str,
    /// Where in the table.
    pub(crate) place: Place,
}

/// A place in a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// One object, whether it is there or not.
    Object(ObjectKey),
    /// All objects that have a value in an index.
    Index(&'static str, String),
    /// Which objects these are, whatever else changes about them.
    Members(&'static str, String),
    /// The values of one object in an index.
    Values(&'static str, ObjectKey),
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

#[derive(Default)]
struct Interests {
    subjects: HashMap<Fact, BTreeSet<Subject>>,
    facts: HashMap<Subject, HashSet<Fact>>,
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

    /// Wakes everybody who read these facts.
    pub(crate) fn changed(&self, facts: &HashSet<Fact>) {
        let subjects: BTreeSet<Subject> = {
            let interests = self.interests.lock();
            let of = |fact| interests.subjects.get(fact).into_iter().flatten().cloned();
            facts.iter().flat_map(of).collect()
        };
        for subject in subjects {
            self.wake(subject.controller, &subject.key);
        }
    }

    /// Whether anybody read a fact the last time.
    pub(crate) fn is_read(&self, fact: &Fact) -> bool {
        self.interests.lock().subjects.contains_key(fact)
    }

    /// Begins to read on behalf of an object.
    pub(crate) fn reader(self: &Arc<Self>, controller: Controller, key: &ObjectKey) -> Reader {
        Reader {
            wakes: self.clone(),
            subject: Subject {
                controller,
                key: key.clone(),
            },
            noted: Mutex::default(),
        }
    }
}

/// Reads facts on behalf of an object, and notes which.
pub(crate) struct Reader {
    wakes: Arc<Wakes>,
    subject: Subject,
    noted: Mutex<HashSet<Fact>>,
}

impl Reader {
    /// Notes that a fact is about to be read.
    pub(crate) fn note(&self, fact: Fact) {
        if self.noted.lock().insert(fact.clone()) {
            let mut interests = self.wakes.interests.lock();
            interests
                .facts
                .entry(self.subject.clone())
                .or_default()
                .insert(fact.clone());
            interests
                .subjects
                .entry(fact)
                .or_default()
                .insert(self.subject.clone());
        }
    }

    /// Ends a reading that was complete: what was read before and was not read this time is of no interest any more.
    pub(crate) fn finish(self) {
        let noted = self.noted.into_inner();
        let mut interests = self.wakes.interests.lock();
        let before = if noted.is_empty() {
            interests.facts.remove(&self.subject)
        } else {
            interests.facts.insert(self.subject.clone(), noted.clone())
        };
        for fact in before.iter().flatten().filter(|fact| !noted.contains(fact)) {
            if let Some(subjects) = interests.subjects.get_mut(fact) {
                subjects.remove(&self.subject);
                if subjects.is_empty() {
                    interests.subjects.remove(fact);
                }
            }
        }
    }

    /// Ends the reading about an object that is gone.
    pub(crate) fn forget(self) {
        self.noted.lock().clear();
        self.finish();
    }
}
