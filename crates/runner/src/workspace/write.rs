//! Writing on a Workspace: marks and status. Every write is for the uid that was decided about.

use std::{collections::BTreeMap, time::Duration};

use capt_api::{
    conditions::{Word as _, workspace::WorkspaceConditionType as Type},
    foreign::{ClusterWorkspace, Workspace, marks::CROSSPLANE_FINALIZER, workspace::WorkspaceCondition},
};
use capt_core::render::WorkspaceGroup;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use super::standing::Standing;
use crate::{
    api::{CallError, call, patiently, words},
    report::FIELD_MANAGER,
    view::{KIND, VERSION, WorkspaceView},
};

/// How long a write that must not get lost is tried.
const PATIENCE: Duration = Duration::from_secs(30);
/// Tries against others who write at the same time.
const TRIES: usize = 5;

/// Reads and writes one Workspace.
#[derive(Clone)]
pub(crate) struct Handle {
    api: ApiOf,
    name: String,
    uid: String,
}

#[derive(Clone)]
enum ApiOf {
    Namespaced(Api<Workspace>),
    Cluster(Api<ClusterWorkspace>),
}

impl Handle {
    /// For this Workspace.
    pub(crate) fn new(client: &Client, view: &WorkspaceView) -> Self {
        let client = client.clone();
        let api = match view.group {
            WorkspaceGroup::Namespaced => ApiOf::Namespaced(Api::namespaced(
                client,
                view.namespace.as_deref().unwrap_or_default(),
            )),
            WorkspaceGroup::ClusterScoped => ApiOf::Cluster(Api::all(client)),
        };
        Self {
            api,
            name: view.name.clone(),
            uid: view.uid.clone(),
        }
    }

    /// How it is now; nothing if it is gone.
    pub(crate) async fn read(&self) -> Result<Option<WorkspaceView>, CallError> {
        let view = match &self.api {
            ApiOf::Namespaced(api) => {
                let found = patiently(PATIENCE, || api.get_opt(&self.name)).await?;
                found.as_ref().map(WorkspaceView::from)
            }
            ApiOf::Cluster(api) => {
                let found = patiently(PATIENCE, || api.get_opt(&self.name)).await?;
                found.as_ref().map(WorkspaceView::from)
            }
        };
        Ok(view.filter(|view| view.uid == self.uid))
    }

