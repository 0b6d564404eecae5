//! All Workspaces, and who has to be woken by what.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::Duration,
};

use capt_api::foreign::marks::{EXTERNAL_CREATE_FAILED, EXTERNAL_CREATE_PENDING, EXTERNAL_CREATE_SUCCEEDED};
use capt_core::{render::WorkspaceGroup, tenancy::WatchScope};
use k8s_openapi::jiff::Timestamp;

use super::{
    connections::{self, Connections, Name},
    key::Key,
    states::{States, home},
    stripped::is_named_after,
};
use crate::{
    decide::{ConnectionFacts, What},
    inputs::ObjectRef,
    operation::Stop,
    view::WorkspaceView,
    workspace::{Connection, Record, Reference},
};

/// Changes that are remembered while somebody works. With more, everything counts as changed.
const MAX_MEANWHILE: usize = 10_000;

/// One Workspace.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) view: WorkspaceView,
    /// Not here while somebody works with it.
    pub(crate) record: Option<Record>,
    pub(crate) work: Option<Work>,
    /// Its inputs may have changed since somebody began to work with its record.
    is_input_stale: bool,
    /// What changed since then: only who works with the record knows what its inputs are read from.
    meanwhile: HashSet<Reference>,
    /// What its inputs were read from when that was last known.
    references: BTreeSet<Reference>,
    /// Its state was found to be gone since then.
    is_state_lost: bool,
    /// Its connection Secret was changed since then, perhaps by who works with it.
    is_connection_touched: bool,
    /// Its status was written since then, perhaps by somebody else.
    is_status_written: bool,
    /// The connection Secret that it is found by.
    wants: Option<Name>,
    due: Option<Timestamp>,
    /// It is gone, and only who works with it does not know yet.
    is_gone: bool,
}

/// What is being done about a Workspace.
#[derive(Debug)]
pub(crate) enum Work {
    /// It is looked at.
    Look,
    /// An operation runs.
    Operation {
        what: What,
        stop: Stop,
        is_cancelled: bool,
    },
}

/// All Workspaces.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: HashMap<Key, Entry>,
    readers: HashMap<Reference, HashSet<Key>>,
    /// Whose state is kept where.
    homes: HashMap<Name, HashSet<Key>>,
    timers: BTreeSet<(Timestamp, Key)>,
    /// Who has to be looked at.
    dirty: BTreeSet<Key>,
    /// With whom somebody works.
    working: HashSet<Key>,
    states: States,
    connections: Connections,
    /// Who wants a Secret for its outputs.
    wanting: HashMap<Name, HashSet<Key>>,
}

impl Table {
    /// Takes note of a Workspace as a watch tells it. Says whether it has to be looked at.
    pub(crate) fn see(&mut self, view: WorkspaceView) -> bool {
        let key = Key::of(&view);
        let is_dirty = self.take_note(&key, view);
        self.index_connection(&key);
        is_dirty
    }

    fn take_note(&mut self, key: &Key, view: WorkspaceView) -> bool {
        let key = key.clone();
        let is_state_lost = self.states.lacks(&view);
        let connection = match self.connections.lacks(&view) {
            true => ConnectionFacts::Doubted,
            false => ConnectionFacts::Fine,
        };
        let new_record = |view: &WorkspaceView| Record {
            is_state_doubted: is_state_lost,
            connection: Connection {
                facts: connection,
                ..Connection::default()
            },
            ..Record::new(view)
        };
        let Some(entry) = self.entries.get_mut(&key) else {
            settle(&mut self.homes, &key, None, Some(&view));
            self.entries.insert(
                key.clone(),
                Entry {
                    record: Some(new_record(&view)),
                    view,
                    work: None,
                    is_input_stale: false,
                    is_state_lost: false,
                    is_connection_touched: false,
                    is_status_written: false,
                    wants: None,
                    meanwhile: HashSet::new(),
                    references: BTreeSet::new(),
                    due: None,
                    is_gone: false,
                },
            );
            self.dirty.insert(key);
            return true;
        };
        entry.is_gone = false;
        if entry.view.uid != view.uid {
            // Whoever works with the old one finds out when it comes back.
            entry.record = entry.record.take().map(|_| new_record(&view));
            settle(&mut self.homes, &key, Some(&entry.view), Some(&view));
            entry.view = view;
            self.dirty.insert(key);
            return true;
        }
        if is_newer(&view, &entry.view) && entry.hear(&view) {
            self.dirty.insert(key.clone());
        }
        if !is_newer(&view, &entry.view) || is_same_to_us(&view, &entry.view) {
            if is_newer(&view, &entry.view) {
                entry.view = view;
            }
            return false;
        }
        if view.generation != entry.view.generation || !are_same_to_inputs(&view, &entry.view) {
            entry.forget_inputs();
        }
        settle(&mut self.homes, &key, Some(&entry.view), Some(&view));
        entry.view = view;
        self.dirty.insert(key);
        true
    }

