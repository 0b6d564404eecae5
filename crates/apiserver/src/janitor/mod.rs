//! What a controller manager does for every cluster: garbage collection, namespace deletion, the end of definitions,
//! and the expiry of events.
//!
//! It follows the store's history like any watcher and keeps only an index of who depends on whom. Whatever it does
//! goes through the same verbs as a client's request.

mod content;
mod dependents;
mod events;
mod garbage;
mod names;
mod queue;
mod work;
mod write;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::time::{Instant, sleep_until};

use crate::registry::Registry;
use crate::server::{DEFINITIONS, Inner};
use crate::store::{Event, EventKind, Object, ObjectKey, OwnerRef, ResourceId};
use dependents::{Dependents, reaches};
use names::Refused;
use queue::Queue;
use work::{AT_ONCE, Progress, Work};

const EXPIRE_EVENTS_EVERY: Duration = Duration::from_secs(300);

/// Runs until the server stops.
pub(crate) async fn run(server: Arc<Inner>) {
    let mut ticks = server.store.ticks();
    let mut registry = server.registry_changes();
    let mut janitor = Janitor::new(server.clone());
    let mut next_expiry = Instant::now() + EXPIRE_EVENTS_EVERY;
    janitor.rescan();
    loop {
        janitor.drain().await;
        let retry_at = janitor.queue.next_due();
        tokio::select! {
            biased;
            () = server.stopping.cancelled() => return,
            changed = registry.changed() => {
                if changed.is_err() {
                    return;
                }
                janitor.follow_registry();
            }
            changed = ticks.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = sleep_until(retry_at.unwrap_or(next_expiry)), if retry_at.is_some() => {}
            () = sleep_until(next_expiry) => {
                next_expiry = Instant::now() + EXPIRE_EVENTS_EVERY;
                janitor.queue.insert(Work::Expire);
            }
        }
    }
}

struct Janitor {
    server: Arc<Inner>,
    dependents: Dependents,
    /// The objects that are being deleted, by uid.
    going: HashMap<Box<str>, (ResourceId, ObjectKey)>,
    refused: Refused,
    queue: Queue,
    seen: u64,
    registry: Arc<Registry>,
}

impl Janitor {
    fn new(server: Arc<Inner>) -> Self {
        Self {
            dependents: Dependents::default(),
            going: HashMap::new(),
            refused: Refused::default(),
            queue: Queue::default(),
            seen: 0,
            registry: server.registry(),
            server,
        }
    }

    /// Looks at everything: at the start, and when history did not reach back far enough.
    fn rescan(&mut self) {
        let state = self.server.store.visible();
        self.seen = state.revision;
        self.dependents = Dependents::default();
        self.going.clear();
        self.refused = Refused::default();
        for (resource, table) in state.tables() {
            for object in table.values() {
                self.dependents.add(resource, object);
                self.consider(resource, object);
            }
        }
        for definition in state.table(DEFINITIONS).values() {
            self.reconsider_names_beside(definition);
        }
    }

    /// Looks at what changed since the last time.
    fn catch_up(&mut self) {
        let upto = self.server.store.visible().revision;
        if upto == self.seen {
            return;
        }
        match self.server.store.changes(self.seen, upto) {
            Err(_) => self.rescan(),
            Ok(changes) => {
                for (resource, event) in &changes {
                    self.follow(resource, event);
                }
                self.seen = upto;
            }
        }
    }

    fn follow(&mut self, resource: &ResourceId, event: &Event) {
        let is_deleted = event.kind == EventKind::Deleted;
        if let Some(previous) = &event.previous {
            self.dependents.remove(resource, previous);
            let owners: &[OwnerRef] = if is_deleted { &[] } else { &event.object.owners };
            self.queue_owners_unblocked(previous, owners);
        }
        if is_deleted {
            self.follow_deletion(resource, &event.object);
        } else {
            self.dependents.add(resource, &event.object);
            self.consider(resource, &event.object);
        }
        if **resource == *DEFINITIONS {
            self.reconsider_names_beside(&event.object);
        }
    }

    fn follow_deletion(&mut self, resource: &ResourceId, gone: &Object) {
        self.going.remove(&gone.uid);
        if **resource == *DEFINITIONS {
            self.refused.forget(gone);
        }
        for (table, key) in self.dependents.of(&gone.uid) {
            // Known from here, for the kind itself may be gone when the dependent is looked at.
            let uid = reaches(&gone.key, &key).then(|| gone.uid.clone());
            self.queue.insert(Work::Collect(table, key, uid));
        }
        self.queue_holders_of(resource, gone);
    }

