//! Takes objects from a queue and looks at them, several at a time, each at most once at a time.
//!
//! Whoever wrote something looks again only when its tables show what it wrote, so that nothing is decided twice. Who only
//! said something in its status, and sees nothing else than that, has time: nothing is to be done, but perhaps something is
//! to be waited for. What failed is tried again, more and more slowly.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::{Notify, Semaphore},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    execute::{Failure, Untold, Writes, Written},
    key::ObjectKey,
    queue::{Queue, Reason},
};
use crate::metrics::Metrics;

/// How long it is waited for a table to show what was written. Usually the table wakes the object itself when it does.
const CATCHING_UP: Duration = Duration::from_secs(2);
/// When it is looked for the first time whether it does, although nothing woke the object. Every further look waits twice as
/// long.
const CATCHING_UP_STEP: Duration = Duration::from_millis(20);
/// When it is looked at an object that changed only by what was said in its status. Usually something happens before.
const ECHO: Duration = Duration::from_secs(1);
/// What somebody changed meanwhile is usually known a moment later, and then wakes the object anyway.
const FIRST_LOOK: Duration = Duration::from_millis(200);
const FIRST_TRY: Duration = Duration::from_secs(1);
const LAST_TRY: Duration = Duration::from_secs(300);
/// How often it is forgotten what is of use only for a moment, when there is any such.
const TIDIES_UP: Duration = Duration::from_secs(5);
/// How long what is being written may take when the controllers stop.
const GOODBYE: Duration = Duration::from_secs(5);

/// One kind of object to look at.
pub(crate) trait Reconcile: Send + Sync + 'static {
    /// What the controller is called.
    const NAME: &'static str;

    /// Looks at an object and does what is decided. What is written is noted even if it fails later on.
    fn reconcile(
        &self,
        key: &ObjectKey,
        written: &mut Writes,
    ) -> impl Future<Output = Result<Outcome, Failure>> + Send;

    /// Whether the tables show what was written.
    fn has_seen(&self, written: &Written) -> bool;

    /// Forgets what is of use only while there is much to do. Tells whether anything is left to forget the next time.
    fn tidy(&self) -> bool {
        false
    }

    /// Says to people that something cannot be done.
    fn failed(&self, key: &ObjectKey, failure: &Failure) -> impl Future<Output = ()> + Send;
}

/// What came of looking at an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// When to look again although nothing happened.
    pub(crate) look_again: Option<Duration>,
}

/// What is remembered between two looks at an object.
#[derive(Default)]
struct Memory {
    attempts: HashMap<ObjectKey, u32>,
    written: HashMap<ObjectKey, Recent>,
    /// Whose status was left to the next look.
    untold: HashMap<ObjectKey, Untold>,
}

impl Memory {
    /// What was not told of an object, and of how many others there is such.
    fn untold(&self, key: &ObjectKey) -> Untold {
        Untold {
            objects: self.untold.len(),
            ..self.untold.get(key).copied().unwrap_or_default()
        }
    }
}

impl Memory {
    /// Forgets what was written so long ago that nobody waits for it. Tells whether anything is left.
    fn tidy(&mut self) -> bool {
        self.written
            .retain(|_, recent| recent.since.elapsed() < CATCHING_UP);
        if self.written.is_empty() {
            self.written = HashMap::new();
        }
        !self.written.is_empty()
    }
}

/// What was written at the last look.
struct Recent {
    written: Vec<Written>,
    /// The version that the object got by its status, if that was all.
    only_told: Option<u64>,
    /// When it was to be looked at again.
    next: Option<Instant>,
    since: Instant,
    /// How often the tables did not show it yet.
    looks: u32,
}

/// A controller at work.
pub(crate) struct Worker<R> {
    reconciler: R,
    queue: Arc<Queue>,
    metrics: Metrics,
    memory: Mutex<Memory>,
    /// There is something to tidy up again.
    used: Notify,
}

impl<R: Reconcile> Worker<R> {
    /// Looks at what is in the queue.
    pub(crate) fn new(reconciler: R, queue: Arc<Queue>, metrics: Metrics) -> Arc<Self> {
        Arc::new(Self {
            reconciler,
            queue,
            metrics,
            memory: Mutex::default(),
            used: Notify::new(),
        })
    }

    /// Works until it is told to stop.
    pub(crate) async fn work(self: Arc<Self>, concurrency: usize, stop: CancellationToken) {
        let slots = Arc::new(Semaphore::new(concurrency.max(1)));
        let mut tidying = pin!(self.tidy_up());
        let mut tasks = JoinSet::new();
        loop {
            let next = async {
                let slot = slots.clone().acquire_owned().await;
                (self.queue.next_with_reason().await, slot)
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = &mut tidying => {}
                Some(ended) = tasks.join_next(), if !tasks.is_empty() => self.check(ended),
                ((key, reason), slot) = next => {
                    let worker = self.clone();
                    let looked_at = key.clone();
                    tasks.spawn(async move {
                        // Given back also if looking at the object panics.
                        let _slot = slot;
                        let guard = GivenBack { queue: &worker.queue, key: &looked_at };
                        worker.look_at(&looked_at, reason).await;
                        drop(guard);
                    });
                }
            }
        }
        let _ = timeout(GOODBYE, async { while tasks.join_next().await.is_some() {} }).await;
    }

