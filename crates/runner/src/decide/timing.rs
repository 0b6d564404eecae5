//! When to try again and when to look again, spread so that many Workspaces do not act at once.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

/// The first pause after a failure.
const FIRST: Duration = Duration::from_secs(1);
/// The longest pause after a failure that may pass by itself.
const LONGEST: Duration = Duration::from_secs(60);

/// How long to wait after so many failures in a row. At most a quarter shorter than its full length.
pub(crate) fn backoff(failures: u32, salt: &str) -> Duration {
    let doubled = FIRST.saturating_mul(1 << failures.saturating_sub(1).min(6));
    let full = doubled.min(LONGEST);
    full.mul_f64(0.75 + 0.25 * fraction(&format!("{salt} backoff {failures}")))
}

/// When to look again after a look, a tenth of the interval earlier or later.
pub(crate) fn next_look(last: Timestamp, interval: Duration, salt: &str) -> Timestamp {
    let part = fraction(&format!("{salt} look {last}"));
    later(last, interval.mul_f64(0.9 + 0.2 * part))
}

/// When to look for the first time after a start: somewhere within the interval.
pub(crate) fn first_look(start: Timestamp, interval: Duration, salt: &str) -> Timestamp {
    later(start, interval.mul_f64(fraction(&format!("{salt} first look"))))
}

/// When somebody else's write was last answered, and how often in a row.
pub(crate) type Answers = (Timestamp, u32);

/// Who writes again only after this long is not at war with us, and counts as new.
pub(crate) const PEACE: Duration = Duration::from_secs(600);

/// Takes note that somebody else's write is answered now, so that the next one is not answered as soon: who writes again and
/// again must not make us do the same.
pub(crate) fn answered(before: Option<Answers>, now: Timestamp) -> Answers {
    let recent = before.filter(|(at, _)| {
        let ago = Duration::try_from(now.duration_since(*at)).unwrap_or_default();
        ago < PEACE
    });
    (now, recent.map_or(1, |(_, count)| count.saturating_add(1)))
}

/// From when on somebody else's write is answered.
pub(crate) fn answers_at(before: Option<Answers>, salt: &str) -> Timestamp {
    before.map_or(Timestamp::MIN, |(at, count)| later(at, backoff(count, salt)))
}

/// The time so much later.
pub(crate) fn later(time: Timestamp, wait: Duration) -> Timestamp {
    SignedDuration::try_from(wait)
        .ok()
        .and_then(|wait| time.checked_add(wait).ok())
        .unwrap_or(Timestamp::MAX)
}

/// A number from 0 to 1 that is always the same for the same text.
fn fraction(text: &str) -> f64 {
    let digest = Sha256::digest(text.as_bytes());
    let number = digest
        .iter()
        .take(4)
        .fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
    f64::from(number) / f64::from(u32::MAX)
}
