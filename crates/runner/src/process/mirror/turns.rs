//! Turns: one at a time for each of many things.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

type Locks<K> = Arc<Mutex<HashMap<K, Arc<tokio::sync::Mutex<()>>>>>;

/// Hands out turns. Cloning shares them.
#[derive(Clone, Debug)]
pub(super) struct Turns<K>(Locks<K>);

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Clone + Eq + Hash> Turns<K> {
    /// Waits for a turn, which lasts until it is dropped.
    pub(super) async fn take(&self, of: &K) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock();
            // What is neither held nor waited for is only here.
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            locks.entry(of.clone()).or_default().clone()
        };
        lock.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_at_a_time_for_each() {
        let turns = Turns::default();
        let first = turns.take(&"a").await;
        assert!(turns.take(&"a").now_or_never().is_none());
        let other = turns.take(&"b").now_or_never();
        assert!(other.is_some());
        let mut waiting = Box::pin(turns.take(&"a"));
        assert!((&mut waiting).now_or_never().is_none());
        // Others come and go meanwhile.
        drop(other);
        drop(turns.take(&"c").await);
        drop(first);
        let second = waiting.await;
        assert!(turns.take(&"a").now_or_never().is_none());
        drop(second);
        drop(turns.take(&"d").await);
        assert_eq!(turns.0.lock().len(), 1, "only the last one is remembered");
    }
}
