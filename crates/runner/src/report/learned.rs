//! How long operations took, kept for the next start.

use std::{sync::Arc, time::Duration};

use capt_terraform::progress::{Durations, Tracker};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use super::FIELD_MANAGER;
use crate::api::{call, words};

/// The ConfigMap that it is kept in, in the runner's own namespace.
pub const DURATIONS_CONFIG_MAP: &str = "capt-runner-durations";
const KEY: &str = "durations.json";
/// The shortest time between two writes: it is worth little, so it may cost little.
const PAUSE: Duration = Duration::from_secs(300);

/// How long operations took. Cloning shares it.
#[derive(Clone)]
pub(crate) struct Learned {
    api: Api<ConfigMap>,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    durations: Durations,
    is_changed: bool,
    written: Option<Instant>,
}

impl Learned {
    /// What an earlier runner kept. What cannot be read is learned again.
    pub(crate) async fn load(client: &Client, namespace: &str) -> Self {
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let found = match call(api.get_opt(DURATIONS_CONFIG_MAP)).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(
                    error = words(&error),
                    "durations of earlier operations are not known"
                );
                None
            }
        };
        let durations = found
            .and_then(|map| serde_json::from_str(map.data?.get(KEY)?).ok())
            .unwrap_or_default();
        Self {
            api,
            inner: Arc::new(Mutex::new(Inner {
                durations,
                ..Inner::default()
            })),
        }
    }

    /// All of it.
    pub(crate) fn durations(&self) -> Durations {
        self.inner.lock().durations.clone()
    }

    /// Takes over what one operation taught.
    pub(crate) fn learn(&self, tracker: &Tracker) {
        let mut inner = self.inner.lock();
        tracker.teach(&mut inner.durations);
        inner.is_changed = true;
    }

    /// Keeps it, if there is something new and it is time, or if this is the last chance.
    pub(crate) async fn keep(&self, is_last: bool) {
        let text = {
            let mut inner = self.inner.lock();
            let is_time = is_last || inner.written.is_none_or(|written| written.elapsed() >= PAUSE);
            if !inner.is_changed || !is_time {
                return;
            }
            inner.is_changed = false;
            inner.written = Some(Instant::now());
            serde_json::to_string(&inner.durations).unwrap_or_default()
        };
        let map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": DURATIONS_CONFIG_MAP},
            "data": {(KEY): text},
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        if let Err(error) = call(self.api.patch(DURATIONS_CONFIG_MAP, &params, &Patch::Apply(&map))).await {
            tracing::warn!(error = words(&error), "durations of operations were not kept");
        }
    }
}
