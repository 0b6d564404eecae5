//! Facts of one kind, as far as we use them, by name and by whatever else they are found by.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Bound,
    sync::Arc,
};

use capt_core::tenancy::WatchScope;
use parking_lot::{Mutex, RwLock};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::watch;

use super::{
    key::ObjectKey,
    learned::Learned,
    members::Members,
    packing::{Packer, Packing, Shelf, put_together},
    settling::Unsettled,
    wakes::{Controller, Fact, Number, Place, Reader, Wakes},
};

/// Something that objects are found by, or that somebody looks at instead of the whole object.
pub(crate) struct Index<T> {
    /// What it is called.
    pub(crate) name: &'static str,
    /// Objects are found by it. If not, it is only glanced at.
    pub(crate) finds: bool,
    /// The values of an object.
    pub(crate) values: fn(&ObjectKey, &T) -> Vec<String>,
}

/// Whether there are objects of a kind at all. Of several scopes the least counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Serving {
    /// Nobody knows yet.
    Unknown,
    /// There may be objects of it, but they cannot be read: rights are missing, or a version that we know. What was read
    /// before is here, and may be old.
    Hidden,
    /// The API does not serve the kind.
    No,
    /// The API serves it, and all of it is here.
    Yes,
}

/// Facts of one kind.
pub(crate) struct Table<T: 'static> {
    name: &'static str,
    indexes: &'static [Index<T>],
    rows: RwLock<Rows<T>>,
    wakes: Arc<Wakes>,
    /// The controller whose own objects these are.
    controller: Option<Controller>,
    changes: watch::Sender<u64>,
    /// How objects are packed that nobody looks at, if they are.
    packing: Option<Packing<T>>,
    /// Which objects are remembered when they are gone, if any are.
    is_remembered: Option<fn(&T) -> bool>,
    /// Those that are.
    departed: Mutex<HashSet<ObjectKey>>,
}

/// How many objects are packed in a row before others have their turn.
const PACKED_AT_A_TIME: usize = 16;
/// How many objects are looked at in a row whether they rest.
const LOOKED_AT_AT_A_TIME: usize = 1024;

struct Rows<T> {
    objects: BTreeMap<ObjectKey, Shelf<T>>,
    /// For each index, who has a value in it.
    by_index: Vec<HashMap<Box<str>, Members>>,
    /// What is here and was not seen yet.
    learned: Learned,
    /// One for each watch that fills the table. They do not overlap.
    parts: Vec<Part>,
    unsettled: Unsettled,
}

/// The objects that one watch reads.
struct Part {
    scope: WatchScope,
    /// The newest version that its watch read. Watches of one kind are not in step.
    latest: u64,
    serving: Serving,
}

impl Part {
    fn new(scope: WatchScope) -> Self {
        Self {
            scope,
            latest: 0,
            serving: Serving::Unknown,
        }
    }
}

/// Whether a scope has an object. A Namespace belongs to the scope of its own name.
fn is_in(scope: &WatchScope, key: &ObjectKey) -> bool {
    scope.contains(key.own_namespace().unwrap_or(key.name()))
}

impl<T> Rows<T> {
    fn part(&self, key: &ObjectKey) -> Option<&Part> {
        self.parts.iter().find(|part| is_in(&part.scope, key))
    }

    /// Whether this version of an object was read, or will never be.
    fn has_read(&self, key: &ObjectKey, version: u64) -> bool {
        self.part(key).is_none_or(|part| part.latest >= version)
    }

    /// Takes note of a version that a watch read.
    fn note_read(&mut self, key: &ObjectKey, version: u64) {
        let part = self.parts.iter_mut().find(|part| is_in(&part.scope, key));
        if let Some(part) = part {
            part.latest = part.latest.max(version);
        }
    }

    fn serving(&self) -> Serving {
        let all = self.parts.iter().map(|part| part.serving);
        all.min().unwrap_or(Serving::Yes)
    }

    fn set_serving(&mut self, serving: Serving, scope: Option<&WatchScope>) {
        let parts = self.parts.iter_mut();
        for part in parts.filter(|part| scope.is_none_or(|scope| part.scope == *scope)) {
            part.serving = serving;
        }
    }

