//! Writing state, and taking it away.
//!
//! Every write is guarded by what was seen last. A conflict is looked at: if only labels or the like changed, it is tried
//! again; if it is our own write whose answer was lost, it is done; if somebody else wrote the state, ours is not put
//! over it, because then the lock was lost and theirs may list what ours does not.

use std::{collections::BTreeMap, time::Duration};

use capt_api::{foreign::marks as foreign_marks, marks};
use capt_terraform::state::{self, State, StateSecret, Step, replicate_by};
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;

use super::{
    Kept, Place, StateStore, StoreError,
    secrets::{Seen, failed},
};
use crate::api::{CallError, call, patiently};

/// How long one write is tried: as long as a restart of an API server takes.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);
/// Tries against others who write labels at the same time.
const TRIES: usize = 10;

impl StateStore {
    /// Replaces what is kept by this state file. `kept` is what was read or written last, and is brought up to date.
    /// Call it only while holding the lock.
    ///
    /// # Errors
    /// If the API fails for longer than a minute, or somebody else wrote meanwhile. What is kept is whole even then.
    pub async fn write(&self, place: &Place, kept: &mut Kept, file: &[u8]) -> Result<(), StoreError> {
        let state = State::parse(file).map_err(StoreError::NoState)?;
        let location = &place.location;
        let staged = kept.count(|part| location.staged_name(part));
        if staged == 0 && kept.replica.as_deref() == Some(file) && kept.seen.values().all(is_held) {
            return Ok(());
        }
        check_progress(place, kept.replica.as_deref(), &state)?;
        let parts = kept.count(|part| location.secret_name(part));
        for step in replicate_by(self.chunk, location, file, parts, staged) {
            match step {
                Step::Put(mut secret) => {
                    let claim = kept
                        .claim
                        .clone()
                        .map(|claim| (marks::STATE_OF.to_owned(), claim));
                    secret.annotations.extend(claim);
                    self.put(place, kept, &secret, state.serial).await?;
                }
                Step::Delete(name) => self.delete(place, kept, &name).await?,
            }
        }
        kept.replica = Some(file.to_vec());
        kept.staged = None;
        kept.is_deleting = kept.seen.values().any(|seen| seen.is_deleting);
        Ok(())
    }

    /// Deletes what is kept, if it lists nothing that exists, and the provider versions that were chosen for it. The Lease goes with [`super::Lock::discard`].
    ///
    /// # Errors
    /// If the API fails, or something still exists.
    pub async fn remove(&self, place: &Place) -> Result<(), StoreError> {
        let mut kept = self.read(place).await?;
        let location = &place.location;
        for file in [&kept.staged, &kept.replica].into_iter().flatten() {
            let state = State::parse(file).map_err(StoreError::NoState)?;
            let resources = state.managed().count();
            if resources > 0 {
                return Err(StoreError::NotEmpty {
                    namespace: place.namespace.clone(),
                    name: location.secret_name(0),
                    resources,
                });
            }
        }
        // From the last on, so that what remains after a crash can still be read.
        for part in (0..kept.count(|part| location.staged_name(part))).rev() {
            self.delete(place, &mut kept, &location.staged_name(part)).await?;
        }
        for part in (0..kept.count(|part| location.secret_name(part))).rev() {
            self.delete(place, &mut kept, &location.secret_name(part)).await?;
        }
        self.remove_provider_lock(place).await
    }

    /// Gives a Secret with state the labels back that it is found by, if nobody wrote on it since. The lock is not needed:
    /// nothing else on it is touched.
    pub(crate) async fn label(&self, place: &Place, name: &str, seen: &ObjectMeta) -> Result<(), CallError> {
        let api = self.api(place);
        let patch = Patch::Merge(json!({"metadata": {
            "uid": seen.uid,
            "resourceVersion": seen.resource_version,
            "labels": place.all_labels(),
        }}));
        call(api.patch(name, &PatchParams::default(), &patch))
            .await
            .map(drop)
    }

