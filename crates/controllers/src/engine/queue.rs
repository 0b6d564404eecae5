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

/// Why an object has to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It got this version, and nothing else that it depends on changed. No version is 0.
    Own(u64),
    /// Anything else.
    Any,
}

/// Objects that have to be looked at.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    woken: Notify,
}

#[derive(Default)]
struct State {
    /// When each object is due, and why. What is being looked at waits here until that is over.
    due: HashMap<ObjectKey, (Instant, Reason)>,
    /// The same by time, without what is being looked at. The number keeps the order of equal times.
    order: BTreeMap<(Instant, u64), ObjectKey>,
    places: HashMap<ObjectKey, (Instant, u64)>,
    running: HashSet<ObjectKey>,
    counter: u64,
}

impl Queue {
    /// An object has to be looked at now.
    pub(crate) fn wake(&self, key: &ObjectKey) {
        self.wake_at(key, Instant::now(), Reason::Any);
    }

    /// An object has to be looked at now, because it got this version.
    pub(crate) fn wake_changed(&self, key: &ObjectKey, version: u64) {
        self.wake_at(key, Instant::now(), Reason::Own(version));
    }

    /// An object has to be looked at after a while, if nothing happens before.
    pub(crate) fn wake_after(&self, key: &ObjectKey, delay: Duration) {
        self.wake_at(key, Instant::now() + delay, Reason::Any);
    }

    fn wake_at(&self, key: &ObjectKey, when: Instant, reason: Reason) {
        self.state.lock().schedule(key, when, reason);
        self.woken.notify_one();
    }

    /// How many objects wait.
    pub(crate) fn depth(&self) -> usize {
        self.state.lock().due.len()
    }

    /// Waits for the next object that is due and takes it. It must be given back by [`Queue::done`].
    pub(crate) async fn next(&self) -> ObjectKey {
        self.next_with_reason().await.0
    }

    /// The same, with why it is due.
    pub(crate) async fn next_with_reason(&self) -> (ObjectKey, Reason) {
        loop {
            let next = match self.state.lock().take(Instant::now()) {
                Ok(due) => return due,
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

    /// Gives back the room that was needed only while there was much to do.
    pub(crate) fn settle(&self) {
        self.state.lock().settle();
    }

    /// An object was looked at.
    pub(crate) fn done(&self, key: &ObjectKey) {
        let mut state = self.state.lock();
        state.running.remove(key);
        if let Some((when, _)) = state.due.get(key).copied() {
            state.place(key, when);
            drop(state);
            self.woken.notify_one();
        }
    }
}

impl State {
    /// Copies are made before that is given back of which they are: what was just given back would be taken again.
    fn settle(&mut self) {
        let due: HashMap<ObjectKey, (Instant, Reason)> =
            self.due.iter().map(|(key, due)| (key.copied(), *due)).collect();
        let own = |key: &ObjectKey| {
            let known = due.get_key_value(key);
            known.map_or_else(|| key.clone(), |(known, _)| known.clone())
        };
        self.order = self.order.iter().map(|(place, key)| (*place, own(key))).collect();
        self.places = self
            .places
            .iter()
            .map(|(key, place)| (own(key), *place))
            .collect();
        self.due = due;
        self.running.shrink_to_fit();
    }

    fn schedule(&mut self, key: &ObjectKey, when: Instant, reason: Reason) {
        let now = Instant::now();
        let mut reason = reason;
        if let Some((due, known)) = self.due.get_mut(key) {
            // What is due now is due for both reasons.
            if *due <= now && when <= now {
                reason = known.and(reason);
                *known = reason;
            }
            if *due <= when {
                return;
            }
        }
        self.due.insert(key.clone(), (when, reason));
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
    fn take(&mut self, now: Instant) -> Result<(ObjectKey, Reason), Option<Instant>> {
        let Some(entry) = self.order.first_entry() else {
            return Err(None);
        };
        let (when, _) = *entry.key();
        if when > now {
            return Err(Some(when));
        }
        let key = entry.remove();
        self.places.remove(&key);
        let due = self.due.remove(&key);
        self.running.insert(key.clone());
        Ok((key, due.map_or(Reason::Any, |(_, reason)| reason)))
    }
}

impl Reason {
    fn and(self, other: Self) -> Self {
        // Of two versions one is somebody else's.
        if self == other { self } else { Self::Any }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_put_together_is_due_as_before() {
        let queue = Queue::default();
        let now = Instant::now();
        for number in 0..100u32 {
            queue.wake_after(&key(&number.to_string()), Duration::from_secs(u64::from(number)));
        }
        let running = queue.next().await;
        queue.wake_after(&running, Duration::from_secs(200));
        queue.settle();
        assert_eq!(queue.depth(), 100);
        queue.done(&running);
        queue.settle();
        for number in 1..100u64 {
            let next = queue.next().await;
            assert_eq!(
                (next.name(), now.elapsed().as_secs()),
                (number.to_string().as_str(), number)
            );
            queue.done(&next);
        }
        assert_eq!((queue.next().await, now.elapsed().as_secs()), (running, 200));
        assert_eq!(queue.depth(), 0);
    }

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
    async fn it_is_known_whether_an_object_is_due_for_itself_alone() {
        let queue = Queue::default();
        let a = key("a");
        queue.wake_after(&a, Duration::from_secs(60));
        queue.wake_changed(&a, 7);
        assert_eq!(queue.next_with_reason().await, (a.clone(), Reason::Own(7)));
        // While it is being looked at, and in either order.
        queue.wake_changed(&a, 8);
        queue.wake_after(&a, Duration::from_secs(60));
        queue.wake_changed(&a, 8);
        queue.done(&a);
        assert_eq!(queue.next_with_reason().await, (a.clone(), Reason::Own(8)));
        queue.wake_changed(&a, 8);
        queue.wake_changed(&a, 9);
        queue.done(&a);
        assert_eq!(queue.next_with_reason().await, (a.clone(), Reason::Any));
        queue.wake_changed(&a, 10);
        queue.wake(&a);
        queue.done(&a);
        assert_eq!(queue.next_with_reason().await, (a.clone(), Reason::Any));
        queue.wake(&a);
        queue.wake_changed(&a, 11);
        queue.done(&a);
        assert_eq!(queue.next_with_reason().await, (a.clone(), Reason::Any));
        queue.wake_after(&a, Duration::from_secs(60));
        queue.done(&a);
        assert_eq!(queue.next_with_reason().await, (a, Reason::Any));
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
