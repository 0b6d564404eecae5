//! Ordering writes and making them durable, many at a time.

use std::fmt;
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::backend::{Backend, Record};
use super::log::{Event, EventKind};
use super::object::{Draft, Object, ObjectKey, ResourceId};
use super::{Shared, State};

/// What must be true for a write to be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// No object has this key.
    Absent,
    /// The object has this revision.
    Revision(u64),
}

/// What to write.
#[derive(Debug)]
pub enum Write {
    /// The new version.
    Put(Draft),
    /// Remove it; the draft is its last version, as watchers will see it.
    Remove(Draft),
}

/// Another object that must be there, not being deleted, for a write to make sense.
#[derive(Debug, Clone)]
pub struct Requirement {
    /// Its table.
    pub resource: ResourceId,
    /// Its place.
    pub key: ObjectKey,
    /// Its uid, if it must be that very one.
    pub uid: Option<Box<str>>,
}

/// One write.
#[derive(Debug)]
pub struct Change {
    /// The table.
    pub resource: ResourceId,
    /// The condition.
    pub expect: Expect,
    /// The write.
    pub write: Write,
    /// What must be there besides.
    pub requires: Vec<Requirement>,
}

/// Why a write was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The condition does not hold.
    #[error("the object was changed or created meanwhile")]
    Conflict,
    /// Something that the write depends on is gone, or going.
    #[error("what the object belongs to is gone")]
    Orphaned,
    /// The store is shutting down.
    #[error("the store is shutting down")]
    Closed,
    /// The backend failed, and no write can be promised any more.
    #[error("writes can no longer be kept")]
    Failed,
}

pub(super) struct Committer {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    durable: bool,
}

struct Queue {
    accepted: Mutex<Accepted>,
    work: Condvar,
}

struct Accepted {
    state: State,
    batch: Vec<Pending>,
    closed: bool,
    finished: Vec<oneshot::Sender<()>>,
}

struct Pending {
    resource: ResourceId,
    event: Arc<Event>,
    done: oneshot::Sender<()>,
}

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer")
            .field("durable", &self.durable)
            .finish_non_exhaustive()
    }
}

impl Committer {
    pub(super) fn start(shared: Arc<Shared>, state: State, backend: Option<Box<dyn Backend>>) -> Self {
        let queue = Arc::new(Queue {
            accepted: Mutex::new(Accepted {
                state,
                batch: Vec::new(),
                closed: false,
                finished: Vec::new(),
            }),
            work: Condvar::new(),
        });
        let durable = backend.is_some();
        if let Some(backend) = backend {
            let (queue, shared) = (queue.clone(), shared.clone());
            thread::spawn(move || persist_batches(&queue, &shared, backend));
        }
        Self {
            shared,
            queue,
            durable,
        }
    }

    pub(super) fn accepted(&self) -> State {
        self.queue.accepted.lock().state.clone()
    }

    pub(super) async fn commit(&self, change: Change) -> Result<Arc<Object>, CommitError> {
        let (object, durable) = {
            let mut accepted = self.queue.accepted.lock();
            if accepted.closed {
                return Err(self.shared.closed_error());
            }
            let resource = change.resource.clone();
            let event = Arc::new(accepted.accept(change)?);
            let object = event.object.clone();
            if self.durable {
                let (done, durable) = oneshot::channel();
                accepted.batch.push(Pending {
                    resource,
                    event,
                    done,
                });
                self.queue.work.notify_one();
                (object, Some(durable))
            } else {
                self.shared.publish(accepted.state.clone(), &[(resource, event)]);
                (object, None)
            }
        };
        match durable {
            Some(durable) => durable
                .await
                .map(|()| object)
                .map_err(|_| self.shared.closed_error()),
            None => Ok(object),
        }
    }

    pub(super) async fn close(&self) {
        let finished = {
            let mut accepted = self.queue.accepted.lock();
            let was_closed = std::mem::replace(&mut accepted.closed, true);
            if !self.durable || was_closed {
                return;
            }
            let (sender, finished) = oneshot::channel();
            accepted.finished.push(sender);
            self.queue.work.notify_one();
            finished
        };
        // An error means that the thread has ended already.
        let _ = finished.await;
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.queue.accepted.lock().closed = true;
        self.queue.work.notify_one();
    }
}

