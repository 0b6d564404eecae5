//! What a controller manager does for every cluster: garbage collection, namespace deletion, the end of definitions,
//! and the expiry of events.
//!
//! It follows the store's history like any watcher and keeps only an index of who depends on whom. Whatever it does
//! goes through the same verbs as a client's request.

mod dependents;
mod events;
mod work;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::server::{DEFINITIONS, Inner};
use crate::store::{Event, EventKind, Object, ObjectKey, ResourceId};
use dependents::Dependents;
use work::Work;

const RETRY_AFTER: Duration = Duration::from_secs(1);
const EXPIRE_EVENTS_EVERY: Duration = Duration::from_secs(300);

/// Runs until the server stops.
pub(crate) async fn run(server: Arc<Inner>) {
    let mut ticks = server.store.ticks();
    let mut janitor = Janitor::new(server.clone());
    let mut next_expiry = Instant::now() + EXPIRE_EVENTS_EVERY;
    janitor.rescan();
    loop {
        let retry_at = janitor.drain().await;
        tokio::select! {
            biased;
            () = server.stopping.cancelled() => return,
            changed = ticks.changed() => {
                if changed.is_err() {
                    return;
                }
                janitor.catch_up();
            }
            () = sleep_until(retry_at.unwrap_or(next_expiry)), if retry_at.is_some() => {}
            () = sleep_until(next_expiry) => {
                next_expiry = Instant::now() + EXPIRE_EVENTS_EVERY;
                janitor.queue.extend(events::expired(&server));
            }
        }
    }
}

struct Janitor {
    server: Arc<Inner>,
    dependents: Dependents,
    queue: BTreeSet<Work>,
    seen: u64,
}

impl Janitor {
    fn new(server: Arc<Inner>) -> Self {
        Self {
            server,
            dependents: Dependents::default(),
            queue: BTreeSet::new(),
            seen: 0,
        }
    }

    /// Looks at everything: at the start, and when history did not reach back far enough.
    fn rescan(&mut self) {
        let state = self.server.store.visible();
        self.seen = state.revision;
        self.dependents = Dependents::default();
        for (resource, table) in state.tables() {
            for object in table.values() {
                self.dependents.add(resource, object);
                self.consider(resource, object);
            }
        }
    }

    /// Looks at what changed since the last time.
    fn catch_up(&mut self) {
        let upto = self.server.store.visible().revision;
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
        if let Some(previous) = &event.previous {
            self.dependents.remove(resource, previous);
        }
        if event.kind != EventKind::Deleted {
            self.dependents.add(resource, &event.object);
            self.consider(resource, &event.object);
            return;
        }
        for (resource, key) in self.dependents.of(&event.object.uid) {
            self.queue.insert(Work::Collect(resource, key));
        }
        self.queue_holders_of(resource, &event.object);
    }

    /// What an object that is there may need.
    fn consider(&mut self, resource: &ResourceId, object: &Object) {
        if !object.owners.is_empty() {
            self.queue
                .insert(Work::Collect(resource.clone(), object.key.clone()));
        }
        if !object.deleting {
            return;
        }
        self.queue
            .insert(Work::Release(resource.clone(), object.key.clone()));
        match &**resource {
            "namespaces" => self.queue.insert(Work::Namespace(object.key.name().to_owned())),
            DEFINITIONS => self.queue.insert(Work::Definition(object.key.name().to_owned())),
            _ => false,
        };
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
        for owner in &gone.owners {
            if let Some((table, key)) = work::owner_place(&self.server, &gone.key, owner)
                && deleting(&table, &key)
            {
                self.queue.insert(Work::Release(table, key));
            }
        }
    }

    /// Does what is queued; returns when to try again what failed.
    async fn drain(&mut self) -> Option<Instant> {
        let mut failed = BTreeSet::new();
        while let Some(item) = self.queue.pop_first() {
            if let Err(error) = work::perform(&self.server, &self.dependents, &item).await {
                tracing::warn!(?item, error = error.message, "will be tried again");
                failed.insert(item);
            }
        }
        self.queue = failed;
        (!self.queue.is_empty()).then(|| Instant::now() + RETRY_AFTER)
    }
}
