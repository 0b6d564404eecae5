//! Between a Lease and what matters of it, and writing it.

use std::{collections::BTreeMap, time::Duration};

use capt_terraform::lock::{self, Claim, HOLDER_ANNOTATION, LOCK_INFO_ANNOTATION, LeaseState, LockInfo};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{Api, api::PostParams};

use super::{LockError, Place};
use crate::api::{CallError, call, patiently};

/// How long taking and freeing are tried.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
/// Tries against others who write at the same time.
pub(super) const TRIES: usize = 5;

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

/// Frees a lock if it has the id of the claim. True if it had. A Lease that is known is written as it is known, and read
/// only if somebody wrote it since.
pub(super) async fn give_back(
    api: &Api<Lease>,
    place: &Place,
    claim: &Claim,
    mut known: Option<Lease>,
) -> Result<bool, LockError> {
    let name = place.location.lease_name();
    for _ in 0..TRIES {
        let present = match known.take() {
            Some(known) => Some(known),
            None => patiently(PATIENCE, || api.get_opt(&name))
                .await
                .map_err(failed(place))?,
        };
        let Some(present) = present else { return Ok(false) };
        let Some(free) = lock::release(&state_of(&present), claim) else {
            return Ok(false);
        };
        match write(api, Some(present), &name, &free, place).await {
            Ok(_) => return Ok(true),
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) if is_race(&error) || error.is_transient() => {}
            Err(error) => return Err(failed(place)(error)),
        }
    }
    Err(failed(place)(CallError::Deadline))
}

/// Writes a Lease, guarded by what was read. One try: whether the last one succeeded is seen by reading again.
pub(super) async fn write(
    api: &Api<Lease>,
    present: Option<Lease>,
    name: &str,
    wanted: &LeaseState,
    place: &Place,
) -> Result<Lease, CallError> {
    let is_new = present.is_none();
    let mut changed = present.unwrap_or_default();
    changed.metadata.name = Some(name.to_owned());
    changed.metadata.managed_fields = None;
    write_to(&mut changed, wanted, place.location.labels());
    let params = PostParams::default();
    if is_new {
        call(api.create(&params, &changed)).await
    } else {
        call(api.replace(name, &params, &changed)).await
    }
}

pub(super) fn is_race(error: &CallError) -> bool {
    error.is_conflict() || error.is_already_there() || error.is_not_found()
}

pub(super) fn failed(place: &Place) -> impl FnOnce(CallError) -> LockError + '_ {
    move |source| LockError::Call {
        namespace: place.namespace.clone(),
        lease: place.location.lease_name(),
        source,
    }
}