impl Accepted {
    fn has(&self, needed: &Requirement) -> bool {
        self.state
            .get(&needed.resource, &needed.key)
            .is_some_and(|found| !found.deleting && needed.uid.as_ref().is_none_or(|uid| *uid == found.uid))
    }

    fn accept(&mut self, change: Change) -> Result<Event, CommitError> {
        let Change {
            resource,
            expect,
            write,
            requires,
        } = change;
        let key = match &write {
            Write::Put(draft) | Write::Remove(draft) => draft.key(),
        };
        let current = self.state.get(&resource, key).map(|object| object.revision);
        let holds = match expect {
            Expect::Absent => current.is_none(),
            Expect::Revision(revision) => current == Some(revision),
        };
        if !holds {
            return Err(CommitError::Conflict);
        }
        if !requires.iter().all(|needed| self.has(needed)) {
            return Err(CommitError::Orphaned);
        }
        let revision = self.state.revision + 1;
        Ok(match write {
            Write::Put(draft) => {
                let object = Arc::new(draft.at(revision));
                let previous = self.state.put(&resource, object.clone());
                let kind = if previous.is_some() {
                    EventKind::Modified
                } else {
                    EventKind::Added
                };
                Event::new(kind, object, previous)
            }
            Write::Remove(draft) => {
                let object = Arc::new(draft.at(revision));
                let previous = self.state.remove(&resource, &object.key, revision);
                Event::new(EventKind::Deleted, object, previous)
            }
        })
    }
}

/// The committing thread: takes whatever has been accepted, makes it durable in one go, publishes and answers.
fn persist_batches(queue: &Queue, shared: &Shared, mut backend: Box<dyn Backend>) {
    // Whatever ends this thread early, a panic included, ends all promises with it.
    let mut broken = BrokenUnlessDisarmed {
        queue,
        shared,
        armed: true,
    };
    loop {
        let (batch, state) = {
            let mut accepted = queue.accepted.lock();
            while accepted.batch.is_empty() {
                if accepted.closed {
                    let finished = std::mem::take(&mut accepted.finished);
                    drop(accepted);
                    // Whoever waits may open the file again at once.
                    drop(backend);
                    broken.armed = false;
                    for waiting in finished {
                        let _ = waiting.send(());
                    }
                    return;
                }
                queue.work.wait(&mut accepted);
            }
            (std::mem::take(&mut accepted.batch), accepted.state.clone())
        };
        let records: Vec<Record> = batch.iter().map(Pending::record).collect();
        if let Err(error) = backend.persist(state.revision, &records) {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "writes can no longer be kept"
            );
            // Before the batch goes, so that its writers learn the right reason.
            drop(broken);
            return;
        }
        let events: Vec<_> = batch
            .iter()
            .map(|pending| (pending.resource.clone(), pending.event.clone()))
            .collect();
        shared.publish(state, &events);
        for pending in batch {
            // The writer may have gone away; its write stands all the same.
            let _ = pending.done.send(());
        }
    }
}

/// Refuses all further writes when dropped armed: what they would build on is not on disk.
struct BrokenUnlessDisarmed<'a> {
    queue: &'a Queue,
    shared: &'a Shared,
    armed: bool,
}

impl Drop for BrokenUnlessDisarmed<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        self.shared.failed.cancel();
        let mut accepted = self.queue.accepted.lock();
        accepted.closed = true;
        accepted.batch.clear();
        accepted.finished.clear();
        accepted.state = State::clone(&self.shared.visible.load());
    }
}

impl Pending {
    fn record(&self) -> Record {
        match self.event.kind {
            EventKind::Deleted => Record::Remove(self.resource.clone(), self.event.object.key.clone()),
            EventKind::Added | EventKind::Modified => {
                Record::Put(self.resource.clone(), self.event.object.clone())
            }
        }
    }
}
