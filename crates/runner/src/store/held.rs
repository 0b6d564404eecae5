//! A lock that is held.

use std::{collections::HashMap, sync::Arc};

use capt_terraform::lock::{Claim, LockInfo, Taken};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api,
    api::{DeleteParams, Preconditions},
};
use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::{
    LockError, Place,
    lease::{self, PATIENCE, TRIES, failed, give_back},
    locks::Key,
};
use crate::api::{CallError, patiently};

/// A lock that is held and renewed until it is released or dropped. Dropped, it expires.
#[derive(Debug)]
pub struct Lock {
    pub(super) api: Api<Lease>,
    pub(super) place: Place,
    pub(super) claim: Claim,
    pub(super) taken: Taken,
    /// The Lease as it was last written.
    pub(super) written: Arc<Mutex<Lease>>,
    pub(super) renewing: AbortOnDropHandle<()>,
    pub(super) _here: Here,
}

/// Says that this process holds a lock, for as long as it lives.
#[derive(Debug)]
pub(super) struct Here {
    pub(super) held: Arc<Mutex<HashMap<Key, LockInfo>>>,
    pub(super) key: Key,
}

impl Drop for Here {
    fn drop(&mut self) {
        self.held.lock().remove(&self.key);
    }
}

impl Lock {
    /// Why it could be had. `Expired` is worth an event.
    #[must_use]
    pub fn taken(&self) -> &Taken {
        &self.taken
    }

    /// The id under which others see it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.claim.info.id
    }

    /// Gives it back.
    ///
    /// # Errors
    /// If the API fails; then it expires.
    pub async fn release(self) -> Result<(), LockError> {
        self.renewing.abort();
        let known = self.written.lock().clone();
        give_back(&self.api, &self.place, &self.claim, Some(known))
            .await
            .map(drop)
    }

    /// Deletes it, when there is no state any more that it could be for.
    ///
    /// # Errors
    /// If the API fails; then it expires.
    pub async fn discard(self) -> Result<(), LockError> {
        self.renewing.abort();
        let name = self.place.location.lease_name();
        for _ in 0..TRIES {
            let present = patiently(PATIENCE, || self.api.get_opt(&name))
                .await
                .map_err(failed(&self.place))?;
            let ours =
                present.filter(|lease| lease::state_of(lease).holder.as_ref() == Some(&self.claim.info.id));
            let Some(ours) = ours else { return Ok(()) };
            let params = DeleteParams {
                preconditions: Some(Preconditions {
                    resource_version: ours.metadata.resource_version,
                    uid: ours.metadata.uid,
                }),
                ..DeleteParams::default()
            };
            match patiently(PATIENCE, || self.api.delete(&name, &params)).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(failed(&self.place)(error)),
            }
        }
        Err(failed(&self.place)(CallError::Deadline))
    }
}