    /// Forgets a Workspace, if somebody works with it as soon as that ends: a namesake must not be worked with before.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.dirty.remove(key);
        self.set_due(key, None);
        match self.entries.get_mut(key) {
            Some(entry) if entry.work.is_some() => entry.is_gone = true,
            Some(_) => self.remove(key),
            None => {}
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            unread(&mut self.readers, key, &entry.references);
            unwant(&mut self.wanting, key, entry.wants.as_ref());
            settle(&mut self.homes, key, Some(&entry.view), None);
        }
    }

    /// Has a Workspace found by the Secret that it wants now.
    fn index_connection(&mut self, key: &Key) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let wants = connections::wanted(&entry.view);
        if wants != entry.wants {
            unwant(&mut self.wanting, key, entry.wants.as_ref());
            if let Some(name) = &wants {
                self.wanting.entry(name.clone()).or_default().insert(key.clone());
            }
            entry.wants = wants;
        }
    }

    /// All of a group and scope that are not among these.
    pub(crate) fn others(&self, group: WorkspaceGroup, scope: &WatchScope, these: &HashSet<Key>) -> Vec<Key> {
        let is_in = |key: &Key| scope.contains(key.namespace.as_deref().unwrap_or_default());
        self.entries
            .keys()
            .filter(|key| key.group == group && is_in(key) && !these.contains(*key))
            .cloned()
            .collect()
    }

    /// Something that inputs are read from changed.
    pub(crate) fn changed(&mut self, reference: &Reference) {
        for key in self.readers.get(reference).into_iter().flatten() {
            if let Some(entry) = self.entries.get_mut(key) {
                entry.forget_inputs();
                self.dirty.insert(key.clone());
            }
        }
        for key in &self.working {
            if let Some(entry) = self.entries.get_mut(key) {
                match entry.meanwhile.len() < MAX_MEANWHILE {
                    true => drop(entry.meanwhile.insert(reference.clone())),
                    false => entry.is_input_stale = true,
                }
            }
        }
    }

    /// The Workspaces that an object may be the state or the report of, by its name.
    pub(crate) fn named_by(&self, object: &ObjectRef, runner_namespace: &str) -> Vec<&WorkspaceView> {
        let views = self.entries.values().map(|entry| &entry.view);
        views
            .filter(|view| is_named_after(object, view, runner_namespace))
            .collect()
    }

    /// A Secret is there, or is gone, and it may hold state.
    pub(crate) fn state_secret(&mut self, namespace: &str, name: &str, is_there: bool) {
        let Some(news) = self.states.note(namespace, name, is_there) else {
            return;
        };
        let keys = news.homes().filter_map(|home| self.homes.get(&home)).flatten();
        for key in keys {
            let Some(entry) = self.entries.get_mut(key) else {
                continue;
            };
            match is_there {
                true => entry.find_state(),
                false => entry.lose_state(),
            }
            self.dirty.insert(key.clone());
        }
    }

    /// Of Secrets with state there are only these in this scope: namespaces and names.
    pub(crate) fn only_states(&mut self, scope: WatchScope, secrets: HashSet<(String, String)>) {
        self.states.only(scope, secrets);
        for (key, entry) in &mut self.entries {
            if self.states.lacks(&entry.view) {
                entry.lose_state();
                self.dirty.insert(key.clone());
            }
        }
    }

    /// A Secret is there, in this version if it belongs to a Workspace, or is gone. It may be one for outputs.
    pub(crate) fn connection_secret(&mut self, namespace: &str, name: &str, version: Option<String>) {
        let name = (namespace.to_owned(), name.to_owned());
        self.connections.note(&name, version);
        self.doubt_connection(&name);
    }

    /// Of Secrets for outputs there are only these in this scope, in these versions.
    pub(crate) fn only_connections(&mut self, scope: &WatchScope, secrets: HashMap<Name, String>) {
        for name in self.connections.learn(scope, secrets) {
            self.doubt_connection(&name);
        }
        let lacking = self.wanting.keys();
        let lacking: Vec<Name> = lacking
            .filter(|name| scope.contains(&name.0) && self.connections.version(name).is_none())
            .cloned()
            .collect();
        for name in &lacking {
            self.doubt_connection(name);
        }
    }

    /// Somebody wrote or removed a Secret, perhaps one of us.
    fn doubt_connection(&mut self, name: &Name) {
        let version = self.connections.version(name);
        for key in self.wanting.get(name).into_iter().flatten() {
            if let Some(entry) = self.entries.get_mut(key)
                && entry.doubt_connection(version)
            {
                self.dirty.insert(key.clone());
            }
        }
    }

    /// Anything that inputs are read from may have changed.
    pub(crate) fn doubt_inputs(&mut self) {
        for (key, entry) in &mut self.entries {
            entry.forget_inputs();
            self.dirty.insert(key.clone());
        }
    }

    /// Has a Workspace looked at.
    pub(crate) fn wake(&mut self, key: &Key) {
        if self.entries.contains_key(key) {
            self.dirty.insert(key.clone());
        }
    }

    /// Has everybody looked at.
    pub(crate) fn wake_all(&mut self) {
        self.dirty.extend(self.entries.keys().cloned());
    }

    /// Has the Workspace with this uid looked at.
    pub(crate) fn wake_uid(&mut self, uid: &str) {
        let found = self.entries.iter().find(|(_, entry)| entry.view.uid == uid);
        if let Some((key, _)) = found {
            self.dirty.insert(key.clone());
        }
    }

    /// Has everybody looked at whose time has come.
    pub(crate) fn wake_due(&mut self, now: Timestamp) {
        while let Some((due, _)) = self.timers.first()
            && *due <= now
        {
            if let Some((_, key)) = self.timers.pop_first()
                && let Some(entry) = self.entries.get_mut(&key)
            {
                entry.due = None;
                self.dirty.insert(key);
            }
        }
    }

    /// How long until somebody's time comes.
    pub(crate) fn next_due(&self, now: Timestamp) -> Option<Duration> {
        let (due, _) = self.timers.first()?;
        Some(Duration::try_from(due.duration_since(now)).unwrap_or_default())
    }

    /// Sets or clears somebody's time.
    pub(crate) fn set_due(&mut self, key: &Key, due: Option<Timestamp>) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        if let Some(old) = entry.due.take() {
            self.timers.remove(&(old, key.clone()));
        }
        if let Some(due) = due {
            self.timers.insert((due, key.clone()));
            entry.due = Some(due);
        }
    }

    /// Takes somebody who has to be looked at and with whom nobody works.
    pub(crate) fn next_dirty(&mut self) -> Option<Key> {
        let key = self
            .dirty
            .iter()
            .find(|key| self.entries.get(*key).is_some_and(|entry| entry.work.is_none()))?
            .clone();
        self.dirty.remove(&key);
        Some(key)
    }

    /// Whether nobody works with it.
    pub(crate) fn is_free(&self, key: &Key) -> bool {
        self.entries
            .get(key)
            .is_some_and(|entry| entry.work.is_none() && entry.record.is_some())
    }

    /// Hands the record out to somebody who works with it.
    pub(crate) fn lend(&mut self, key: &Key, work: Work) -> Option<(WorkspaceView, Record)> {
        let entry = self.entries.get_mut(key)?;
        let record = entry.record.take()?;
        entry.work = Some(work);
        entry.is_input_stale = false;
        entry.is_state_lost = false;
        entry.is_connection_touched = false;
        entry.meanwhile.clear();
        self.working.insert(key.clone());
        Some((entry.view.clone(), record))
    }

    /// Takes the record back. Says whether it still is of any use.
    pub(crate) fn give_back(&mut self, key: &Key, view: WorkspaceView, mut record: Record) -> bool {
        self.working.remove(key);
        let Some(entry) = self.entries.get_mut(key) else {
            return false;
        };
        entry.work = None;
        if entry.is_gone {
            self.remove(key);
            return false;
        }
        if entry.view.uid != view.uid {
            entry.record = Some(Record::new(&entry.view));
            self.dirty.insert(key.clone());
            return false;
        }
        if is_newer(&view, &entry.view) {
            settle(&mut self.homes, key, Some(&entry.view), Some(&view));
            entry.view = view;
        }
        if std::mem::take(&mut entry.is_status_written) && record.hear(&entry.view) {
            self.dirty.insert(key.clone());
        }
        if std::mem::take(&mut entry.is_state_lost) {
            record.is_state_doubted = true;
            record.state = None;
            self.dirty.insert(key.clone());
        }
        let meanwhile = std::mem::take(&mut entry.meanwhile);
        let is_stale = std::mem::take(&mut entry.is_input_stale);
        if is_stale
            || record
                .references
                .iter()
                .any(|reference| meanwhile.contains(reference))
        {
            record.forget_inputs();
            self.dirty.insert(key.clone());
        }
        if entry.references != record.references {
            unread(&mut self.readers, key, &entry.references);
            for reference in &record.references {
                self.readers
                    .entry(reference.clone())
                    .or_default()
                    .insert(key.clone());
            }
            entry.references.clone_from(&record.references);
        }
        entry.record = Some(record);
        self.index_connection(key);
        if let Some(entry) = self.entries.get_mut(key)
            && std::mem::take(&mut entry.is_connection_touched)
        {
            let name = connections::wanted(&entry.view);
            let version = name.and_then(|name| self.connections.version(&name));
            if entry.doubt_connection(version) {
                self.dirty.insert(key.clone());
            }
        }
        true
    }

    /// Nobody brings the record back any more.
    pub(crate) fn lost(&mut self, key: &Key) {
        self.working.remove(key);
        if let Some(entry) = self.entries.get_mut(key) {
            entry.work = None;
            entry.record = Some(Record::new(&entry.view));
            if entry.is_gone {
                self.remove(key);
            }
        }
    }

    /// One Workspace.
    pub(crate) fn get_mut(&mut self, key: &Key) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    /// All Workspaces.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }
}

