//! Between a Lease and what matters of it.

use std::time::Duration;

use k8s_openapi::{
    api::coordination::v1::Lease,
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::Timestamp,
};

use crate::Terms;

/// How long a Lease lasts that does not say it.
const UNTOLD: Duration = Duration::from_secs(15);
/// How long a Lease lasts that was given back, for others who look at nothing but the time.
const GIVEN_BACK_SECONDS: i32 = 1;

/// Who holds a Lease, if anybody does.
pub(crate) fn holder(lease: &Lease) -> Option<&str> {
    let holder = lease.spec.as_ref()?.holder_identity.as_deref()?;
    (!holder.is_empty()).then_some(holder)
}

/// How long its holder may leave it without renewal.
pub(crate) fn duration(lease: &Lease) -> Duration {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
    seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .map_or(UNTOLD, Duration::from_secs)
}

/// What tells one write of it from the next.
pub(crate) fn version(lease: &Lease) -> Option<&str> {
    lease.metadata.resource_version.as_deref()
}

/// A Lease that nobody has had.
pub(crate) fn new(name: &str) -> Lease {
    Lease {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        spec: None,
    }
}

/// The Lease in the hands of somebody who did not have it.
pub(crate) fn taken(mut lease: Lease, by: &str, terms: &Terms, now: Timestamp) -> Lease {
    let is_new = lease.spec.is_none();
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(by.to_owned());
    spec.lease_duration_seconds = i32::try_from(terms.duration.as_secs()).ok();
    spec.acquire_time = Some(MicroTime(now));
    spec.renew_time = Some(MicroTime(now));
    let before = spec.lease_transitions.unwrap_or_default();
    spec.lease_transitions = Some(if is_new { 0 } else { before.saturating_add(1) });
    lease
}

/// The Lease in the same hands, for longer.
pub(crate) fn renewed(mut lease: Lease, terms: &Terms, now: Timestamp) -> Lease {
    let spec = lease.spec.get_or_insert_default();
    spec.lease_duration_seconds = i32::try_from(terms.duration.as_secs()).ok();
    spec.renew_time = Some(MicroTime(now));
    lease
}

/// The Lease in nobody's hands.
pub(crate) fn given_back(mut lease: Lease, now: Timestamp) -> Lease {
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(String::new());
    spec.lease_duration_seconds = Some(GIVEN_BACK_SECONDS);
    spec.renew_time = Some(MicroTime(now));
    lease
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_tells_who_has_it_since_when_and_how_often_it_changed_hands() {
        let (terms, early, late) = (
            Terms::default(),
            Timestamp::from_second(1).unwrap(),
            Timestamp::from_second(2).unwrap(),
        );
        let first = taken(new("x"), "a", &terms, early);
        assert_eq!((holder(&first), duration(&first)), (Some("a"), terms.duration));

        let spec = renewed(first.clone(), &terms, late).spec.unwrap();
        assert_eq!(
            (spec.acquire_time, spec.renew_time),
            (Some(MicroTime(early)), Some(MicroTime(late)))
        );
        assert_eq!(spec.lease_transitions, Some(0));

        let free = given_back(first, late);
        assert_eq!((holder(&free), duration(&free)), (None, Duration::from_secs(1)));
        let second = taken(free, "b", &terms, late);
        assert_eq!(holder(&second), Some("b"));
        assert_eq!(second.spec.unwrap().lease_transitions, Some(1));
    }
}
