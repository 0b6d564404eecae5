//! When progress is worth a write.
//!
//! A status write wakes everybody who watches the object, so a long apply must cost few of them; but who watches a short
//! one wants to see it move. So the pause between writes grows with the time that the operation has taken.

use jiff::{SignedDuration, Timestamp};

use super::Progress;

/// No two writes are nearer than this, unless something ended.
const MIN_SECONDS: i64 = 2;

/// Something that changed is never held back longer than this.
const MAX_SECONDS: i64 = 30;

/// After this, the same is written again as a sign of life.
pub const HEARTBEAT_SECONDS: i64 = 60;

/// What was written last.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// When.
    pub at: Timestamp,
    /// What.
    pub progress: Progress,
}

/// When to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Now.
    Now,
    /// At this time, unless something happens before.
    At(Timestamp),
}

/// When to write this progress of an operation that began at `started`.
#[must_use]
pub fn next_write(
    written: Option<&Written>,
    progress: &Progress,
    started: Timestamp,
    now: Timestamp,
) -> Next {
    let Some(written) = written else { return Next::Now };
    let last = &written.progress;
    let is_over = |seconds| now >= kept_until(written.at, seconds);
    // Nobody is left waiting for what was promised for earlier.
    let is_broken = progress.remaining_seconds.is_none() && last.remaining_seconds.is_some_and(is_over);
    let turned = last.operation != progress.operation
        || is_broken
        || last.failed == 0 && progress.failed > 0
        || last.percent != 100 && progress.percent == 100;
    if turned {
        return Next::Now;
    }
    let pause = if looks_the_same(last, progress) {
        HEARTBEAT_SECONDS
    } else {
        (now.duration_since(started).as_secs() / 10).clamp(MIN_SECONDS, MAX_SECONDS)
    };
    let due = later(written.at, SignedDuration::from_secs(pause));
    if now >= due {
        return Next::Now;
    }
    let promise = last
        .remaining_seconds
        .map(|seconds| broken_at(written.at, seconds, now));
    Next::At(promise.map_or(due, |promise| promise.min(due)))
}

/// When to look whether what was promised for so many seconds later has to be taken back. Nothing may tell of it: what goes
/// on longer than expected says nothing.
fn broken_at(written: Timestamp, seconds: u64, now: Timestamp) -> Timestamp {
    let kept = kept_until(written, seconds);
    if now < kept {
        return kept;
    }
    let waited = now.duration_since(written);
    later(now, waited.max(SignedDuration::from_secs(MIN_SECONDS)))
}

/// Until when a promise of so many seconds may be kept.
fn kept_until(written: Timestamp, seconds: u64) -> Timestamp {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX).max(MIN_SECONDS);
    later(written, SignedDuration::from_secs(seconds))
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Nothing but passing time differs, and what was promised may still be kept.
fn looks_the_same(a: &Progress, b: &Progress) -> bool {
    (a.done, a.total, a.failed, &a.in_flight) == (b.done, b.total, b.failed, &b.in_flight)
        && a.percent.abs_diff(b.percent) < 5
        && a.remaining_seconds.is_some() == b.remaining_seconds.is_some()
}