    /// Forgets, now and then, what is of use only for a moment. Never ends.
    async fn tidy_up(&self) {
        loop {
            self.used.notified().await;
            loop {
                sleep(TIDIES_UP).await;
                let (ours, its) = (self.memory.lock().tidy(), self.reconciler.tidy());
                if !ours && !its {
                    self.queue.settle();
                    break;
                }
            }
        }
    }

    fn check(&self, ended: Result<(), tokio::task::JoinError>) {
        if let Err(error) = ended {
            self.metrics.reconciled(R::NAME, "panicked", Duration::ZERO);
            tracing::error!(controller = R::NAME, %error, "looking at an object ended in the middle");
        }
    }

    async fn look_at(&self, key: &ObjectKey, reason: Reason) {
        if let Some(delay) = self.is_echo(key, reason).or_else(|| self.is_behind(key)) {
            self.queue.wake_after(key, delay);
            return;
        }
        let started = Instant::now();
        let mut writes = Writes {
            untold: self.memory.lock().untold(key),
            ..Writes::default()
        };
        let outcome = self.reconciler.reconcile(key, &mut writes).await;
        self.used.notify_one();
        self.metrics.queued(R::NAME, self.queue.depth());
        let look_again = outcome.as_ref().ok().and_then(|outcome| outcome.look_again);
        self.remember(key, &mut writes, look_again);
        match outcome {
            Ok(outcome) => {
                self.memory.lock().attempts.remove(key);
                if let Some(delay) = outcome.look_again {
                    self.queue.wake_after(key, delay);
                }
                if let Some(delay) = writes.tells_after {
                    self.queue.wake_after(key, delay);
                }
                self.metrics.reconciled(R::NAME, "done", started.elapsed());
            }
            Err(failure) => {
                let attempt = self.next_attempt(key);
                let is_moved = matches!(failure, Failure::Moved { .. });
                let first = if is_moved { FIRST_LOOK } else { FIRST_TRY };
                let delay = delay(first, attempt, key);
                let outcome = if is_moved { "moved" } else { "failed" };
                self.metrics.reconciled(R::NAME, outcome, started.elapsed());
                if is_moved {
                    tracing::debug!(controller = R::NAME, object = %key, %failure, "looks again");
                } else {
                    let error = chain(&failure);
                    tracing::warn!(controller = R::NAME, object = %key, error, ?delay, "tries again");
                    self.reconciler.failed(key, &failure).await;
                }
                self.queue.wake_after(key, delay);
            }
        }
    }

    fn next_attempt(&self, key: &ObjectKey) -> u32 {
        let mut memory = self.memory.lock();
        let attempts = memory.attempts.entry(key.clone()).or_default();
        *attempts = attempts.saturating_add(1);
        *attempts
    }

    /// How long to wait if all that is new is what the last look said in the object's status.
    fn is_echo(&self, key: &ObjectKey, reason: Reason) -> Option<Duration> {
        let Reason::Own(version) = reason else { return None };
        let memory = self.memory.lock();
        let recent = memory.written.get(key)?;
        let next = recent
            .next
            .map_or(ECHO, |next| next.duration_since(Instant::now()));
        (recent.only_told == Some(version)).then_some(next.min(ECHO))
    }

    /// How long to wait if the tables do not show yet what was written at the last look.
    fn is_behind(&self, key: &ObjectKey) -> Option<Duration> {
        let mut memory = self.memory.lock();
        let recent = memory.written.get_mut(key)?;
        let is_seen = recent
            .written
            .iter()
            .all(|written| self.reconciler.has_seen(written));
        let rest = CATCHING_UP.saturating_sub(recent.since.elapsed());
        if is_seen || rest.is_zero() {
            memory.written.remove(key);
            return None;
        }
        let step = CATCHING_UP_STEP * 2u32.pow(recent.looks.min(8));
        recent.looks += 1;
        // Something else happened, which must not wait for longer than that.
        recent.only_told = None;
        Some(step.min(rest))
    }

    fn remember(&self, key: &ObjectKey, writes: &mut Writes, look_again: Option<Duration>) {
        let mut memory = self.memory.lock();
        let written = std::mem::take(&mut writes.all);
        if !written.is_empty() {
            let since = Instant::now();
            let recent = Recent {
                written,
                only_told: writes.only_told,
                next: look_again.map(|delay| since + delay),
                since,
                looks: 0,
            };
            memory.written.insert(key.clone(), recent);
        }
        if writes.tells_after.is_some() {
            let untold = Untold {
                looks: writes.untold.looks + 1,
                since: writes.untold.since.or_else(|| Some(Instant::now())),
                objects: 0,
            };
            memory.untold.insert(key.clone(), untold);
        } else {
            memory.untold.remove(key);
        }
    }
}

/// Gives an object back to its queue, whatever happens to whoever looks at it.
struct GivenBack<'a> {
    queue: &'a Queue,
    key: &'a ObjectKey,
}

impl Drop for GivenBack<'_> {
    fn drop(&mut self) {
        self.queue.done(self.key);
    }
}

/// An error with everything that led to it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

/// How long to wait before the next try: twice as long each time, and a little off, so that not everybody comes at once.
fn delay(first: Duration, attempt: u32, key: &ObjectKey) -> Duration {
    let doublings = attempt.saturating_sub(1).min(16);
    let delay = first.saturating_mul(2u32.saturating_pow(doublings)).min(LAST_TRY);
    let mut hasher = DefaultHasher::new();
    (key, attempt).hash(&mut hasher);
    let share = u32::try_from(hasher.finish() % 256).unwrap_or_default();
    delay - delay / 4 * share / 256
}

#[cfg(test)]
mod tests;
