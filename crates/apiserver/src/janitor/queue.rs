//! What is to be done, and when to try again what failed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::work::{AT_ONCE, Work};

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Queue {
    ready: BTreeSet<Work>,
    failed: BTreeMap<Work, Retry>,
}

#[derive(Debug)]
struct Retry {
    failures: u32,
    due: Instant,
}

impl Queue {
    /// Something gives reason to do this now, even if it failed before.
    pub(super) fn insert(&mut self, work: Work) {
        self.ready.insert(work);
    }

    pub(super) fn extend(&mut self, work: impl IntoIterator<Item = Work>) {
        self.ready.extend(work);
    }

    /// What to do next, all at once; nothing if everything left has to wait.
    pub(super) fn next(&mut self, now: Instant) -> Vec<Work> {
        let due = self.failed.iter().filter(|(_, retry)| retry.due <= now);
        self.ready.extend(due.map(|(work, _)| work.clone()));
        let mut batch: Vec<Work> = self.ready.pop_first().into_iter().collect();
        while batch.len() < AT_ONCE
            && batch.first().is_some_and(Work::is_independent)
            && self.ready.first().is_some_and(Work::is_independent)
        {
            batch.extend(self.ready.pop_first());
        }
        batch
    }

    pub(super) fn done(&mut self, work: &Work) {
        self.failed.remove(work);
    }

    /// Keeps it for another try, later each time.
    pub(super) fn failed(&mut self, work: Work, now: Instant) {
        let failures = self.failed.get(&work).map_or(0, |retry| retry.failures);
        let delay = FIRST_DELAY.saturating_mul(2_u32.saturating_pow(failures));
        let retry = Retry {
            failures: failures.saturating_add(1),
            due: now + delay.min(LONGEST_DELAY),
        };
        self.failed.insert(work, retry);
    }

    /// When the first of those that failed is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.failed.values().map(|retry| retry.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ObjectKey;

    #[tokio::test(start_paused = true)]
    async fn what_failed_waits_for_its_time_and_longer_each_time() {
        let start = Instant::now();
        let seconds = Duration::from_secs;
        let item = Work::Namespace("n".to_owned());
        let mut queue = Queue::default();
        let mut now = start;
        for delay in [1, 2, 4, 8, 16, 32, 60, 60] {
            queue.failed(item.clone(), now);
            assert_eq!(queue.next_due(), Some(now + seconds(delay)));
            assert_eq!(queue.next(now), [], "not before its time");
            queue.insert(Work::Expire);
            assert_eq!(queue.next(now), [Work::Expire], "others are not held up");
            now += seconds(delay);
            assert_eq!(queue.next(now), std::slice::from_ref(&item));
        }
        queue.done(&item);
        assert_eq!((queue.next(now), queue.next_due()), (Vec::new(), None));
        queue.failed(item.clone(), now);
        assert_eq!(queue.next_due(), Some(now + seconds(1)), "success is a new start");
        queue.insert(item.clone());
        assert_eq!(queue.next(now), [item], "a new reason to do it does not wait");
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_is_independent_is_done_together() {
        let mut queue = Queue::default();
        let collect = |index: usize| {
            Work::Collect(
                "configmaps".into(),
                ObjectKey::new("n", &format!("{index:03}")),
                None,
            )
        };
        queue.extend((0..AT_ONCE + 1).map(collect));
        queue.extend(["a", "b"].map(|name| Work::Namespace(name.to_owned())));
        let sizes: Vec<usize> = std::iter::repeat_with(|| queue.next(Instant::now()).len())
            .take(5)
            .collect();
        assert_eq!(sizes, [AT_ONCE, 1, 1, 1, 0]);
    }
}
