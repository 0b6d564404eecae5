//! Objects that have to be looked at: each at most once at a time, and none twice for two reasons.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::key::ObjectKey;

/// Objects that have to be looked at.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    woken: Notify,
}

#[derive(Default)]
struct State {
    /// When each object is due. What is being looked at waits here until that is over.
    due: HashMap<ObjectKey, Instant>,
    /// The same by time, without what is being looked at. The number keeps the order of equal times.
    order: BTreeMap<(Instant, u64), ObjectKey>,
    places: HashMap<ObjectKey, (Instant, u64)>,
    running: HashSet<ObjectKey>,
    counter: u64,
}

impl Queue {
    /// An object has to be looked at now.
    pub(crate) fn wake(&self, key: &ObjectKey) {
        self.wake_at(key, Instant::now());
    }

    /// An object has to be looked at after a while, if nothing happens before.
    pub(crate) fn wake_after(&self, key: &ObjectKey, delay: Duration) {
        self.wake_at(key, Instant::now() + delay);
    }

    fn wake_at(&self, key: &ObjectKey, when: Instant) {
        self.state.lock().schedule(key, when);
        self.woken.notify_one();
    }

    /// How many objects wait.
    pub(crate) fn depth(&self) -> usize {
        self.state.lock().due.len()
    }

    /// Waits for the next object that is due and takes it. It must be given back by [`Queue::done`].
    pub(crate) async fn next(&self) -> ObjectKey {
        loop {
            let next = match self.state.lock().take(Instant::now()) {
                Ok(key) => return key,
                Err(next) => next,
            };
            match next {
                Some(when) => tokio::select! {
                    () = sleep_until(when) => {}
                    () = self.woken.notified() => {}
                },
                None => self.woken.notified().await,
            }
        }
    }

    /// An object was looked at.
    pub(crate) fn done(&self, key: &ObjectKey) {
        let mut state = self.state.lock();
        state.running.remove(key);
        if let Some(when) = state.due.get(key).copied() {
            state.place(key, when);
            drop(state);
            self.woken.notify_one();
        }
    }
}

impl State {
    fn schedule(&mut self, key: &ObjectKey, when: Instant) {
        if self.due.get(key).is_some_and(|due| *due <= when) {
            return;
        }
        self.due.insert(key.clone(), when);
        if !self.running.contains(key) {
            self.place(key, when);
        }
    }

    fn place(&mut self, key: &ObjectKey, when: Instant) {
        if let Some(place) = self.places.remove(key) {
            self.order.remove(&place);
        }
        self.counter += 1;
        let place = (when, self.counter);
        self.order.insert(place, key.clone());
        self.places.insert(key.clone(), place);
    }

    /// The next object that is due, or when there will be one.
    fn take(&mut self, now: Instant) -> Result<ObjectKey, Option<Instant>> {
        let Some(entry) = self.order.first_entry() else {
            return Err(None);
        };
        let (when, _) = *entry.key();
        if when > now {
            return Err(Some(when));
        }
        let key = entry.remove();
        self.places.remove(&key);
        self.due.remove(&key);
        self.running.insert(key.clone());
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::cluster_scoped(name)
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_is_looked_at_once_for_many_reasons_and_again_for_a_later_one() {
        let queue = Queue::default();
        queue.wake(&key("a"));
        queue.wake(&key("b"));
        queue.wake(&key("a"));
        assert_eq!(queue.next().await, key("a"));
        assert_eq!(queue.next().await, key("b"));
        assert_eq!(queue.depth(), 0);
        // Woken while it is being looked at: it waits until that is over.
        queue.wake(&key("a"));
        assert!(
            tokio::time::timeout(Duration::from_secs(1), queue.next())
                .await
                .is_err()
        );
        queue.done(&key("a"));
        assert_eq!(queue.next().await, key("a"));
        queue.done(&key("a"));
        assert_eq!(queue.depth(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_reason_counts() {
        let queue = Queue::default();
        let started = Instant::now();
        queue.wake_after(&key("a"), Duration::from_secs(60));
        queue.wake_after(&key("a"), Duration::from_secs(5));
        queue.wake_after(&key("a"), Duration::from_secs(30));
        assert_eq!(queue.next().await, key("a"));
        assert_eq!(started.elapsed().as_secs(), 5);
        queue.done(&key("a"));
        assert!(
            tokio::time::timeout(Duration::from_secs(120), queue.next())
                .await
                .is_err(),
            "the later ones are not kept"
        );
    }
}
