//! The ConfigMap in which we tell about a Workspace.

use std::collections::BTreeMap;

use capt_api::{
    marks,
    run::{LOG_KEY, PLAN_LOG_KEY, PREVIOUS_LOG_KEY, REPORT_KEY, RunReport},
};
use capt_core::names;
use capt_terraform::redact::Redactor;
use k8s_openapi::{
    api::core::v1::ConfigMap,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::missing::told;
use crate::{
    api::{CallError, call},
    view::{Identity, WorkspaceView},
};

/// Our name as an author of fields.
pub(crate) const FIELD_MANAGER: &str = "capt-runner";

/// The ConfigMap of one Workspace.
#[derive(Clone)]
pub(crate) struct Page {
    api: Api<ConfigMap>,
    name: String,
    about: Identity,
    owner: OwnerReference,
}

/// What the ConfigMap said when it was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// The report.
    pub(crate) report: RunReport,
    /// The log of the last operation.
    pub(crate) log: Option<String>,
    /// The log of the last plan that somebody asked for.
    pub(crate) plan_log: Option<String>,
}

/// The name of the ConfigMap about a Workspace.
pub(crate) fn name_of(view: &WorkspaceView) -> String {
    names::run_report(view.group.name(), &view.name)
}

/// Keys to write, and keys to remove where there is no text.
pub(crate) type Changes = BTreeMap<&'static str, Option<String>>;

impl Page {
    /// That of this Workspace.
    pub(crate) fn new(client: &Client, view: &WorkspaceView, runner_namespace: &str) -> Self {
        Self {
            api: Api::namespaced(client.clone(), view.home_namespace(runner_namespace)),
            name: name_of(view),
            about: view.identity(),
            owner: view.owner_reference(false),
        }
    }

    /// What it says about this very Workspace; nothing if it is about a namesake that is gone.
    pub(crate) async fn read(&self) -> Result<Option<Found>, CallError> {
        let found = call(self.api.get_opt(&self.name)).await?;
        let is_about_us = |map: &ConfigMap| self.about.is_told_by(&map.metadata);
        Ok(found.filter(is_about_us).map(|map| {
            let data = map.data.unwrap_or_default();
            Found {
                report: data
                    .get(REPORT_KEY)
                    .and_then(|text| serde_json::from_str(text).ok())
                    .unwrap_or_default(),
                log: data.get(LOG_KEY).cloned(),
                plan_log: data.get(PLAN_LOG_KEY).cloned(),
            }
        }))
    }

    /// Writes some of its keys.
    pub(crate) async fn write(&self, changes: &Changes) -> Result<(), CallError> {
        let patch = json!({
            "metadata": {
                "labels": {(marks::RUN_OF): self.about.uid},
                "ownerReferences": [self.owner],
            },
            "data": changes,
        });
        match self.patch(&patch).await {
            Err(error) if error.is_not_found() => self.create(changes).await,
            answer => answer,
        }
    }

    /// Writes what it is found by, and nothing else, if nobody wrote on it since it was like this: another Workspace of the
    /// same name may have taken it meanwhile.
    pub(crate) async fn mark(&self, seen: &ObjectMeta) -> Result<(), CallError> {
        let patch = json!({"metadata": {
            "uid": seen.uid,
            "resourceVersion": seen.resource_version,
            "labels": {(marks::RUN_OF): self.about.uid},
            "ownerReferences": [self.owner],
        }});
        self.patch(&patch).await
    }

    async fn patch(&self, patch: &Value) -> Result<(), CallError> {
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patched = call(self.api.patch(&self.name, &params, &Patch::Merge(patch))).await;
        patched.map(drop)
    }

    /// Writes it where it was not there a moment ago.
    pub(crate) async fn write_first(&self, changes: &Changes) -> Result<(), CallError> {
        match self.create(changes).await {
            Err(error) if error.is_already_there() => self.write(changes).await,
            answer => answer,
        }
    }

    async fn create(&self, changes: &Changes) -> Result<(), CallError> {
        let data = changes
            .iter()
            .filter_map(|(key, text)| Some(((*key).to_owned(), text.clone()?)))
            .collect();
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                labels: Some([(marks::RUN_OF.to_owned(), self.about.uid.clone())].into()),
                owner_references: Some(vec![self.owner.clone()]),
                ..ObjectMeta::default()
            },
            data: Some(data),
            ..ConfigMap::default()
        };
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        call(self.api.create(&params, &map)).await.map(drop)
    }
}

/// The report as one of the keys.
pub(crate) fn with_report(report: &RunReport, redactor: &Redactor) -> Changes {
    [(REPORT_KEY, serde_json::to_string(&told(report, redactor)).ok())].into()
}

/// The keys that make room for the log of a new operation.
pub(crate) fn with_rotated_log(previous: Option<String>) -> Changes {
    [(LOG_KEY, Some(String::new())), (PREVIOUS_LOG_KEY, previous)].into()
}
