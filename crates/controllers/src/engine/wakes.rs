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
#[derive(Default)]
struct Interests {
    subjects: HashMap<Number, Readers>,
    facts: HashMap<Arc<Subject>, HashSet<Number>>,
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

/// Who reads a fact. Most facts have one reader, and there are so many that the others are kept aside.
enum Readers {
    One(Arc<Subject>),
    #[expect(
        clippy::box_collection,
        reason = "there are very many of the others, which must be small"
    )]
    Many(Box<BTreeSet<Arc<Subject>>>),
}

impl Readers {
    fn add(&mut self, subject: &Arc<Subject>) {
        match self {
            Self::One(only) if only == subject => {}
            Self::One(only) => *self = Self::Many(Box::new([only.clone(), subject.clone()].into())),
            Self::Many(all) => {
                all.insert(subject.clone());
            }
        }
    }

    /// Says whether nobody is left.
    fn remove(&mut self, subject: &Arc<Subject>) -> bool {
        match self {
            Self::One(only) => only == subject,
            Self::Many(all) => {
                all.remove(subject);
                all.is_empty()
            }
        }
    }

    fn collect(&self, into: &mut BTreeSet<Arc<Subject>>) {
        match self {
            Self::One(only) => {
                into.insert(only.clone());
            }
            Self::Many(all) => into.extend(all.iter().cloned()),
        }
    }
}

impl Interests {
    /// Remembers that somebody reads a fact.
    fn add(&mut self, subject: &Arc<Subject>, fact: Number) {
        match self.facts.get_mut(subject) {
            Some(facts) => {
                facts.insert(fact);
            }
            None => {
                self.facts.insert(subject.clone(), [fact].into());
            }
        }
        match self.subjects.get_mut(&fact) {
            Some(readers) => readers.add(subject),
            None => {
                self.subjects.insert(fact, Readers::One(subject.clone()));
            }
        }
    }

    /// Forgets what somebody read before and does not read any more.
    fn keep_only(&mut self, subject: &Arc<Subject>, mut noted: HashSet<Number>) {
        noted.shrink_to_fit();
        let before = self.facts.remove(subject).unwrap_or_default();
        for fact in before.difference(&noted) {
            if self
                .subjects
                .get_mut(fact)
                .is_some_and(|readers| readers.remove(subject))
            {
                self.subjects.remove(fact);
            }
        }
        if !noted.is_empty() {
            self.facts.insert(subject.clone(), noted);
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

    /// Wakes everybody who read these facts.
    pub(crate) fn changed(&self, facts: &HashSet<Number>) {
        let mut subjects = BTreeSet::new();
        {
            let interests = self.interests.lock();
            for readers in facts.iter().filter_map(|fact| interests.subjects.get(fact)) {
                readers.collect(&mut subjects);
            }
        }
        for subject in subjects {
            self.wake(subject.controller, &subject.key);
        }
    }

    /// Whether anybody read a fact the last time.
    pub(crate) fn is_read(&self, fact: Number) -> bool {
        self.interests.lock().subjects.contains_key(&fact)
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
            .map(|(known, _)| known.clone());
        Reader {
            wakes: self.clone(),
            subject: known.unwrap_or_else(|| Arc::new(subject)),
            noted: Mutex::default(),
        }
    }
}

/// Reads facts on behalf of an object, and notes which.
pub(crate) struct Reader {
    wakes: Arc<Wakes>,
    subject: Arc<Subject>,
    noted: Mutex<HashSet<Number>>,
}

impl Reader {
    /// Notes that a fact is about to be read.
    pub(crate) fn note(&self, fact: Number) {
        if self.noted.lock().insert(fact) {
            self.wakes.interests.lock().add(&self.subject, fact);
        }
    }

    /// Ends a reading that was complete: what was read before and was not read this time is of no interest any more.
    pub(crate) fn finish(self) {
        let noted = self.noted.into_inner();
        self.wakes.interests.lock().keep_only(&self.subject, noted);
    }

    /// Ends the reading about an object that is gone.
    pub(crate) fn forget(self) {
        self.noted.lock().clear();
        self.finish();
    }
}
