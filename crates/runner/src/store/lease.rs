//! Between a Lease and what matters of it.

use std::collections::BTreeMap;

use capt_terraform::lock::{HOLDER_ANNOTATION, LOCK_INFO_ANNOTATION, LeaseState, LockInfo};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};

/// What matters of a Lease.
pub(super) fn state_of(lease: &Lease) -> LeaseState {
    let spec = lease.spec.clone().unwrap_or_default();
    let annotation = |name| lease.metadata.annotations.as_ref()?.get(name).cloned();
    LeaseState {
        holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
        duration_seconds: spec
            .lease_duration_seconds
            .and_then(|seconds| seconds.try_into().ok()),
        acquired: spec.acquire_time.map(|time| time.0),
        renewed: spec.renew_time.map(|time| time.0),
        transitions: spec
            .lease_transitions
            .and_then(|count| count.try_into().ok())
            .unwrap_or_default(),
        info: annotation(LOCK_INFO_ANNOTATION).and_then(|text| LockInfo::from_json(&text)),
        mark: annotation(HOLDER_ANNOTATION),
    }
}

/// Writes it to a Lease and leaves the rest of that as it is.
pub(super) fn write_to(lease: &mut Lease, state: &LeaseState, labels: BTreeMap<String, String>) {
    lease.metadata.labels.get_or_insert_default().extend(labels);
    let annotations = lease.metadata.annotations.get_or_insert_default();
    for (name, value) in [
        (LOCK_INFO_ANNOTATION, state.info.as_ref().map(LockInfo::to_json)),
        (HOLDER_ANNOTATION, state.mark.clone()),
    ] {
        match value {
            Some(value) => annotations.insert(name.to_owned(), value),
            None => annotations.remove(name),
        };
    }
    let spec: &mut LeaseSpec = lease.spec.get_or_insert_default();
    spec.holder_identity = state.holder.clone();
    spec.lease_duration_seconds = state.duration_seconds.and_then(|seconds| seconds.try_into().ok());
    spec.acquire_time = state.acquired.map(MicroTime);
    spec.renew_time = state.renewed.map(MicroTime);
    spec.lease_transitions = i32::try_from(state.transitions).ok();
}
