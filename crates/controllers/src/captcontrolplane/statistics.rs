//! How long operations take, for each template: kept in a ConfigMap beside it, so that it survives and is shared, and
//! owned by it, so that it goes with it.
//!
//! It is read once, and written some time after something was learned, so that many control planes that become ready
//! together cost one write, or after somebody took off its label or its owner. Losing a lesson does no harm, and nobody waits
//! for any of this.

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

use crate::{
    engine::{
        call::{CallError, within_deadline},
        execute::FIELD_MANAGER,
        key::ObjectKey,
        table::Table,
    },
    facts::views::{HeldView, is_learned},
};

/// How long lessons are collected before they are written.
const COLLECTING: Duration = Duration::from_secs(10);
/// More templates than anybody has; what is beyond is not remembered.
const MANY: usize = 1000;

/// How long operations take.
pub(super) struct Statistics {
    client: Client,
    /// What is kept, as a watch tells of it.
    kept: Arc<Table<HeldView>>,
    known: Mutex<HashMap<ObjectKey, Known>>,
    learned: Notify,
}

struct Known {
    /// Where it is kept.
    place: ObjectKey,
    averages: Averages,
    is_written: bool,
}

impl Statistics {
    pub(super) fn new(client: Client, kept: Arc<Table<HeldView>>) -> Self {
        Self {
            client,
            kept,
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
            Ok((averages, is_stripped)) => {
                let statistics = averages.statistics();
                let mut known = self.known.lock();
                if known.len() < MANY {
                    let read = Known {
                        place: place_of(template),
                        averages,
                        is_written: !is_stripped,
                    };
                    known.entry(template.clone()).or_insert(read);
                }
                if is_stripped {
                    self.learned.notify_one();
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
        let mut changes = self.kept.changes();
        loop {
            tokio::select! {
                () = self.learned.notified() => {}
                Ok(()) = changes.changed() => {
                    if !self.find_stripped() {
                        continue;
                    }
                }
            }
            sleep(COLLECTING).await;
            for (template, averages) in self.unwritten() {
                if let Err(error) = self.write(&template, &averages).await {
                    let error: &dyn std::error::Error = &error;
                    tracing::debug!(error, %template, "statistics cannot be written");
                }
            }
        }
    }

    /// Takes note of what somebody took the label or the owner off. Says whether there is any.
    fn find_stripped(&self) -> bool {
        let mut known = self.known.lock();
        let mut is_any = false;
        for known in known.values_mut().filter(|known| known.is_written) {
            let kept = self.kept.peek(&known.place);
            let is_stripped = kept.is_some_and(|kept| !kept.is_learned && !kept.deleting);
            known.is_written = !is_stripped;
            is_any |= is_stripped;
        }
        is_any
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

    /// What was learned, and whether somebody took off the label or the owner of what it is kept in.
    async fn read(&self, template: &ObjectKey) -> Result<(Averages, bool), CallError> {
        let place = place_of(template);
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), place.namespace());
        let Some(found) = within_deadline(api.get_opt(place.name())).await? else {
            return Ok((Averages::default(), false));
        };
        let is_stripped = !is_learned(&found.metadata);
        Ok((Averages::of(&found.data.unwrap_or_default()), is_stripped))
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

/// Where it is kept what was learned from a template.
fn place_of(template: &ObjectKey) -> ObjectKey {
    ObjectKey::within(template.namespace(), &names::statistics(template.name()))
}
