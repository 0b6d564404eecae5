//! What was made and the state does not have, kept beside the state by a Workspace that went.
//!
//! It stands on the first Secret of the state. Where there is none yet, one without a state is made for it, which is how
//! Terraform's backend begins. It is written without the lock: nothing else on the Secret is touched.

use std::{collections::BTreeMap, time::Duration};

use capt_api::marks;
use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::{Place, StateStore, StoreError, secrets::failed};
use crate::api::{CallError, patiently};

/// How long a write is tried.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where such a list stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListPlace {
    /// With a state of ours.
    State(Place),
    /// In a Secret of its own, because the state is in a backend of the user's.
    Alone(Place),
}

impl ListPlace {
    fn place(&self) -> &Place {
        match self {
            Self::State(place) | Self::Alone(place) => place,
        }
    }
}

impl StateStore {
    /// The list that a Workspace left here.
    ///
    /// # Errors
    /// If the API fails.
    pub(crate) async fn read_list(&self, at: &ListPlace) -> Result<Option<String>, StoreError> {
        let place = at.place();
        let seen = self.read_one(place, &place.location.secret_name(0)).await?;
        Ok(seen.and_then(|seen| seen.list))
    }

    /// Leaves a list here for whoever takes the state up; `claim` is the Workspace whose state it is.
    ///
    /// # Errors
    /// If the API fails.
    pub(crate) async fn write_list(&self, at: &ListPlace, claim: &str, list: &str) -> Result<(), StoreError> {
        let place = at.place();
        let name = place.location.secret_name(0);
        let written = match self.patch_list(place, &name, Some(list)).await {
            Err(error) if error.is_not_found() => self.create_list(at, &name, claim, list).await,
            written => written,
        };
        written.map_err(failed("writing", place, &name))
    }

    /// Takes it away again.
    ///
    /// # Errors
    /// If the API fails.
    pub(crate) async fn clear_list(&self, at: &ListPlace) -> Result<(), StoreError> {
        let place = at.place();
        let name = place.location.secret_name(0);
        let (api, params) = (self.api(place), DeleteParams::default());
        let cleared = match at {
            ListPlace::State(_) => self.patch_list(place, &name, None).await,
            ListPlace::Alone(_) => patiently(PATIENCE, || api.delete(&name, &params)).await.map(drop),
        };
        match cleared {
            Err(error) if error.is_not_found() => Ok(()),
            cleared => cleared.map_err(failed("writing", place, &name)),
        }
    }

    async fn patch_list(&self, place: &Place, name: &str, list: Option<&str>) -> Result<(), CallError> {
        let api = self.api(place);
        let patch = Patch::Merge(json!({"metadata": {"annotations": {(marks::MISSING_RESOURCES): list}}}));
        let params = PatchParams::default();
        patiently(PATIENCE, || api.patch(name, &params, &patch))
            .await
            .map(drop)
    }

    async fn create_list(
        &self,
        at: &ListPlace,
        name: &str,
        claim: &str,
        list: &str,
    ) -> Result<(), CallError> {
        let api = self.api(at.place());
        let mut annotations = BTreeMap::from([(marks::MISSING_RESOURCES.to_owned(), list.to_owned())]);
        let (mut labels, mut finalizers) = (None, None);
        // What is said to be somebody's state is held as such, and there is none in a Secret of its own.
        if let ListPlace::State(place) = at {
            annotations.insert(marks::STATE_OF.to_owned(), claim.to_owned());
            labels = Some(place.all_labels());
            finalizers = Some(vec![marks::TERRAFORM_STATE_FINALIZER.to_owned()]);
        }
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels,
                annotations: Some(annotations),
                finalizers,
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        };
        let params = PostParams::default();
        patiently(PATIENCE, || api.create(&params, &secret))
            .await
            .map(drop)
    }
}