    /// Gives back the room that was needed only while there was much to do. Copies are made before that is given back of
    /// which they are: what was just given back would be taken again.
    fn settle(&mut self) {
        put_together(self.objects.values());
        let objects: Vec<(ObjectKey, Shelf<T>)> = std::mem::take(&mut self.objects).into_iter().collect();
        let copies: Vec<ObjectKey> = objects.iter().map(|(key, _)| key.copied()).collect();
        let (_old, shelves): (Vec<ObjectKey>, Vec<Shelf<T>>) = objects.into_iter().unzip();
        self.objects = copies.into_iter().zip(shelves).collect();
        for index in &mut self.by_index {
            let copy = index
                .iter()
                .map(|(value, members)| (value.clone(), members.among(&self.objects)));
            *index = copy.collect();
        }
    }
}

/// An object with its version, on its way into a table.
pub(crate) struct Row<T> {
    /// What it is called.
    pub(crate) key: ObjectKey,
    /// Its version.
    pub(crate) version: u64,
    /// What is kept of it; nothing if it cannot be read.
    pub(crate) value: Option<T>,
}

impl<T> Row<T> {
    /// Nothing, in the place of an object.
    fn gone(key: ObjectKey) -> Self {
        Self {
            key,
            version: 0,
            value: None,
        }
    }
}

/// Objects that changed, and their versions.
type Changed = BTreeMap<ObjectKey, u64>;

impl<T: PartialEq> Table<T> {
    /// A table of which nothing is known yet, that one watch of the whole cluster fills.
    pub(crate) fn new(name: &'static str, wakes: &Arc<Wakes>, indexes: &'static [Index<T>]) -> Self {
        Self {
            name,
            indexes,
            rows: RwLock::new(Rows {
                objects: BTreeMap::new(),
                by_index: indexes.iter().map(|_| HashMap::new()).collect(),
                learned: Learned::default(),
                parts: vec![Part::new(WatchScope::Cluster)],
                unsettled: Unsettled::default(),
            }),
            wakes: wakes.clone(),
            controller: None,
            changes: watch::Sender::new(0),
            packing: None,
            is_remembered: None,
            departed: Mutex::default(),
        }
    }

    /// With memory of objects that were like this when they went.
    pub(crate) fn remembering(mut self, is_remembered: fn(&T) -> bool) -> Self {
        self.is_remembered = Some(is_remembered);
        self
    }

    /// Whether an object is remembered that went.
    pub(crate) fn has_departed(&self, key: &ObjectKey) -> bool {
        self.departed.lock().contains(key)
    }

    /// Remembers an object that went no longer.
    pub(crate) fn forget_departed(&self, key: &ObjectKey) {
        self.departed.lock().remove(key);
    }

    /// With objects that are packed when nobody looks at them.
    pub(crate) fn packed(mut self) -> Self
    where
        T: Serialize + DeserializeOwned,
    {
        self.packing = Some(Packing::json());
        self
    }

    /// With objects that are large and looked at for a moment only, which are always packed.
    pub(crate) fn packed_tight(mut self) -> Self
    where
        T: Serialize + DeserializeOwned,
    {
        self.packing = Some(Packing::tight());
        self
    }

    /// Filled by a watch for each of these scopes.
    pub(crate) fn of_scopes(self, scopes: &[WatchScope]) -> Self {
        self.rows.write().parts = scopes.iter().cloned().map(Part::new).collect();
        self
    }

    /// The scopes that a watch each fills it with.
    pub(crate) fn scopes(&self) -> Vec<WatchScope> {
        let rows = self.rows.read();
        rows.parts.iter().map(|part| part.scope.clone()).collect()
    }

