//! What the server counts, for `/metrics`.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::registry::Resource;
use crate::store::State;

/// One kind of request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    pub(crate) verb: &'static str,
    pub(crate) resource: String,
    pub(crate) code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabels {
    verb: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabels {
    resource: String,
}

type Level = gauge::Gauge<i64, AtomicI64>;

/// All metrics of one server.
pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<RequestLabels, Counter>,
    durations: Family<VerbLabels, Histogram, fn() -> Histogram>,
    watches: Family<ResourceLabels, Level>,
    objects: Family<ResourceLabels, Level>,
    revision: Level,
}

/// A level that falls back when this is dropped.
pub(crate) struct Gauge(Arc<Level>);

impl Drop for Gauge {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let requests = Family::default();
        let durations: Family<VerbLabels, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.0005, 2.0, 15)));
        let watches = Family::default();
        let objects = Family::default();
        let revision = Level::default();
        registry.register(
            "apiserver_request",
            "Requests by verb, resource and answer",
            requests.clone(),
        );
        registry.register(
            "apiserver_request_duration_seconds",
            "Time to answer, watches excluded",
            durations.clone(),
        );
        registry.register("apiserver_open_watches", "Watches now open", watches.clone());
        registry.register("apiserver_storage_objects", "Objects stored", objects.clone());
        registry.register(
            "apiserver_storage_revision",
            "Newest visible revision",
            revision.clone(),
        );
        Self {
            registry: Mutex::new(registry),
            requests,
            durations,
            watches,
            objects,
            revision,
        }
    }
}

impl Metrics {
    pub(crate) fn observe(&self, labels: &RequestLabels, duration: Option<Duration>) {
        self.requests.get_or_create(labels).inc();
        if let Some(duration) = duration {
            self.durations
                .get_or_create(&VerbLabels { verb: labels.verb })
                .observe(duration.as_secs_f64());
        }
    }

    pub(crate) fn open_watch(&self, resource: &Resource) -> Gauge {
        let labels = ResourceLabels {
            resource: resource.id.to_string(),
        };
        let level = Arc::new(self.watches.get_or_create(&labels).clone());
        level.inc();
        Gauge(level)
    }

    /// The text that `/metrics` answers with.
    pub(crate) fn text(&self, state: &State) -> String {
        self.revision
            .set(i64::try_from(state.revision).unwrap_or(i64::MAX));
        for (resource, table) in state.tables() {
            let labels = ResourceLabels {
                resource: resource.to_string(),
            };
            self.objects
                .get_or_create(&labels)
                .set(i64::try_from(table.len()).unwrap_or(i64::MAX));
        }
        let mut out = String::new();
        // Formatting into a String cannot fail.
        let _ = encode(&mut out, &self.registry.lock());
        out
    }
}
