//! Where the server's time comes from, so that tests own it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

/// A source of wall-clock time.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// A clock shared by the parts of a server.
pub type SharedClock = Arc<dyn Clock>;

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Wall-clock time that follows tokio's clock, so that a paused runtime moves it.
#[derive(Debug, Clone, Copy)]
pub struct RuntimeClock {
    epoch: Timestamp,
    started: tokio::time::Instant,
}

impl RuntimeClock {
    /// A clock that shows `epoch` now and advances with the runtime's clock. Call it inside the runtime.
    #[must_use]
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self {
            epoch,
            started: tokio::time::Instant::now(),
        }
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }
}

/// `metav1.Time`: RFC 3339 with second precision.
pub(crate) fn rfc3339_seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