    /// What an object that is there may need.
    fn consider(&mut self, resource: &ResourceId, object: &Object) {
        if **resource == *DEFINITIONS {
            self.refused.note(object);
        }
        if !object.owners.is_empty() {
            self.queue
                .insert(Work::Collect(resource.clone(), object.key.clone(), None));
        }
        if !object.deleting {
            return;
        }
        let place = (resource.clone(), object.key.clone());
        self.going.insert(object.uid.clone(), place.clone());
        self.queue.insert(Work::Release(place.0, place.1));
        let name = || object.key.name().to_owned();
        match &**resource {
            "namespaces" => self.queue.insert(Work::Namespace(name())),
            DEFINITIONS => self.queue.insert(Work::Definition(name())),
            _ => {}
        }
    }

    /// A definition that changed or went may have left a name to another.
    fn reconsider_names_beside(&mut self, definition: &Object) {
        let refused = self.refused.beside(definition);
        self.queue.extend(refused.cloned().map(Work::Names));
    }

    /// Those whose deletion waited for the object that is gone now.
    fn queue_holders_of(&mut self, resource: &ResourceId, gone: &Object) {
        let state = self.server.store.visible();
        let deleting =
            |table: &str, key: &ObjectKey| state.get(table, key).is_some_and(|found| found.deleting);
        let namespace = gone.key.namespace();
        if !namespace.is_empty() && deleting("namespaces", &ObjectKey::new("", namespace)) {
            self.queue.insert(Work::Namespace(namespace.to_owned()));
        }
        if deleting(DEFINITIONS, &ObjectKey::new("", resource)) {
            self.queue.insert(Work::Definition(resource.to_string()));
        }
    }

    /// Owners whose deletion an object held up before and does not any more.
    fn queue_owners_unblocked(&mut self, before: &Object, now: &[OwnerRef]) {
        let still_blocks = |uid: &str| now.iter().any(|owner| owner.blocks && *owner.uid == *uid);
        for owner in &before.owners {
            if owner.blocks
                && !still_blocks(&owner.uid)
                && let Some((table, key)) = self.going.get(&owner.uid)
            {
                self.queue.insert(Work::Release(table.clone(), key.clone()));
            }
        }
    }

    /// What is served has changed: more may be known about owners, and about what holds others.
    fn follow_registry(&mut self) {
        let fresh = self.server.registry();
        let before = std::mem::replace(&mut self.registry, fresh);
        let kinds = |registry: &Registry| -> HashSet<(String, String)> {
            let kinds = registry.all();
            kinds
                .map(|resource| (resource.group.clone(), resource.kind.clone()))
                .collect()
        };
        let known = kinds(&before);
        let mut new = kinds(&self.registry);
        new.retain(|kind| !known.contains(kind));
        let is_new = |owner: &OwnerRef| {
            let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
            new.iter().any(|(of, kind)| of == group && **kind == *owner.kind)
        };
        let state = self.server.store.visible();
        if !new.is_empty() {
            for (table, key) in self.dependents.all() {
                if state
                    .get(table, key)
                    .is_some_and(|object| object.owners.iter().any(is_new))
                {
                    self.queue.insert(Work::Collect(table.clone(), key.clone(), None));
                }
            }
        }
        for (table, work) in [
            ("namespaces", Work::Namespace as fn(String) -> Work),
            (DEFINITIONS, Work::Definition),
        ] {
            let objects = state.table(table);
            let going = objects.values().filter(|object| object.deleting);
            self.queue
                .extend(going.map(|object| work(object.key.name().to_owned())));
        }
    }

    /// Does what is queued and due, following what happens meanwhile, until there is nothing or the server stops.
    async fn drain(&mut self) {
        loop {
            // Writes to memory never wait, so that without this nobody else might get a turn.
            tokio::task::coop::consume_budget().await;
            if self.server.stopping.is_cancelled() {
                return;
            }
            self.catch_up();
            let batch = self.queue.next(Instant::now());
            if batch.is_empty() {
                return;
            }
            let (server, dependents) = (&self.server, &self.dependents);
            let tasks = batch.into_iter().map(|item| async move {
                let outcome = work::perform(server, dependents, &item).await;
                (item, outcome)
            });
            let outcomes: Vec<_> = stream::iter(tasks).buffer_unordered(AT_ONCE).collect().await;
            for (item, outcome) in outcomes {
                match outcome {
                    Ok(progress) => {
                        self.queue.done(&item);
                        if progress == Progress::More {
                            self.queue.insert(item);
                        }
                    }
                    Err(error) => {
                        tracing::warn!(?item, error, "will be tried again");
                        self.queue.failed(item, Instant::now());
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