    async fn put(
        &self,
        place: &Place,
        kept: &mut Kept,
        secret: &StateSecret,
        serial: u64,
    ) -> Result<(), StoreError> {
        let name = secret.name.as_str();
        let mut before = kept.seen.get(name).cloned();
        for _ in 0..TRIES {
            let written = match &before {
                None => self.create(place, secret, kept.moves).await,
                Some(seen) => self.update(place, secret, seen).await,
            };
            let error = match written {
                Ok(written) => {
                    kept.seen.insert(name.to_owned(), Seen::from(&written));
                    return Ok(());
                }
                Err(error) => error,
            };
            if !error.is_conflict() && !error.is_already_there() && !error.is_not_found() {
                return Err(failed("writing", place, name)(error));
            }
            let now = self.read_one(place, name).await?;
            match &now {
                Some(now) if now.data == secret.data && is_held(now) => {
                    kept.seen.insert(name.to_owned(), now.clone());
                    return Ok(());
                }
                Some(now) if is_untouched(before.as_ref(), now) => {}
                // It was deleted under us. What it held is older than what we have.
                None if before.is_some() => {}
                // The namespace is not there, or is going.
                None => return Err(failed("writing", place, name)(error)),
                Some(now) => return Err(overtaken(place, name, now, serial)),
            }
            before = now;
        }
        Err(overtaken_by_many(place, name, serial))
    }

