//! Keeps asking API servers of clusters whether they answer, as often as decisions want to know, and wakes whoever read
//! an answer when it changes.
//!
//! Nobody is woken because a minute has passed and the answer is the same: that would cost requests for nothing.
//!
//! This module must never know what follows from an answer.

mod asking;

pub use asking::{Endpoints, NetworkEndpoints};

use std::{collections::HashMap, sync::Arc, time::Duration};

use capt_api::endpoint::ApiEndpoint;
use capt_core::controlplane::{
    ProbeWish,
    snapshot::{Probe, Silence},
};
use k8s_openapi::jiff::Timestamp;
use parking_lot::Mutex;
use tokio::{sync::Semaphore, task::JoinSet, time::timeout};

use self::asking::DEADLINE;
use crate::{
    Clock,
    engine::{
        key::ObjectKey,
        queue::Queue,
        settling::Unsettled,
        table::{Row, Table},
        wakes::{Reader, Wakes},
    },
};

/// How many are asked at the same time.
const AT_ONCE: usize = 32;
/// How long a first answer is worth waiting for.
const MOMENT: Duration = Duration::from_secs(1);

/// Keeps asking API servers.
pub(super) struct Prober {
    endpoints: Arc<dyn Endpoints>,
    clock: Clock,
    queue: Queue,
    wishes: Mutex<HashMap<ObjectKey, Wish>>,
    unsettled: Mutex<Unsettled>,
    answers: Table<Answer>,
}

/// What is wished for an object, and when it was last fulfilled.
#[derive(Clone)]
struct Wish {
    wish: ProbeWish,
    seen_at: Option<Timestamp>,
}

impl Wish {
    fn is_for(&self, other: &ProbeWish) -> bool {
        self.wish.endpoint == other.endpoint && self.wish.ca == other.ca
    }
}

/// What is worth waking somebody for.
#[derive(Clone, Debug, PartialEq)]
struct Answer {
    endpoint: ApiEndpoint,
    silence: Option<(Timestamp, Silence)>,
}

impl Prober {
    pub(super) fn new(endpoints: Arc<dyn Endpoints>, clock: Clock, wakes: &Arc<Wakes>) -> Self {
        Self {
            endpoints,
            clock,
            queue: Queue::default(),
            wishes: Mutex::default(),
            unsettled: Mutex::default(),
            answers: Table::new("answers of endpoints", wakes, &[]),
        }
    }

    /// Says what an object wants to know from now on; what it wanted before is forgotten.
    pub(super) fn wish(&self, key: &ObjectKey, wish: Option<ProbeWish>) {
        let Some(wish) = wish else {
            if self.wishes.lock().remove(key).is_some() {
                self.answers.delete(key.clone(), 0);
            }
            return;
        };
        let mut wishes = self.wishes.lock();
        let every = wish.every;
        match wishes.get_mut(key) {
            Some(known) if known.is_for(&wish) => {
                known.wish.every = every;
                drop(wishes);
                // The earlier of this and what is planned counts.
                self.queue.wake_after(key, every);
            }
            _ => {
                wishes.insert(key.clone(), Wish { wish, seen_at: None });
                drop(wishes);
                self.unsettled.lock().note();
                self.answers.delete(key.clone(), 0);
                self.queue.wake(key);
            }
        }
    }

    /// Gives back the room that was needed only while many came. Tells whether it has to be asked again.
    pub(super) fn tidy(&self) -> bool {
        let mut wishes = self.wishes.lock();
        let mut unsettled = self.unsettled.lock();
        let is_pending = unsettled.is_pending();
        if unsettled.is_worth_it(wishes.len()) {
            // All copies are made before the first of the old ones is given back.
            let copies = wishes.iter().map(|(key, known)| (key.copied(), known.clone()));
            *wishes = copies.collect();
            drop(wishes);
            self.answers.settle();
            self.queue.settle();
        }
        is_pending
    }

    /// What was last seen for an object.
    pub(super) fn seen(&self, reader: &Reader, key: &ObjectKey) -> Option<Probe> {
        self.answers.get(reader, key)?;
        self.told(key)
    }

    /// Waits a moment for the first answer about an object, and gives it.
    pub(super) async fn first(&self, key: &ObjectKey) -> Option<Probe> {
        let mut changes = self.answers.changes();
        let answered = async {
            while self.answers.peek(key).is_none() {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        // Whoever answers later wakes the object.
        let _ = timeout(MOMENT, answered).await;
        self.told(key)
    }

    fn told(&self, key: &ObjectKey) -> Option<Probe> {
        let answer = self.answers.peek(key)?;
        let seen_at = self.wishes.lock().get(key)?.seen_at?;
        Some(Probe {
            endpoint: answer.endpoint.clone(),
            seen_at,
            silence: answer.silence.clone(),
        })
    }

    /// Keeps asking. Never ends.
    pub(super) async fn run(self: Arc<Self>) {
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        let mut asking = JoinSet::new();
        loop {
            let slot = slots.clone().acquire_owned().await;
            let key = self.queue.next().await;
            while asking.try_join_next().is_some() {}
            let prober = self.clone();
            asking.spawn(async move {
                let _slot = slot;
                prober.ask(&key).await;
                prober.queue.done(&key);
            });
        }
    }

    async fn ask(&self, key: &ObjectKey) {
        let Some(wish) = self.wishes.lock().get(key).map(|known| known.wish.clone()) else {
            return;
        };
        let asked = timeout(DEADLINE, self.endpoints.ask(&wish.endpoint, wish.ca.as_deref())).await;
        let answer = asked.unwrap_or_else(|_| {
            let why = format!("no answer within {} seconds", DEADLINE.as_secs());
            Err(Silence::Nobody(why))
        });
        let now = (self.clock)();
        let every = {
            let mut wishes = self.wishes.lock();
            let Some(known) = wishes.get_mut(key).filter(|known| known.is_for(&wish)) else {
                return;
            };
            known.seen_at = Some(now);
            known.wish.every
        };
        self.put(key, &wish, answer, now);
        self.queue.wake_after(key, every);
    }

    fn put(&self, key: &ObjectKey, wish: &ProbeWish, answer: Result<(), Silence>, now: Timestamp) {
        let before = self.answers.peek(key).and_then(|answer| answer.silence.clone());
        let since = before.map_or(now, |(since, _)| since);
        self.answers.apply(Row {
            key: key.clone(),
            version: 0,
            value: Some(Answer {
                endpoint: wish.endpoint.clone(),
                silence: answer.err().map(|why| (since, why)),
            }),
        });
    }
}

#[cfg(test)]
mod tests;
