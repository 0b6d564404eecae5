//! How long steps take and may take, without the time in which everything was paused: what networks and control planes
//! have in common.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

/// A time in which everything was paused.
pub type Pause = (Timestamp, Timestamp);

/// A step that is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running<S> {
    /// Which one.
    pub step: S,
    /// When it began.
    pub since: Timestamp,
}

/// What time says about the steps that are going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict<S> {
    /// The first step that took too long, and how long it was allowed to take.
    pub expired: Option<(S, Duration)>,
    /// When the next one will have.
    pub look_again: Option<Duration>,
}

/// Judges the steps that are going on, given how long each may take and how long ago a moment was.
pub fn judge<S: Copy>(
    running: &[Running<S>],
    limit: impl Fn(S) -> Duration,
    elapsed: impl Fn(Timestamp) -> Duration,
) -> Verdict<S> {
    let mut verdict = Verdict {
        expired: None,
        look_again: None,
    };
    for one in running {
        let limit = limit(one.step);
        match left(limit, elapsed(one.since)) {
            Some(left) => {
                let other = verdict.look_again.unwrap_or(left);
                verdict.look_again = Some(other.min(left));
            }
            None => verdict.expired = verdict.expired.or(Some((one.step, limit))),
        }
    }
    verdict
}

/// What is left of a limit; none if it is used up.
#[must_use]
pub fn left(limit: Duration, elapsed: Duration) -> Option<Duration> {
    limit.checked_sub(elapsed).filter(|left| !left.is_zero())
}

/// How long ago something began, without pauses since.
pub fn elapsed(since: Timestamp, pauses: impl IntoIterator<Item = Pause>, now: Timestamp) -> Duration {
    let paused = pauses
        .into_iter()
        .map(|(from, to)| between(from.max(since), to.min(now)))
        .sum();
    between(since, now).saturating_sub(paused)
}

/// The time from one moment to a later one; none if it is earlier.
#[must_use]
pub fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// One pause that is as long as two, and ends with the later one.
#[must_use]
pub fn joined(earlier: Pause, later: Pause) -> Pause {
    let length = SignedDuration::try_from(between(earlier.0, earlier.1)).unwrap_or_default();
    let (from, to) = later;
    (from.checked_sub(length).unwrap_or(from), to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + 60 * minute).expect("a valid time")
    }

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(60 * minutes)
    }

    fn pause(from: i64, to: i64) -> Pause {
        (at(from), at(to))
    }

    #[test]
    fn a_step_expires_at_its_limit_and_not_before() {
        let running = ["short", "long"].map(|step| Running { step, since: at(0) });
        let limit = |step| minutes(if step == "short" { 15 } else { 30 });
        for (now, expired, left) in [
            (0, None, Some(15)),
            (14, None, Some(1)),
            (15, Some("short"), Some(15)),
            (29, Some("short"), Some(1)),
            (31, Some("short"), None),
            (-5, None, Some(15)),
        ] {
            let verdict = judge(&running, limit, |since| elapsed(since, [], at(now)));
            assert_eq!(verdict.expired, expired.map(|step| (step, limit(step))), "{now}");
            assert_eq!(verdict.look_again, left.map(minutes), "{now}");
        }
    }

    #[test]
    fn paused_time_does_not_count() {
        for (name, pauses, expected) in [
            ("none", vec![], 30),
            ("in the middle", vec![pause(5, 15)], 20),
            ("two of them", vec![pause(5, 15), pause(20, 25)], 15),
            ("before it began", vec![pause(-20, -10)], 30),
            ("across the beginning", vec![pause(-10, 10)], 20),
            ("until later", vec![pause(20, 40)], 20),
            ("all of it", vec![pause(-10, 40)], 0),
        ] {
            assert_eq!(elapsed(at(0), pauses, at(30)), minutes(expected), "{name}");
        }
    }

    #[test]
    fn two_pauses_that_are_joined_are_as_long_as_before() {
        let both = joined(pause(0, 10), pause(30, 35));
        assert_eq!(both, pause(20, 35));
    }
}