    async fn create(&self, place: &Place, secret: &StateSecret, moves: bool) -> Result<Secret, CallError> {
        let api = self.api(place);
        let mut labels = labels(place, secret);
        // From then on this label is the controllers': they know first when it has to go.
        if moves && !labels.is_empty() {
            labels.insert(foreign_marks::MOVE.to_owned(), String::new());
        }
        let created = Secret {
            metadata: ObjectMeta {
                name: Some(secret.name.clone()),
                labels: Some(labels).filter(|labels| !labels.is_empty()),
                annotations: Some(secret.annotations.clone()),
                finalizers: Some(vec![marks::TERRAFORM_STATE_FINALIZER.to_owned()]),
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".to_owned()),
            data: Some([(state::KEY.to_owned(), ByteString(secret.data.clone()))].into()),
            ..Secret::default()
        };
        let params = PostParams::default();
        patiently(WRITE_PATIENCE, || api.create(&params, &created)).await
    }

    /// Changes what is ours and leaves the rest as it is.
    async fn update(&self, place: &Place, secret: &StateSecret, seen: &Seen) -> Result<Secret, CallError> {
        let api = self.api(place);
        let mut finalizers = seen.finalizers.clone();
        // Nothing can be held any more that is already going.
        if !is_held(seen) {
            finalizers.push(marks::TERRAFORM_STATE_FINALIZER.to_owned());
        }
        let patch = Patch::Merge(json!({
            "metadata": {
                "resourceVersion": seen.resource_version,
                "labels": labels(place, secret),
                "annotations": secret.annotations,
                "finalizers": finalizers,
            },
            "data": {state::KEY: ByteString(secret.data.clone())},
        }));
        let params = PatchParams::default();
        patiently(WRITE_PATIENCE, || api.patch(&secret.name, &params, &patch)).await
    }

    /// Takes our finalizer off and deletes it, unless somebody else wrote to it meanwhile.
    async fn delete(&self, place: &Place, kept: &mut Kept, name: &str) -> Result<(), StoreError> {
        let api = self.api(place);
        let mut before = kept.seen.get(name).cloned();
        for _ in 0..TRIES {
            let Some(seen) = &before else {
                kept.seen.remove(name);
                return Ok(());
            };
            let deleted = if has_finalizer(seen) {
                let others: Vec<&String> = seen
                    .finalizers
                    .iter()
                    .filter(|finalizer| *finalizer != marks::TERRAFORM_STATE_FINALIZER)
                    .collect();
                let patch = Patch::Merge(json!({"metadata": {
                    "resourceVersion": seen.resource_version,
                    "finalizers": others,
                }}));
                let params = PatchParams::default();
                let freed = patiently(WRITE_PATIENCE, || api.patch(name, &params, &patch)).await;
                freed.map(|secret| Some(Seen::from(&secret)))
            } else if seen.is_deleting {
                // Others hold it up, and it goes when they let go.
                Ok(None)
            } else {
                let params = DeleteParams {
                    preconditions: Some(Preconditions {
                        resource_version: seen.resource_version.clone(),
                        uid: None,
                    }),
                    ..DeleteParams::default()
                };
                patiently(WRITE_PATIENCE, || api.delete(name, &params))
                    .await
                    .map(|_| None)
            };
            match deleted {
                Ok(next) => before = next,
                Err(error) if error.is_not_found() => before = None,
                Err(error) if error.is_conflict() => {
                    let now = self.read_one(place, name).await?;
                    if let Some(now) = &now
                        && !is_untouched(before.as_ref(), now)
                    {
                        return Err(overtaken(place, name, now, 0));
                    }
                    before = now;
                }
                Err(error) => return Err(failed("deleting", place, name)(error)),
            }
        }
        Err(overtaken_by_many(place, name, 0))
    }
}

fn has_finalizer(seen: &Seen) -> bool {
    let ours = marks::TERRAFORM_STATE_FINALIZER;
    seen.finalizers.iter().any(|finalizer| finalizer == ours)
}

/// Held by our finalizer, unless it is too late for that.
fn is_held(seen: &Seen) -> bool {
    has_finalizer(seen) || seen.is_deleting
}

/// Refuses to put a state over one that is newer, or of another history and still lists something.
fn check_progress(place: &Place, present: Option<&[u8]>, ours: &State) -> Result<(), StoreError> {
    // What cannot be read cannot be newer either.
    let Some(present) = present.and_then(|file| State::parse(file).ok()) else {
        return Ok(());
    };
    let theirs = if present.lineage == ours.lineage {
        (present.serial > ours.serial).then(|| present.serial.to_string())
    } else {
        (!present.is_empty()).then(|| "of another history".to_owned())
    };
    match theirs {
        None => Ok(()),
        Some(theirs) => Err(StoreError::Overtaken {
            namespace: place.namespace.clone(),
            name: place.location.secret_name(0),
            theirs,
            ours: ours.serial,
        }),
    }
}

/// Whether the state in a Secret is still the one that we knew. One that is new and empty is how Terraform's backend
/// begins.
fn is_untouched(before: Option<&Seen>, now: &Seen) -> bool {
    match before {
        Some(before) => before.data == now.data,
        None => now.data.is_empty(),
    }
}

/// Labels that the user's backend asks for belong on what that backend is to find, which a staged copy is not.
fn labels(place: &Place, secret: &StateSecret) -> BTreeMap<String, String> {
    if secret.labels.is_empty() {
        secret.labels.clone()
    } else {
        place.all_labels()
    }
}

fn overtaken(place: &Place, name: &str, now: &Seen, ours: u64) -> StoreError {
    let file = state::unpack([(place.location.secret_name(0).as_str(), now.data.as_slice())]);
    let theirs = match file.ok().flatten().map(|file| State::parse(&file)) {
        Some(Ok(state)) => state.serial.to_string(),
        _ => "unknown".to_owned(),
    };
    StoreError::Overtaken {
        namespace: place.namespace.clone(),
        name: name.to_owned(),
        theirs,
        ours,
    }
}

fn overtaken_by_many(place: &Place, name: &str, ours: u64) -> StoreError {
    StoreError::Overtaken {
        namespace: place.namespace.clone(),
        name: name.to_owned(),
        theirs: "unknown".to_owned(),
        ours,
    }
}
