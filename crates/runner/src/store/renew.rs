//! Renewing a lock.

use std::{sync::Arc, time::Duration};

use capt_terraform::lock::{self, Claim, LeaseState, RENEW_SECONDS, Renewal};
use k8s_openapi::{api::coordination::v1::Lease, jiff::Timestamp};
use kube::Api;
use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{
    Place,
    lease::{self, write},
};
use crate::{Clock, api::call};

/// The wait after a renewal that failed.
const RENEW_AGAIN: Duration = Duration::from_secs(1);

/// Renews a lock for as long as it is ours.
pub(super) async fn keep(
    api: Api<Lease>,
    place: Place,
    claim: Claim,
    taken_at: Timestamp,
    written: Arc<Mutex<Lease>>,
    clock: Clock,
    lost: CancellationToken,
) {
    let name = place.location.lease_name();
    let mut renewed = taken_at;
    // The time of another clock may jump; between renewals the runtime's is waited on.
    sleep(Duration::from_secs(RENEW_SECONDS.into())).await;
    loop {
        let present = call(api.get_opt(&name)).await;
        let now = clock();
        let renewal = match &present {
            Ok(lease) => lock::renew(lease.as_ref().map(lease::state_of).as_ref(), &claim, renewed, now),
            // Nothing is known. It is lost when it would be, had it been read.
            Err(_) => match lock::renew(Some(&held_by(&claim)), &claim, renewed, now) {
                Renewal::Lost => Renewal::Lost,
                _ => {
                    sleep(RENEW_AGAIN).await;
                    continue;
                }
            },
        };
        match renewal {
            Renewal::Wait(until) => {
                let wait = until.duration_since(now).unsigned_abs();
                sleep(wait.max(Duration::from_millis(100))).await;
            }
            Renewal::Write(wanted) => {
                match write(&api, present.ok().flatten(), &name, &wanted, &place).await {
                    Ok(lease) => {
                        *written.lock() = lease;
                        renewed = now;
                        sleep(Duration::from_secs(RENEW_SECONDS.into())).await;
                    }
                    // Whether it still is ours is seen when it is read again.
                    Err(_) => sleep(RENEW_AGAIN).await,
                }
            }
            Renewal::Lost => {
                tracing::warn!(lease = %name, namespace = %place.namespace, "the lock on the state was lost");
                lost.cancel();
                return;
            }
        }
    }
}

/// A Lease that the claim holds, for when the real one cannot be read.
fn held_by(claim: &Claim) -> LeaseState {
    LeaseState {
        holder: Some(claim.info.id.clone()),
        mark: Some(format!("{} {}", claim.info.id, claim.runner)),
        ..LeaseState::default()
    }
}
