//! The provider versions that were chosen for a state, kept beside it.
//!
//! They are in a Secret of their own, because plain Terraform rewrites those of the state. It has no finalizer: without it the
//! versions are chosen anew, and nothing is lost. The holder of the lock of the state writes it.

use std::time::Duration;

use capt_api::foreign::marks as foreign_marks;
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{Place, StateStore, StoreError, secrets::failed};
use crate::{
    api::{CallError, patiently},
    engine::ProviderLock,
};

/// How long a call is tried.
const PATIENCE: Duration = Duration::from_secs(15);
/// The largest lock file that is kept.
const MAX_FILE: usize = 512 << 10;
/// The key of the lock file.
const FILE: &str = ".terraform.lock.hcl";
/// The key of what was asked for, as JSON.
const REQUIREMENTS: &str = "requirements.json";

/// What is kept of the provider versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLock {
    /// The versions. None if what is there cannot be read.
    pub lock: Option<ProviderLock>,
    /// It is moved together with a Cluster.
    pub moves: bool,
}

impl From<&Secret> for KeptLock {
    fn from(secret: &Secret) -> Self {
        let data = |key: &str| secret.data.as_ref()?.get(key).map(|data| data.0.clone());
        let requirements = data(REQUIREMENTS).and_then(|text| serde_json::from_slice(&text).ok());
        let labels = secret.metadata.labels.as_ref();
        Self {
            lock: data(FILE)
                .zip(requirements)
                .map(|(file, requirements)| ProviderLock { file, requirements }),
            moves: labels.is_some_and(|labels| labels.contains_key(foreign_marks::MOVE)),
        }
    }
}

impl StateStore {
    /// Reads the provider versions that were chosen for a state.
    ///
    /// # Errors
    /// If the API fails.
    pub async fn read_provider_lock(&self, place: &Place) -> Result<Option<KeptLock>, StoreError> {
        let name = place.location.provider_lock_name();
        if self.has_no_provider_lock(place) {
            return Ok(None);
        }
        let api = self.api(place);
        let secret = patiently(PATIENCE, || api.get_opt(&name)).await;
        let secret = secret.map_err(failed("reading", place, &name))?;
        Ok(secret.as_ref().map(KeptLock::from))
    }

    /// Keeps the provider versions that were chosen for a state. `moves` says whether they are moved together with a Cluster.
    ///
    /// # Errors
    /// If the API fails.
    pub async fn write_provider_lock(
        &self,
        place: &Place,
        lock: &ProviderLock,
        moves: bool,
    ) -> Result<(), StoreError> {
        let name = place.location.provider_lock_name();
        let requirements = serde_json::to_vec(&lock.requirements).unwrap_or_default();
        let size = lock.file.len() + requirements.len();
        if size > MAX_FILE {
            tracing::warn!(
                namespace = place.namespace,
                name,
                size,
                "the provider lock file is too large to be kept"
            );
            return Ok(());
        }
        let data = json!({
            FILE: ByteString(lock.file.clone()),
            REQUIREMENTS: ByteString(requirements),
        });
        let written = match self.patch_provider_lock(place, &name, moves, Some(&data)).await {
            Err(error) if error.is_not_found() => self.create_provider_lock(place, &name, moves, &data).await,
            written => written,
        };
        written.map_err(failed("writing", place, &name))
    }

    /// Says whether the provider versions are moved together with a Cluster.
    ///
    /// # Errors
    /// If the API fails.
    pub async fn label_provider_lock(&self, place: &Place, moves: bool) -> Result<(), StoreError> {
        let name = place.location.provider_lock_name();
        let labelled = self.patch_provider_lock(place, &name, moves, None).await;
        labelled.map_err(failed("writing", place, &name))
    }

    /// Takes the provider versions away: what they were chosen for exists no more.
    pub(super) async fn remove_provider_lock(&self, place: &Place) -> Result<(), StoreError> {
        if self.has_no_provider_lock(place) {
            return Ok(());
        }
        let name = place.location.provider_lock_name();
        let (api, params) = (self.api(place), DeleteParams::default());
        match patiently(PATIENCE, || api.delete(&name, &params)).await {
            Err(error) if !error.is_not_found() => Err(failed("deleting", place, &name)(error)),
            _ => Ok(()),
        }
    }

    /// Whether a watch tells that there is none.
    fn has_no_provider_lock(&self, place: &Place) -> bool {
        let name = place.location.provider_lock_name();
        let found = self.names().beginning_with(&place.namespace, &name);
        found.is_some_and(|found| !found.contains(&name))
    }

    async fn patch_provider_lock(
        &self,
        place: &Place,
        name: &str,
        moves: bool,
        data: Option<&Value>,
    ) -> Result<(), CallError> {
        let label = moves.then_some("");
        let mut patch = json!({"metadata": {"labels": {(foreign_marks::MOVE): label}}});
        if let Some(data) = data {
            patch["data"] = data.clone();
        }
        let (api, patch, params) = (self.api(place), Patch::Merge(patch), PatchParams::default());
        let patched = patiently(PATIENCE, || api.patch(name, &params, &patch)).await;
        patched.map(drop)
    }

    async fn create_provider_lock(
        &self,
        place: &Place,
        name: &str,
        moves: bool,
        data: &Value,
    ) -> Result<(), CallError> {
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: moves.then(|| [(foreign_marks::MOVE.to_owned(), String::new())].into()),
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".to_owned()),
            data: serde_json::from_value(data.clone()).ok(),
            ..Secret::default()
        };
        let (api, params) = (self.api(place), PostParams::default());
        patiently(PATIENCE, || api.create(&params, &secret))
            .await
            .map(drop)
    }
}