    /// Whether somebody who is no runner wrote the status last, by who wrote which field when.
    pub(crate) async fn is_status_of_others(&self) -> Result<bool, CallError> {
        let found = match &self.api {
            ApiOf::Namespaced(api) => call(api.get_metadata(&self.name)).await?.metadata,
            ApiOf::Cluster(api) => call(api.get_metadata(&self.name)).await?.metadata,
        };
        let fields = found.managed_fields.unwrap_or_default();
        let of_status = fields
            .iter()
            .filter(|entry| entry.subresource.as_deref() == Some("status"));
        let (ours, others): (Vec<_>, Vec<_>) =
            of_status.partition(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER));
        let last = |entries: &[&ManagedFieldsEntry]| entries.iter().filter_map(|one| one.time.clone()).max();
        // Times are told in seconds. Within one, a person's words are worse to believe than a runner's are to write over.
        Ok(last(&others).is_some_and(|other| last(&ours).is_none_or(|ours| other >= ours)))
    }

    /// Takes out of a status that ours was just applied to what looks like ours and is not: conditions of our types that we say
    /// nothing by, and words beside one that we say without any. Whoever wrote them keeps them alive. Tells the version that
    /// the object has then, if anything was taken out: of an object that changed meanwhile nothing is, until the next time.
    async fn take_out_forged(&self, told: &WorkspaceView, standing: &Standing) -> Option<u64> {
        let forged = forged(told.status.conditions.as_deref().unwrap_or_default(), standing);
        if forged.is_empty() {
            return None;
        }
        let mut patch = vec![
            json!({"op": "test", "path": "/metadata/uid", "value": self.uid}),
            json!({"op": "test", "path": "/metadata/resourceVersion", "value": told.resource_version}),
        ];
        patch.extend(forged);
        match self.patch_exactly(patch).await {
            Ok(told) => told.version(),
            Err(error) => {
                tracing::debug!(
                    workspace = self.name,
                    error = words(&error),
                    "nothing is taken out"
                );
                None
            }
        }
    }

    /// Sets annotations, removes those that are none, and sets our finalizer if told so.
    pub(crate) async fn mark(
        &self,
        view: &WorkspaceView,
        annotations: &BTreeMap<&str, Option<String>>,
        with_finalizer: bool,
    ) -> Result<WorkspaceView, CallError> {
        let mut metadata = json!({"uid": self.uid, "annotations": annotations});
        let add = with_finalizer && !view.finalizers.iter().any(|one| one == CROSSPLANE_FINALIZER);
        if add {
            let mut finalizers = view.finalizers.clone();
            finalizers.push(CROSSPLANE_FINALIZER.to_owned());
            metadata["finalizers"] = json!(finalizers);
            // The list is written whole, so nobody may have changed it meanwhile.
            metadata["resourceVersion"] = json!(view.resource_version);
        }
        self.patch(&json!({"metadata": metadata})).await
    }

    /// Takes our finalizer off. Nothing happens if it is gone already.
    pub(crate) async fn let_go(&self) -> Result<(), CallError> {
        for attempt in 1.. {
            let Some(view) = self.read().await? else {
                return Ok(());
            };
            if !view.finalizers.iter().any(|one| one == CROSSPLANE_FINALIZER) {
                return Ok(());
            }
            let left: Vec<&String> = view
                .finalizers
                .iter()
                .filter(|one| *one != CROSSPLANE_FINALIZER)
                .collect();
            let patch = json!({"metadata": {
                "uid": self.uid,
                "resourceVersion": view.resource_version,
                "finalizers": left,
            }});
            match self.patch(&patch).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) if error.is_conflict() && attempt < TRIES => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes the part of the status that is ours. Tells the version that the object has then.
    pub(crate) async fn tell(
        &self,
        view: &WorkspaceView,
        standing: &Standing,
    ) -> Result<Option<u64>, CallError> {
        let document = json!({
            "apiVersion": format!("{}/{VERSION}", view.group.name()),
            "kind": KIND,
            "metadata": {"name": self.name, "uid": self.uid},
            "status": standing.fields(),
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let patch = Patch::Apply(&document);
        let told = self.patch_status(&params, &patch).await?;
        let outputs = told.status.at_provider.as_ref();
        let outputs = outputs.and_then(|status| status.outputs.as_ref());
        if outputs == standing.published() {
            return Ok(self.take_out_forged(&told, standing).await.or(told.version()));
        }
        // Whoever else wrote them, such as an earlier runner, keeps what it wrote alive, and what is taken back may have
        // become a secret.
        let outputs = match standing.published() {
            Some(outputs) => json!({"op": "add", "path": "/status/atProvider/outputs", "value": outputs}),
            None => json!({"op": "remove", "path": "/status/atProvider/outputs"}),
        };
        let uid = json!({"op": "test", "path": "/metadata/uid", "value": self.uid});
        let told = self.patch_exactly(vec![uid, outputs]).await?;
        Ok(self.take_out_forged(&told, standing).await.or(told.version()))
    }

    /// Changes the status at these places.
    async fn patch_exactly(&self, operations: Vec<Value>) -> Result<WorkspaceView, CallError> {
        let operations = serde_json::from_value(Value::Array(operations))
            .map_err(|error| CallError::Failed(Box::new(kube::Error::SerdeError(error))))?;
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.patch_status(&params, &Patch::<Value>::Json(operations))
            .await
    }

    async fn patch_status<P: serde::Serialize + std::fmt::Debug>(
        &self,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<WorkspaceView, CallError> {
        match &self.api {
            ApiOf::Namespaced(api) => patiently(PATIENCE, || api.patch_status(&self.name, params, patch))
                .await
                .map(|object| WorkspaceView::from(&object)),
            ApiOf::Cluster(api) => patiently(PATIENCE, || api.patch_status(&self.name, params, patch))
                .await
                .map(|object| WorkspaceView::from(&object)),
        }
    }

    async fn patch(&self, patch: &Value) -> Result<WorkspaceView, CallError> {
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        match &self.api {
            ApiOf::Namespaced(api) => call(api.patch(&self.name, &params, &patch))
                .await
                .map(|object| WorkspaceView::from(&object)),
            ApiOf::Cluster(api) => call(api.patch(&self.name, &params, &patch))
                .await
                .map(|object| WorkspaceView::from(&object)),
        }
    }
}

/// What is to be taken out of conditions, the last first, so that places stay what they are.
fn forged(conditions: &[WorkspaceCondition], standing: &Standing) -> Vec<Value> {
    let mut operations = Vec::new();
    for (place, condition) in conditions.iter().enumerate().rev() {
        let Some(type_) = Type::from_word(&condition.type_) else {
            continue;
        };
        let path = format!("/status/conditions/{place}");
        match standing.condition(type_) {
            None => operations.push(json!({"op": "remove", "path": path})),
            Some(ours) if ours.message.is_none() && condition.message.is_some() => {
                operations.push(json!({"op": "remove", "path": format!("{path}/message")}));
            }
            Some(_) => {}
        }
    }
    operations
}

#[cfg(test)]
mod tests {
    use capt_api::conditions::{ConditionStatus, workspace::WorkspaceReason as Reason};
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    #[test]
    fn what_looks_like_ours_is_taken_out_and_what_is_others_stays() {
        let mut standing = Standing::default();
        let now = Timestamp::UNIX_EPOCH;
        standing.say(
            (Type::Ready, ConditionStatus::True, Reason::Available),
            "",
            1,
            now,
        );
        let failing = (Type::Synced, ConditionStatus::False, Reason::ReconcileError);
        standing.say(failing, "why", 1, now);
        let condition = |type_: &str, message: Option<&str>| {
            let mut condition = standing.condition(Type::Ready).cloned().expect("a condition");
            condition.type_ = type_.to_owned();
            condition.message = message.map(str::to_owned);
            condition
        };
        let conditions = [
            condition("LastAsyncOperation", Some("theirs")),
            condition("Failing", Some("forged")),
            condition("Ready", Some("forged")),
            condition("Synced", Some("forged")),
            condition("Drifted", None),
        ];
        assert_eq!(
            forged(&conditions, &standing),
            [
                json!({"op": "remove", "path": "/status/conditions/4"}),
                json!({"op": "remove", "path": "/status/conditions/2/message"}),
                json!({"op": "remove", "path": "/status/conditions/1"}),
            ]
        );
    }
}
