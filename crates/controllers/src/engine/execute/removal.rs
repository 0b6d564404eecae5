//! Removal of objects that must go.

use capt_api::lean::Document;
use capt_core::decision::Removal;
use kube::api::{DeleteParams, Preconditions};

use super::{Executor, Failure};
use crate::engine::call::within_deadline;

impl Executor {
    /// Deletes exactly what was seen. What is left of it, if somebody still holds it.
    pub(super) async fn remove(&self, removal: &Removal) -> Result<Option<Document>, Failure> {
        let guard = Preconditions {
            uid: Some(removal.uid.clone()),
            resource_version: Some(removal.resource_version.clone()),
        };
        let parameters = DeleteParams::default().preconditions(guard);
        let api = self.api(&removal.target);
        match within_deadline(api.delete(&removal.target.name, &parameters)).await {
            Ok(answer) => Ok(answer
                .left()
                .filter(|object| object.metadata.deletion_timestamp.is_some())),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(Failure::of("delete", &removal.target, error)),
        }
    }
}