    /// Packs what nobody looked at since the last time that it was asked for.
    pub(crate) async fn rest(&self, packer: &mut Packer) {
        let Some(packing) = &self.packing else { return };
        packing.close();
        let mut last: Option<ObjectKey> = None;
        loop {
            last = {
                let rows = self.rows.read();
                let from = last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let rest = rows.objects.range::<ObjectKey, _>((from, Bound::Unbounded));
                let (mut packed, mut reached) = (0, None);
                for (key, shelf) in rest.take(LOOKED_AT_AT_A_TIME) {
                    packed += usize::from(shelf.rest(packing, packer));
                    reached = Some(key);
                    if packed == PACKED_AT_A_TIME {
                        break;
                    }
                }
                reached.cloned()
            };
            if last.is_none() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let rows = &mut *self.rows.write();
        if rows.unsettled.is_worth_it(rows.objects.len()) {
            rows.settle();
        }
    }

    /// Gives back the room that was needed only while there was much to do.
    pub(crate) fn settle(&self) {
        self.rows.write().settle();
    }

    /// With every change of an object waking that object itself.
    pub(crate) fn of_controller(mut self, controller: Controller) -> Self {
        self.controller = Some(controller);
        self
    }

    /// An object, if it is there.
    pub(crate) fn get(&self, reader: &Reader, key: &ObjectKey) -> Option<Arc<T>> {
        reader.note(self.fact(Place::Object(key)));
        self.peek(key)
    }

    /// An object, if it is there, for somebody who does not want to be woken.
    pub(crate) fn peek(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.open(&self.rows.read(), key)
    }

    /// An object, if it is there, for somebody who has to look again only when its values in an index change. Every
    /// object must have a value in that index, or nobody hears that it came or went.
    pub(crate) fn glance(&self, reader: &Reader, index: &'static str, key: &ObjectKey) -> Option<Arc<T>> {
        reader.note(self.fact(Place::Values(index, key)));
        self.peek(key)
    }

    /// Whether anybody is woken by what happens to an object.
    pub(crate) fn is_read(&self, key: &ObjectKey) -> bool {
        self.wakes.is_read(self.fact(Place::Object(key)))
    }

    /// The objects that have a value in an index, by their names.
    pub(crate) fn find(&self, reader: &Reader, index: &'static str, value: &str) -> Vec<(ObjectKey, Arc<T>)> {
        reader.note(self.fact(Place::Index(index, value)));
        let rows = self.rows.read();
        let members = self.having(&rows, index, value).into_iter();
        members
            .flat_map(Members::iter)
            .filter_map(|key| Some((key.clone(), self.open(&rows, key)?)))
            .collect()
    }

    /// The names of the objects that have a value in an index.
    pub(crate) fn members(&self, reader: &Reader, index: &'static str, value: &str) -> Vec<ObjectKey> {
        reader.note(self.fact(Place::Members(index, value)));
        self.peek_members(index, value)
    }

    /// The names of the objects that have a value in an index, for somebody who does not want to be woken.
    pub(crate) fn peek_members(&self, index: &'static str, value: &str) -> Vec<ObjectKey> {
        let rows = self.rows.read();
        let members = self.having(&rows, index, value).into_iter();
        let keys = members.flat_map(Members::iter);
        keys.cloned().collect()
    }

    /// How many objects have a value in an index.
    pub(crate) fn count(&self, index: &'static str, value: &str) -> usize {
        let rows = self.rows.read();
        self.having(&rows, index, value).map_or(0, Members::count)
    }

    /// All objects, for somebody who does not want to be woken.
    pub(crate) fn peek_all(&self) -> Vec<(ObjectKey, Arc<T>)> {
        let rows = self.rows.read();
        let all = rows.objects.iter();
        all.filter_map(|(key, object)| Some((key.clone(), object.get(self.packing.as_ref())?)))
            .collect()
    }

    /// The values of an object in an index.
    pub(crate) fn values(&self, reader: &Reader, index: &'static str, key: &ObjectKey) -> Vec<String> {
        reader.note(self.fact(Place::Values(index, key)));
        let (Some(object), Some(index)) = (
            self.peek(key),
            self.indexes.iter().find(|known| known.name == index),
        ) else {
            return Vec::new();
        };
        (index.values)(key, &object)
    }

    /// Whether there are objects of the kind at all.
    pub(crate) fn serving(&self, reader: &Reader) -> Serving {
        reader.note(self.fact(Place::Served));
        self.rows.read().serving()
    }

    /// Whether the kind is served, and all of it is here.
    pub(crate) fn is_served(&self, reader: &Reader) -> bool {
        self.serving(reader) == Serving::Yes
    }

    /// Whether there may be objects of the kind that cannot be read.
    pub(crate) fn is_hidden(&self, reader: &Reader) -> bool {
        self.serving(reader) == Serving::Hidden
    }

    /// Whether all of a scope was read, for a caller that is not to be woken.
    pub(crate) fn is_listed(&self, scope: &WatchScope) -> bool {
        let rows = self.rows.read();
        let mut parts = rows.parts.iter();
        parts.any(|part| part.scope == *scope && part.serving == Serving::Yes)
    }

    /// Whether this version of an object is here: everything up to it was seen, or it was learned.
    pub(crate) fn has_seen(&self, key: &ObjectKey, version: u64) -> bool {
        let rows = self.rows.read();
        rows.has_read(key, version) || rows.learned.has(key, version)
    }

    /// Counts changes, for those who wait for any of them.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Waits until it is known whether the kind is served, and if so, until all of it is here.
    pub(crate) async fn is_known(&self) {
        let mut changes = self.changes();
        while self.rows.read().serving() == Serving::Unknown {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Puts an object in, or takes it out if it cannot be read. One that is here as it is since is left alone.
    pub(crate) fn apply(&self, row: Row<T>) {
        self.change(|rows, facts, keys| {
            rows.note_read(&row.key, row.version);
            if !rows.learned.is_ahead_of(&row.key, row.version) {
                self.put(rows, row, facts, keys);
            }
        });
    }

    /// Takes note of a version of an object that was learned before, for which it need not be read. Tells whether it was.
    pub(crate) fn is_confirmed(&self, key: &ObjectKey, version: u64) -> bool {
        if !self.rows.read().learned.is(key, version) {
            return false;
        }
        let rows = &mut *self.rows.write();
        rows.note_read(key, version);
        // A newer one may have been learned meanwhile.
        if rows.learned.is(key, version) {
            rows.learned.forget(key);
        }
        true
    }

    /// Puts an object in as the API answered to a write, before it is seen: whoever waits for that write need not wait for
    /// the watch. Nothing is learned of what goes, whose end only the watch tells.
    pub(crate) fn learn(&self, row: Row<T>) {
        let is_news = {
            let rows = self.rows.read();
            let is_listed = rows
                .part(&row.key)
                .is_some_and(|part| part.serving == Serving::Yes);
            is_listed && !rows.has_read(&row.key, row.version) && !rows.learned.has(&row.key, row.version)
        };
        if is_news {
            self.change(|rows, facts, keys| {
                // Both may have happened meanwhile.
                if !rows.has_read(&row.key, row.version) && !rows.learned.has(&row.key, row.version) {
                    rows.learned.note(&row.key, row.version);
                    self.put(rows, row, facts, keys);
                }
            });
        }
    }

    /// Takes an object out.
    pub(crate) fn delete(&self, key: ObjectKey, version: u64) {
        self.change(|rows, facts, keys| {
            rows.note_read(&key, version);
            rows.learned.forget(&key);
            self.put(rows, Row::gone(key), facts, keys);
        });
    }

    /// Puts all objects in that there are in a scope. Those of other scopes stay.
    pub(crate) fn replace(&self, scope: &WatchScope, all: Vec<Row<T>>) {
        self.change(|rows, facts, keys| {
            let present: HashSet<ObjectKey> = all.iter().map(|row| row.key.clone()).collect();
            let gone: Vec<ObjectKey> = rows
                .objects
                .keys()
                .filter(|key| is_in(scope, key) && !present.contains(*key))
                .cloned()
                .collect();
            for key in gone {
                rows.learned.forget(&key);
                self.put(rows, Row::gone(key), facts, keys);
            }
            for mut row in all {
                rows.note_read(&row.key, row.version);
                if rows.learned.is_ahead_of(&row.key, row.version) {
                    continue;
                }
                // Others that an object depends on change at the same time.
                row.version = 0;
                self.put(rows, row, facts, keys);
            }
            rows.set_serving(Serving::Yes, Some(scope));
        });
    }

    /// Says that objects of a scope, or of all of them, cannot be read. Nothing goes because of that: what is not read may
    /// still be there.
    pub(crate) fn hide(&self, scope: Option<&WatchScope>) {
        self.change(|rows, _, _| rows.set_serving(Serving::Hidden, scope));
    }

    /// Says that the kind is not served, which must be certain: whatever was of it counts as gone.
    pub(crate) fn close(&self) {
        self.change(|rows, facts, keys| {
            rows.learned.clear();
            let gone: Vec<ObjectKey> = rows.objects.keys().cloned().collect();
            for key in gone {
                self.put(rows, Row::gone(key), facts, keys);
            }
            rows.set_serving(Serving::No, None);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Rows<T>, &mut HashSet<Number>, &mut Changed)) {
        let (mut facts, mut keys) = (HashSet::new(), Changed::new());
        {
            let rows = &mut *self.rows.write();
            let before = rows.serving();
            change(rows, &mut facts, &mut keys);
            if rows.serving() != before {
                facts.insert(self.fact(Place::Served));
            }
        }
        self.changes.send_modify(|count| *count += 1);
        self.wakes.changed(&facts, |controller, key| {
            self.controller == Some(controller) && keys.contains_key(key)
        });
        if let Some(controller) = self.controller {
            for (key, version) in &keys {
                self.wakes.wake_changed(controller, key, *version);
            }
        }
    }

    fn put(&self, rows: &mut Rows<T>, row: Row<T>, facts: &mut HashSet<Number>, keys: &mut Changed) {
        let Row { key, version, value } = row;
        let (key, before) = match rows.objects.get_key_value(&key) {
            Some((known, before)) => (known.clone(), before.get(self.packing.as_ref())),
            None => (key, None),
        };
        if before.as_deref() == value.as_ref() {
            return;
        }
        for (index, by_index) in self.indexes.iter().zip(&mut rows.by_index) {
            let values = |value: Option<&T>| -> Vec<String> {
                let mut values = value.map_or_else(Vec::new, |value| (index.values)(&key, value));
                values.sort_unstable();
                values.dedup();
                values
            };
            let (old, new) = (values(before.as_deref()), values(value.as_ref()));
            if old != new {
                facts.insert(self.fact(Place::Values(index.name, &key)));
            }
            if !index.finds {
                continue;
            }
            for value in old.iter().chain(&new) {
                facts.insert(self.fact(Place::Index(index.name, value)));
            }
            for gone in old.iter().filter(|value| new.binary_search(value).is_err()) {
                facts.insert(self.fact(Place::Members(index.name, gone)));
                if by_index
                    .get_mut(gone.as_str())
                    .is_some_and(|members| members.remove(&key))
                {
                    by_index.remove(gone.as_str());
                }
            }
            for value in new.iter().filter(|value| old.binary_search(value).is_err()) {
                facts.insert(self.fact(Place::Members(index.name, value)));
                match by_index.get_mut(value.as_str()) {
                    Some(members) => members.add(&key),
                    None => {
                        by_index.insert(value.as_str().into(), Members::One(key.clone()));
                    }
                }
            }
        }
        facts.insert(self.fact(Place::Object(&key)));
        rows.unsettled.note();
        keys.insert(key.clone(), version);
        if let Some(is_remembered) = self.is_remembered {
            let mut departed = self.departed.lock();
            match (&value, before) {
                (None, Some(before)) if is_remembered(&before) => {
                    departed.insert(key.clone());
                }
                (None, _) => {}
                (Some(_), _) => {
                    departed.remove(&key);
                }
            }
        }
        match value {
            Some(value) => rows.objects.insert(key, Shelf::new(value, self.packing.as_ref())),
            None => rows.objects.remove(&key),
        };
    }

    fn open(&self, rows: &Rows<T>, key: &ObjectKey) -> Option<Arc<T>> {
        rows.objects.get(key)?.get(self.packing.as_ref())
    }

    /// Who has a value in an index.
    fn having<'a>(&self, rows: &'a Rows<T>, index: &str, value: &str) -> Option<&'a Members> {
        let place = self.indexes.iter().position(|known| known.name == index)?;
        rows.by_index.get(place)?.get(value)
    }

    fn fact(&self, place: Place<'_>) -> Number {
        let table = self.name;
        Fact { table, place }.number()
    }
}

#[cfg(test)]
mod tests;