impl Entry {
    /// Takes note of what its status says. Tells whether that is known to be somebody else's words.
    fn hear(&mut self, view: &WorkspaceView) -> bool {
        match &mut self.record {
            Some(record) => record.hear(view),
            None => {
                self.is_status_written = true;
                false
            }
        }
    }

    /// Somebody wrote its connection Secret, which now is there in this version, or removed it. Says whether it has to be
    /// looked at.
    fn doubt_connection(&mut self, version: Option<&String>) -> bool {
        let Some(record) = &mut self.record else {
            self.is_connection_touched = true;
            return false;
        };
        if version.is_some() && record.connection.version.as_ref() == version {
            return false;
        }
        record.doubt_connection();
        true
    }

    /// Its state may be gone.
    fn lose_state(&mut self) {
        match &mut self.record {
            Some(record) => {
                record.is_state_doubted = true;
                record.state = None;
            }
            None => self.is_state_lost = true,
        }
    }

    /// Its state may be back, so that what failed for want of it may succeed.
    fn find_state(&mut self) {
        self.is_state_lost = false;
        if let Some(record) = self.record.as_mut().filter(|record| record.is_state_doubted) {
            record.state = None;
            if let Some(memory) = &mut record.memory {
                memory.failed = None;
            }
        }
    }

