//! How long operations take, for each template: kept in a ConfigMap beside it, so that it survives and is shared, and
//! owned by it, so that it goes with it.
//!
//! It is read once, and written some time after something was learned, so that many control planes that become ready
//! together cost one write. Losing a lesson does no harm, and nobody waits for any of this.

use std::{collections::HashMap, sync::Arc, time::Duration};

use capt_api::{WorkspaceTemplate, marks};
use capt_core::{
    controlplane::{
        progress,
        statistics::{Averages, Lesson},
    },
    names,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Resource as _,
    api::{Patch, PatchParams},
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::{sync::Notify, time::sleep};

use crate::engine::{
    call::{CallError, within_deadline},
    execute::FIELD_MANAGER,
    key::ObjectKey,
};

/// How long lessons are collected before they are written.
const COLLECTING: Duration = Duration::from_secs(10);
/// More templates than anybody has; what is beyond is not remembered.
const MANY: usize = 1000;

/// How long operations take.
pub(super) struct Statistics {
    client: Client,
    known: Mutex<HashMap<ObjectKey, Known>>,
    learned: Notify,
}

#[derive(Default)]
struct Known {
    averages: Averages,
    is_written: bool,
}

impl Statistics {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            known: Mutex::default(),
            learned: Notify::new(),
        }
    }

    /// How long operations take with a template.
    pub(super) async fn of(&self, template: &ObjectKey) -> progress::Statistics {
        if let Some(known) = self.known.lock().get(template) {
            return known.averages.statistics();
        }
        match self.read(template).await {
            Ok(averages) => {
                let statistics = averages.statistics();
                let mut known = self.known.lock();
                if known.len() < MANY {
                    let read = Known {
                        averages,
                        is_written: true,
                    };
                    known.entry(template.clone()).or_insert(read);
                }
                statistics
            }
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::debug!(error, %template, "statistics cannot be read");
                progress::Statistics::default()
            }
        }
    }

    /// Learns from an operation that is over.
    pub(super) fn learn(&self, template: &ObjectKey, lesson: &Lesson) {
        let mut known = self.known.lock();
        // What was never read would be written over.
        if let Some(known) = known.get_mut(template) {
            known.averages.learn(lesson);
            known.is_written = false;
            self.learned.notify_one();
        }
    }

    /// Keeps writing what was learned. Never ends.
    pub(super) async fn run(self: Arc<Self>) {
        loop {
            self.learned.notified().await;
            sleep(COLLECTING).await;
            for (template, averages) in self.unwritten() {
                if let Err(error) = self.write(&template, &averages).await {
                    let error: &dyn std::error::Error = &error;
                    tracing::debug!(error, %template, "statistics cannot be written");
                }
            }
        }
    }

    fn unwritten(&self) -> Vec<(ObjectKey, Averages)> {
        let mut known = self.known.lock();
        let unwritten = known.iter_mut().filter(|(_, known)| !known.is_written);
        unwritten
            .map(|(template, known)| {
                known.is_written = true;
                (template.clone(), known.averages.clone())
            })
            .collect()
    }

    async fn read(&self, template: &ObjectKey) -> Result<Averages, CallError> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), template.namespace());
        let found = within_deadline(api.get_opt(&names::statistics(template.name()))).await?;
        let data = found.and_then(|found| found.data).unwrap_or_default();
        Ok(Averages::of(&data))
    }

    async fn write(&self, template: &ObjectKey, averages: &Averages) -> Result<(), CallError> {
        let templates: Api<WorkspaceTemplate> = Api::namespaced(self.client.clone(), template.namespace());
        let owner = within_deadline(templates.get_metadata_opt(template.name())).await?;
        // Nobody learns from a template that is gone.
        let Some(uid) = owner.and_then(|owner| owner.metadata.uid) else {
            self.known.lock().remove(template);
            return Ok(());
        };
        let name = names::statistics(template.name());
        let document = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": template.namespace(),
                "labels": {marks::STATISTICS_OF: names::label_value(template.name())},
                "ownerReferences": [{
                    "apiVersion": WorkspaceTemplate::api_version(&()),
                    "kind": WorkspaceTemplate::kind(&()),
                    "name": template.name(),
                    "uid": uid,
                }],
            },
            "data": averages.data(),
        });
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), template.namespace());
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        within_deadline(api.patch(&name, &parameters, &Patch::Apply(document))).await?;
        Ok(())
    }
}
