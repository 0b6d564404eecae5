//! The store: every object at every recent revision, and one ordered stream of writes.
//!
//! Reads take an immutable [`State`] and never wait. Writes are ordered under one lock against the newest *accepted*
//! state; with a durable backend a thread then persists everything accepted meanwhile in one commit (so that concurrent
//! writers share one `fsync`), and only after that the writes become visible and are answered.
//!
//! The store must never know what a document means beyond the few facts that [`Object`] keeps beside it.

mod backend;
mod commit;
mod journal;
mod log;
mod object;
mod redb_backend;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::RwLock;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use commit::Committer;

pub use backend::{Backend, BackendError, Loaded, Record};
pub use commit::{Change, CommitError, Expect, Requirement, Write};
pub use journal::Journal;
pub use log::{Event, EventKind, Expired, Log, Retention, frame};
pub use object::{Draft, Object, ObjectKey, OwnerRef, ResourceId};
pub use redb_backend::RedbBackend;

/// One table: objects in listing order.
pub type Table = imbl::OrdMap<ObjectKey, Arc<Object>>;

/// Everything at one revision. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The revision.
    pub revision: u64,
    tables: imbl::HashMap<ResourceId, Table>,
}

impl State {
    /// A table; empty if nothing was ever written to it.
    #[must_use]
    pub fn table(&self, resource: &str) -> Table {
        self.tables.get(resource).cloned().unwrap_or_default()
    }

    /// One object.
    #[must_use]
    pub fn get(&self, resource: &str, key: &ObjectKey) -> Option<&Arc<Object>> {
        self.tables.get(resource)?.get(key)
    }

    /// All tables.
    pub fn tables(&self) -> impl Iterator<Item = (&ResourceId, &Table)> {
        self.tables.iter()
    }

    fn put(&mut self, resource: &ResourceId, object: Arc<Object>) -> Option<Arc<Object>> {
        self.revision = object.revision;
        self.tables
            .entry(resource.clone())
            .or_default()
            .insert(object.key.clone(), object)
    }

    fn remove(&mut self, resource: &ResourceId, key: &ObjectKey, revision: u64) -> Option<Arc<Object>> {
        self.revision = revision;
        self.tables.get_mut(resource)?.remove(key)
    }
}

/// The parts of the store that readers and the committer share.
#[derive(Debug)]
struct Shared {
    visible: ArcSwap<State>,
    logs: RwLock<HashMap<ResourceId, Arc<Log>>>,
    opened_at: u64,
    retention: Retention,
    tick: watch::Sender<u64>,
    failed: CancellationToken,
}

impl Shared {
    fn closed_error(&self) -> CommitError {
        if self.failed.is_cancelled() {
            CommitError::Failed
        } else {
            CommitError::Closed
        }
    }

    fn log(&self, resource: &ResourceId) -> Arc<Log> {
        if let Some(log) = self.logs.read().get(resource) {
            return log.clone();
        }
        let fresh = || Arc::new(Log::starting_after(self.opened_at, self.retention));
        self.logs
            .write()
            .entry(resource.clone())
            .or_insert_with(fresh)
            .clone()
    }

    /// Makes accepted writes visible: history first, then the state, then the wake-up, so that whoever is woken sees both.
    fn publish(&self, state: State, events: &[(ResourceId, Arc<Event>)]) {
        let mut touched: Vec<(Arc<Log>, u64)> = Vec::new();
        for (resource, event) in events {
            let log = self.log(resource);
            log.push(event.clone());
            match touched.iter_mut().find(|(seen, _)| Arc::ptr_eq(seen, &log)) {
                Some((_, newest)) => *newest = event.revision(),
                None => touched.push((log, event.revision())),
            }
        }
        let revision = state.revision;
        self.visible.store(Arc::new(state));
        for (log, newest) in touched {
            log.announce(newest);
        }
        self.tick.send_replace(revision);
    }
}

/// The store.
#[derive(Debug)]
pub struct Store {
    shared: Arc<Shared>,
    committer: Committer,
}

