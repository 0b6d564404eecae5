//! What a candidate does next: a pure function of what it saw and when.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::Instant;

use crate::record;

/// The Lease as it was last seen, and since when it was seen so.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    lease: Option<Lease>,
    since: Instant,
}

/// What a candidate does next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Makes the Lease.
    Create,
    /// Takes it as it is.
    Take(Box<Lease>),
    /// Waits for something to change, but no longer than this.
    Wait(Duration),
}

impl Sight {
    /// What is seen for the first time now.
    pub(crate) fn new(lease: Option<Lease>, now: Instant) -> Self {
        Self { lease, since: now }
    }

    /// What is seen now. The time starts anew only if somebody wrote the Lease.
    pub(crate) fn update(&mut self, lease: Option<Lease>, now: Instant) {
        let version = |lease: &Option<Lease>| lease.as_ref().and_then(record::version).map(str::to_owned);
        if version(&self.lease) != version(&lease) || self.lease.is_some() != lease.is_some() {
            *self = Self::new(lease, now);
        }
    }

    /// Who has it.
    pub(crate) fn holder(&self) -> Option<&str> {
        self.lease.as_ref().and_then(record::holder)
    }

    /// What to do about it. A Lease under one's own name is somebody else's too: whoever had it may still run.
    pub(crate) fn step(&self, now: Instant) -> Step {
        let Some(lease) = &self.lease else {
            return Step::Create;
        };
        let left = record::duration(lease).saturating_sub(now.saturating_duration_since(self.since));
        match record::holder(lease) {
            Some(_) if !left.is_zero() => Step::Wait(left),
            _ => Step::Take(Box::new(lease.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Terms;

    fn lease(holder: &str, version: &str) -> Option<Lease> {
        let now = k8s_openapi::jiff::Timestamp::UNIX_EPOCH;
        let mut lease = record::taken(record::new("x"), holder, &Terms::default(), now);
        lease.metadata.resource_version = Some(version.to_owned());
        Some(lease)
    }

    #[test]
    fn a_lease_is_taken_when_it_is_free_or_was_not_renewed_for_its_time() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(Sight::new(None, start).step(start), Step::Create);
        let free = lease("", "1");
        assert_eq!(
            Sight::new(free.clone(), start).step(start),
            Step::Take(Box::new(free.unwrap()))
        );
        let held = Sight::new(lease("a", "1"), start);
        for (second, expected) in [(0, 15), (14, 1)] {
            assert_eq!(held.step(at(second)), Step::Wait(Duration::from_secs(expected)));
        }
        assert!(matches!(held.step(at(15)), Step::Take(_)));
    }

    #[test]
    fn time_begins_anew_only_when_the_lease_was_written() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut sight = Sight::new(lease("a", "1"), start);
        sight.update(lease("a", "1"), at(10));
        assert_eq!(sight.step(at(10)), Step::Wait(Duration::from_secs(5)));
        sight.update(lease("a", "2"), at(12));
        assert_eq!(sight.step(at(12)), Step::Wait(Duration::from_secs(15)));
        sight.update(None, at(13));
        assert_eq!(sight.step(at(13)), Step::Create);
    }
}
