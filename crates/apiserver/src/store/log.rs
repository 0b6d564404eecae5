//! The recent history of one table: what watches read.
//!
//! Watchers pull: each remembers the revision it has seen and asks for what came after. A writer never waits for a
//! watcher, and a watcher that falls behind the kept history learns that its position has expired.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::RwLock;
use tokio::sync::watch;
use tokio::time::Instant;

use super::object::Object;

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// It appeared.
    Added,
    /// It changed.
    Modified,
    /// It is gone.
    Deleted,
}

impl EventKind {
    /// As watch frames spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One change.
#[derive(Debug)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The object after it; for a deletion the last version, at the deletion's revision.
    pub object: Arc<Object>,
    /// The object before it.
    pub previous: Option<Arc<Object>>,
    at: Instant,
    frame: OnceLock<Bytes>,
}

impl Event {
    pub(super) fn new(kind: EventKind, object: Arc<Object>, previous: Option<Arc<Object>>) -> Self {
        Self {
            kind,
            object,
            previous,
            at: Instant::now(),
            frame: OnceLock::new(),
        }
    }

    /// The revision of the change.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.object.revision
    }

    /// The event as a watch frame, serialised once for all watchers.
    #[must_use]
    pub fn frame(&self) -> Bytes {
        self.frame
            .get_or_init(|| frame(self.kind.as_str(), &self.object.bytes))
            .clone()
    }

    /// What keeping the event costs at most: both versions, the frame, and the bookkeeping.
    fn size(&self) -> usize {
        let previous = self.previous.as_ref().map_or(0, |object| object.bytes.len());
        2 * self.object.bytes.len() + previous + 512
    }
}

/// `{"type":…,"object":…}` and a newline.
#[must_use]
pub fn frame(kind: &str, object: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(object.len() + kind.len() + 25);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
    out.into()
}

/// How much history is kept.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// This many events are kept however old they are.
    pub min_events: usize,
    /// Beyond `min_events`, events older than this go.
    pub max_age: Duration,
    /// Never more bytes than this (but for one event).
    pub max_bytes: usize,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            min_events: 1024,
            max_age: Duration::from_secs(300),
            max_bytes: 16 << 20,
        }
    }
}

/// The asked-for position is older than the kept history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("revision {asked} is older than the kept history, which starts after {oldest}")]
pub struct Expired {
    /// The position.
    pub asked: u64,
    /// Positions from here on are good.
    pub oldest: u64,
}

/// The history of one table.
#[derive(Debug)]
pub struct Log {
    kept: RwLock<Kept>,
    tick: watch::Sender<u64>,
    retention: Retention,
}

#[derive(Debug)]
struct Kept {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    /// Changes up to and including this revision are not kept.
    compacted: u64,
}

impl Log {
    pub(super) fn starting_after(revision: u64, retention: Retention) -> Self {
        Self {
            kept: RwLock::new(Kept {
                events: VecDeque::new(),
                bytes: 0,
                compacted: revision,
            }),
            tick: watch::Sender::new(revision),
            retention,
        }
    }

    /// Adds an event. It is not yet announced: see [`Log::announce`].
    pub(super) fn push(&self, event: Arc<Event>) {
        let now = event.at;
        let mut kept = self.kept.write();
        kept.bytes += event.size();
        kept.events.push_back(event);
        while let Some(oldest) = kept.events.front() {
            let too_old = kept.events.len() > self.retention.min_events
                && now.saturating_duration_since(oldest.at) > self.retention.max_age;
            let too_big = kept.events.len() > 1 && kept.bytes > self.retention.max_bytes;
            if !(too_old || too_big) {
                break;
            }
            let (revision, size) = (oldest.revision(), oldest.size());
            kept.events.pop_front();
            kept.bytes -= size;
            kept.compacted = revision;
        }
    }

    /// Wakes the watchers.
    pub(super) fn announce(&self, revision: u64) {
        self.tick.send_replace(revision);
    }

    /// The revision of the newest change.
    #[must_use]
    pub fn newest(&self) -> u64 {
        let kept = self.kept.read();
        kept.events
            .back()
            .map_or(kept.compacted, |event| event.revision())
    }

    /// Tells of new events.
    #[must_use]
    pub fn ticks(&self) -> watch::Receiver<u64> {
        self.tick.subscribe()
    }

    /// The events with `after < revision <= upto`, at most `limit` of them.
    pub fn between(&self, after: u64, upto: u64, limit: usize) -> Result<Vec<Arc<Event>>, Expired> {
        let kept = self.kept.read();
        if after < kept.compacted {
            return Err(Expired {
                asked: after,
                oldest: kept.compacted,
            });
        }
        let start = kept.events.partition_point(|event| event.revision() <= after);
        let wanted = kept
            .events
            .range(start..)
            .take_while(|event| event.revision() <= upto);
        Ok(wanted.take(limit).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::object::Draft;
    use super::*;

    fn event(revision: u64) -> Arc<Event> {
        let object = Draft::new(&json!({"metadata": {"name": "a"}})).at(revision);
        Arc::new(Event::new(EventKind::Added, Arc::new(object), None))
    }

    fn revisions(events: &[Arc<Event>]) -> Vec<u64> {
        events.iter().map(|event| event.revision()).collect()
    }

    #[test]
    fn reads_what_came_after_a_position_and_no_further_than_asked() {
        let log = Log::starting_after(10, Retention::default());
        for revision in [11, 13, 20] {
            log.push(event(revision));
        }
        assert_eq!(revisions(&log.between(10, 99, 9).unwrap()), [11, 13, 20]);
        assert_eq!(revisions(&log.between(11, 13, 9).unwrap()), [13]);
        assert_eq!(revisions(&log.between(12, 99, 1).unwrap()), [13]);
        assert!(log.between(20, 99, 9).unwrap().is_empty());
        assert_eq!(
            log.between(9, 99, 9).unwrap_err(),
            Expired { asked: 9, oldest: 10 }
        );
    }

    #[test]
    fn history_is_bounded_by_size() {
        let retention = Retention {
            max_bytes: 1000,
            ..Retention::default()
        };
        let log = Log::starting_after(0, retention);
        for revision in 1..=100 {
            log.push(event(revision));
        }
        let Expired { oldest, .. } = log.between(0, 100, 100).unwrap_err();
        let kept = log.between(oldest, 100, 100).unwrap();
        assert!(kept.len() < 5 && !kept.is_empty(), "{}", kept.len());
    }

    #[tokio::test(start_paused = true)]
    async fn old_events_go_once_there_are_enough() {
        let retention = Retention {
            min_events: 2,
            max_age: Duration::from_secs(60),
            max_bytes: 1 << 20,
        };
        let log = Log::starting_after(0, retention);
        for revision in 1..=3 {
            log.push(event(revision));
        }
        tokio::time::advance(Duration::from_secs(61)).await;
        log.push(event(4));
        assert_eq!(revisions(&log.between(2, 9, 9).unwrap()), [3, 4]);
        assert!(log.between(1, 9, 9).is_err());
    }
}
