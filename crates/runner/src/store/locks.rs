//! Taking the lock, and freeing that of somebody else.

use std::{collections::HashMap, sync::Arc, time::Duration};

use capt_terraform::lock::{self, Claim, Decision, Holder, LeaseState, LockInfo};
use k8s_openapi::{api::coordination::v1::Lease, jiff::Timestamp};
use kube::{Api, Client};
use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use uuid::Uuid;

use super::{
    LockError, Place,
    held::{Here, Lock},
    lease::{self, PATIENCE, TRIES, failed, give_back, is_race, write},
    renew,
};
use crate::{
    Clock,
    api::{CallError, DEADLINE, patiently},
};

/// Locks of others that are remembered; beyond it they are forgotten, and waited for anew.
const MAX_WATCHED: usize = 10_000;

/// Takes and frees locks for one runner.
#[derive(Clone)]
pub struct Locks {
    client: Client,
    runner: String,
    clock: Clock,
    /// How long an operation may take to stop when it is told to.
    grace: Duration,
    /// Locks of others, and since when each is as it is.
    watched: Arc<Mutex<HashMap<Key, (LeaseState, Timestamp)>>>,
    /// Locks that this process holds. Their Leases do not part two Workspaces of ours that share one state by mistake.
    held: Arc<Mutex<HashMap<Key, LockInfo>>>,
}

/// Namespace and name of a Lease.
pub(super) type Key = (String, String);

/// Whether a lock may have been taken before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// It may: what there is is read first.
    Perhaps,
    /// Probably never: it is made, and read only if it is there all the same.
    HardlyEver,
}

/// What a lock is taken for; other people read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purpose {
    /// In Terraform's words: `OperationTypePlan`, `OperationTypeApply`.
    pub operation: String,
    /// Which Workspace it is for.
    pub info: String,
    /// Version of Terraform.
    pub version: String,
}

impl Locks {
    /// Locks of the runner of this name. No two that run at the same time may share it.
    #[must_use]
    pub fn new(client: Client, runner: &str, clock: Clock) -> Self {
        Self {
            client,
            runner: runner.to_owned(),
            clock,
            grace: Duration::ZERO,
            watched: Arc::default(),
            held: Arc::default(),
        }
    }

    /// Operations under these locks may take so long to stop when they are told to.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Takes the lock, and renews it from then on. If it is lost, `lost` is cancelled: the operation must end.
    ///
    /// # Errors
    /// If somebody else has it, or the API fails.
    pub async fn acquire(
        &self,
        place: &Place,
        purpose: &Purpose,
        before: Before,
        lost: CancellationToken,
    ) -> Result<Lock, LockError> {
        let api = self.api(place);
        let name = place.location.lease_name();
        let claim = self.claim(place, purpose);
        let here = self.hold_here(place, &claim)?;
        for attempt in 0..TRIES {
            let present = match before {
                Before::HardlyEver if attempt == 0 => None,
                _ => patiently(PATIENCE, || api.get_opt(&name))
                    .await
                    .map_err(failed(place))?,
            };
            let now = (self.clock)();
            let state = present.as_ref().map(lease::state_of);
            let since = self.unchanged_since(place, state.as_ref(), now);
            let (wanted, taken) = match lock::acquire(state.as_ref(), since, &claim, now) {
                Decision::Take { lease, because } => (lease, because),
                Decision::Held(holder) => {
                    return Err(LockError::Held {
                        namespace: place.namespace.clone(),
                        lease: name,
                        holder,
                    });
                }
            };
            match write(&api, present, &name, &wanted, place).await {
                Ok(lease) => {
                    self.watched.lock().remove(&here.key);
                    let written = Arc::new(Mutex::new(lease));
                    let renewing = renew::keep(
                        api.clone(),
                        place.clone(),
                        claim.clone(),
                        now,
                        written.clone(),
                        self.clock.clone(),
                        lost,
                    );
                    return Ok(Lock {
                        api,
                        place: place.clone(),
                        claim,
                        taken,
                        written,
                        renewing: AbortOnDropHandle::new(tokio::spawn(renewing)),
                        _here: here,
                    });
                }
                Err(error) if is_race(&error) || error.is_transient() => {}
                Err(error) => return Err(failed(place)(error)),
            }
        }
        Err(failed(place)(CallError::Deadline))
    }

    /// Frees a lock of somebody else that a person named by its id. False if that is not who has it.
    ///
    /// # Errors
    /// If the API fails.
    pub async fn unlock(&self, place: &Place, id: &str) -> Result<bool, LockError> {
        let api = self.api(place);
        let claim = Claim {
            runner: self.runner.clone(),
            info: LockInfo {
                id: id.to_owned(),
                ..LockInfo::default()
            },
            stop_seconds: 0,
        };
        give_back(&api, place, &claim, None).await
    }

    fn api(&self, place: &Place) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &place.namespace)
    }

    fn claim(&self, place: &Place, purpose: &Purpose) -> Claim {
        Claim {
            runner: self.runner.clone(),
            info: LockInfo {
                id: Uuid::new_v4().to_string(),
                operation: purpose.operation.clone(),
                info: purpose.info.clone(),
                who: format!("capt@{}", self.runner),
                version: purpose.version.clone(),
                created: (self.clock)().to_string(),
                path: place.location.secret_name(0),
            },
            // That the lock is lost may be noticed only after a read and a write that nobody answered.
            stop_seconds: u32::try_from((self.grace + 3 * DEADLINE).as_secs()).unwrap_or(u32::MAX),
        }
    }

    fn hold_here(&self, place: &Place, claim: &Claim) -> Result<Here, LockError> {
        let key = key(place);
        let mut held = self.held.lock();
        if let Some(info) = held.get(&key) {
            return Err(LockError::Held {
                namespace: place.namespace.clone(),
                lease: place.location.lease_name(),
                holder: Box::new(Holder {
                    id: info.id.clone(),
                    runner: Some(self.runner.clone()),
                    info: Some(info.clone()),
                    until: None,
                }),
            });
        }
        held.insert(key.clone(), claim.info.clone());
        Ok(Here {
            held: self.held.clone(),
            key,
        })
    }

    /// Since when we know the Lease to be as it is.
    fn unchanged_since(&self, place: &Place, state: Option<&LeaseState>, now: Timestamp) -> Timestamp {
        let Some(state) = state else { return now };
        let mut watched = self.watched.lock();
        if watched.len() >= MAX_WATCHED {
            watched.clear();
        }
        let entry = watched.entry(key(place)).or_insert_with(|| (state.clone(), now));
        if entry.0 != *state {
            *entry = (state.clone(), now);
        }
        entry.1
    }
}

fn key(place: &Place) -> Key {
    (place.namespace.clone(), place.location.lease_name())
}