impl Store {
    /// A store that starts from `state` and forgets everything when it is dropped.
    #[must_use]
    pub fn in_memory(state: State, retention: Retention) -> Self {
        Self::start(state, None, retention)
    }

    /// A store that keeps its writes in `backend`.
    pub fn durable(mut backend: Box<dyn Backend>, retention: Retention) -> Result<Self, BackendError> {
        let loaded = backend.load()?;
        let mut state = State::default();
        for (resource, object) in loaded.objects {
            state.put(&resource, Arc::new(object));
        }
        state.revision = loaded.revision;
        Ok(Self::start(state, Some(backend), retention))
    }

    fn start(mut state: State, backend: Option<Box<dyn Backend>>, retention: Retention) -> Self {
        // Clients take resourceVersion 0 to mean "any", so real revisions start above it.
        state.revision = state.revision.max(1);
        let shared = Arc::new(Shared {
            visible: ArcSwap::from_pointee(state.clone()),
            logs: RwLock::default(),
            opened_at: state.revision,
            retention,
            tick: watch::Sender::new(state.revision),
            failed: CancellationToken::new(),
        });
        let committer = Committer::start(shared.clone(), state, backend);
        Self { shared, committer }
    }

    /// What readers see: every durable write, nothing else.
    #[must_use]
    pub fn visible(&self) -> Arc<State> {
        self.shared.visible.load_full()
    }

    /// What writers build on: it may hold writes that are accepted but not yet durable.
    #[must_use]
    pub fn accepted(&self) -> State {
        self.committer.accepted()
    }

    /// Accepts one write, and returns once it is durable and visible.
    pub async fn commit(&self, change: Change) -> Result<Arc<Object>, CommitError> {
        self.committer.commit(change).await
    }

    /// Returns once everything up to `revision` is durable and visible.
    pub async fn settled(&self, revision: u64) -> Result<(), CommitError> {
        let mut tick = self.shared.tick.subscribe();
        tokio::select! {
            biased;
            reached = tick.wait_for(|visible| *visible >= revision) => {
                reached.map(|_| ()).map_err(|_| CommitError::Closed)
            }
            () = self.shared.failed.cancelled() => Err(CommitError::Failed),
        }
    }

    /// Resolves when the backend can keep no more writes.
    pub async fn failed(&self) {
        self.shared.failed.cancelled().await;
    }

    /// Whether the backend can keep no more writes.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.shared.failed.is_cancelled()
    }

    /// The history of a table.
    #[must_use]
    pub fn log(&self, resource: &ResourceId) -> Arc<Log> {
        self.shared.log(resource)
    }

    /// The changes of all tables with `after < revision <= upto`, in order.
    pub fn changes(&self, after: u64, upto: u64) -> Result<Vec<(ResourceId, Arc<Event>)>, Expired> {
        let logs: Vec<(ResourceId, Arc<Log>)> = self
            .shared
            .logs
            .read()
            .iter()
            .map(|(resource, log)| (resource.clone(), log.clone()))
            .collect();
        let mut changes = Vec::new();
        for (resource, log) in logs {
            for event in log.between(after, upto, usize::MAX)? {
                changes.push((resource.clone(), event));
            }
        }
        changes.sort_by_key(|(_, event)| event.revision());
        Ok(changes)
    }

    /// Tells the newest visible revision.
    #[must_use]
    pub fn ticks(&self) -> watch::Receiver<u64> {
        self.shared.tick.subscribe()
    }

    /// A table as it was at an earlier revision, rebuilt by undoing the changes since.
    pub fn table_at(&self, resource: &ResourceId, revision: u64) -> Result<Table, Expired> {
        let state = self.visible();
        let mut table = state.table(resource);
        let since = self.log(resource).between(revision, state.revision, usize::MAX)?;
        for event in since.iter().rev() {
            match &event.previous {
                Some(previous) => table.insert(previous.key.clone(), previous.clone()),
                None => table.remove(&event.object.key),
            };
        }
        Ok(table)
    }

    /// Finishes accepted writes and stops accepting new ones.
    pub async fn close(&self) {
        self.committer.close().await;
    }
}

#[cfg(test)]
mod tests;