    fn forget_inputs(&mut self) {
        match &mut self.record {
            Some(record) => record.forget_inputs(),
            None => self.is_input_stale = true,
        }
    }
}

/// Takes note of where the state of a Workspace is kept, now that it is this and was that.
fn settle(
    homes: &mut HashMap<Name, HashSet<Key>>,
    key: &Key,
    was: Option<&WorkspaceView>,
    is: Option<&WorkspaceView>,
) {
    let (was, is) = (was.and_then(home), is.and_then(home));
    if was == is {
        return;
    }
    if let Some(was) = was
        && let Some(keys) = homes.get_mut(&was)
    {
        keys.remove(key);
        if keys.is_empty() {
            homes.remove(&was);
        }
    }
    if let Some(is) = is {
        homes.entry(is).or_default().insert(key.clone());
    }
}

fn unread(readers: &mut HashMap<Reference, HashSet<Key>>, key: &Key, references: &BTreeSet<Reference>) {
    for reference in references {
        if let Some(keys) = readers.get_mut(reference) {
            keys.remove(key);
            if keys.is_empty() {
                readers.remove(reference);
            }
        }
    }
}

fn unwant(wanting: &mut HashMap<Name, HashSet<Key>>, key: &Key, name: Option<&Name>) {
    if let Some(name) = name
        && let Some(keys) = wanting.get_mut(name)
    {
        keys.remove(key);
        if keys.is_empty() {
            wanting.remove(name);
        }
    }
}

/// Versions of one object can be compared as numbers. Where they cannot, what comes later is taken as newer.
fn is_newer(one: &WorkspaceView, other: &WorkspaceView) -> bool {
    match (one.version(), other.version()) {
        (Some(one), Some(other)) => one > other,
        _ => true,
    }
}

/// No annotation differs but those that say how a creation goes on, which no input is read from.
fn are_same_to_inputs(one: &WorkspaceView, other: &WorkspaceView) -> bool {
    const OF_CREATION: [&str; 3] = [
        EXTERNAL_CREATE_PENDING,
        EXTERNAL_CREATE_SUCCEEDED,
        EXTERNAL_CREATE_FAILED,
    ];
    let of_inputs = |(name, _): &(&String, &String)| !OF_CREATION.contains(&name.as_str());
    let one = one.annotations.iter().filter(of_inputs);
    one.eq(other.annotations.iter().filter(of_inputs))
}

/// Nothing differs but what we write ourselves.
fn is_same_to_us(one: &WorkspaceView, other: &WorkspaceView) -> bool {
    one.generation == other.generation
        && one.deletion == other.deletion
        && one.labels == other.labels
        && one.annotations == other.annotations
        && one.finalizers == other.finalizers
}
