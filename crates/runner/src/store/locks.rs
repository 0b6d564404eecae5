//! Taking, holding and freeing the lock.

use std::{collections::HashMap, sync::Arc, time::Duration};

use capt_terraform::lock::{
    self, Claim, Decision, Holder, LeaseState, LockInfo, RENEW_SECONDS, Renewal, Taken,
};
use k8s_openapi::{api::coordination::v1::Lease, jiff::Timestamp};
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams, Preconditions},
};
use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use uuid::Uuid;

use super::{LockError, Place, lease};
use crate::{
    Clock,
    api::{CallError, DEADLINE, call, patiently},
};

/// How long taking and freeing are tried.
const PATIENCE: Duration = Duration::from_secs(15);
/// Tries against others who write at the same time.
const TRIES: usize = 5;
/// The wait after a renewal that failed.
const RENEW_AGAIN: Duration = Duration::from_secs(1);
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
type Key = (String, String);

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

/// A lock that is held and renewed until it is released or dropped. Dropped, it expires.
#[derive(Debug)]
pub struct Lock {
    api: Api<Lease>,
    place: Place,
    claim: Claim,
    taken: Taken,
    renewing: AbortOnDropHandle<()>,
    _here: Here,
}

/// Says that this process holds a lock, for as long as it lives.
#[derive(Debug)]
struct Here {
    held: Arc<Mutex<HashMap<Key, LockInfo>>>,
    key: Key,
}

impl Drop for Here {
    fn drop(&mut self) {
        self.held.lock().remove(&self.key);
    }
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
        lost: CancellationToken,
    ) -> Result<Lock, LockError> {
        let api = self.api(place);
        let name = place.location.lease_name();
        let claim = self.claim(place, purpose);
        let here = self.hold_here(place, &claim)?;
        for _ in 0..TRIES {
            let present = patiently(PATIENCE, || api.get_opt(&name))
                .await
                .map_err(failed(place))?;
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
                Ok(_) => {
                    self.watched.lock().remove(&here.key);
                    let renewing = keep(
                        api.clone(),
                        place.clone(),
                        claim.clone(),
                        now,
                        self.clock.clone(),
                        lost,
                    );
                    return Ok(Lock {
                        api,
                        place: place.clone(),
                        claim,
                        taken,
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
        give_back(&api, place, &claim).await
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
        give_back(&self.api, &self.place, &self.claim).await.map(drop)
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

/// Renews a lock for as long as it is ours.
async fn keep(
    api: Api<Lease>,
    place: Place,
    claim: Claim,
    taken_at: Timestamp,
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
                    Ok(_) => {
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

/// Frees a lock if it has the id of the claim. True if it had.
async fn give_back(api: &Api<Lease>, place: &Place, claim: &Claim) -> Result<bool, LockError> {
    let name = place.location.lease_name();
    for _ in 0..TRIES {
        let present = patiently(PATIENCE, || api.get_opt(&name))
            .await
            .map_err(failed(place))?;
        let Some(present) = present else { return Ok(false) };
        let Some(free) = lock::release(&lease::state_of(&present), claim) else {
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
async fn write(
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
    lease::write_to(&mut changed, wanted, place.location.labels());
    let params = PostParams::default();
    if is_new {
        call(api.create(&params, &changed)).await
    } else {
        call(api.replace(name, &params, &changed)).await
    }
}

fn key(place: &Place) -> Key {
    (place.namespace.clone(), place.location.lease_name())
}

fn is_race(error: &CallError) -> bool {
    error.is_conflict() || error.is_already_there() || error.is_not_found()
}

fn failed(place: &Place) -> impl FnOnce(CallError) -> LockError + '_ {
    move |source| LockError::Call {
        namespace: place.namespace.clone(),
        lease: place.location.lease_name(),
        source,
    }
}
