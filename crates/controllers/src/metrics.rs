//! What is counted, for Prometheus.

mod fargate;

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

use self::fargate::Fargate;

/// Counters of all controllers. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Metrics {
    reconciles: Family<Outcome, Counter>,
    seconds: Family<Controller, Histogram, fn() -> Histogram>,
    depth: Family<Controller, Gauge>,
    untold: Gauge,
    fargate: Fargate,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Controller {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    controller: &'static str,
    outcome: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            reconciles: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 4.0, 8))),
            depth: Family::default(),
            untold: Gauge::default(),
            fargate: Fargate::default(),
        }
    }
}

impl Metrics {
    /// Makes them part of what a registry tells.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("capt");
        registry.register(
            "reconciles",
            "Objects that were looked at",
            self.reconciles.clone(),
        );
        registry.register_with_unit(
            "reconcile",
            "How long it took to look at an object and to do what was decided",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register(
            "queue_depth",
            "Objects that wait to be looked at",
            self.depth.clone(),
        );
        registry.register(
            "events_waiting",
            "Events that wait to be told",
            self.untold.clone(),
        );
        self.fargate.register(registry);
    }

    /// What is counted about Fargate profiles.
    pub(crate) fn fargate(&self) -> &Fargate {
        &self.fargate
    }

    /// Says nothing any more about what there is as soon as this is dropped. What happened stays counted.
    pub(crate) fn until_dropped(&self) -> impl Drop + use<> {
        Resting(self.clone())
    }

    pub(crate) fn reconciled(&self, controller: &'static str, outcome: &'static str, took: Duration) {
        self.reconciles
            .get_or_create(&Outcome { controller, outcome })
            .inc();
        self.seconds
            .get_or_create(&Controller { controller })
            .observe(took.as_secs_f64());
    }

    pub(crate) fn untold(&self, events: usize) {
        self.untold.set(i64::try_from(events).unwrap_or(i64::MAX));
    }

    pub(crate) fn queued(&self, controller: &'static str, depth: usize) {
        let depth = i64::try_from(depth).unwrap_or(i64::MAX);
        self.depth.get_or_create(&Controller { controller }).set(depth);
    }
}

/// Controllers that ended. Whoever acts now tells what there is.
struct Resting(Metrics);

impl Drop for Resting {
    fn drop(&mut self) {
        self.0.fargate.rest();
    }
}
