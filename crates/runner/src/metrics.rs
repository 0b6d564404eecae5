//! What a runner counts.

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

/// What a runner counts. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    runs: Family<Run, Counter>,
    seconds: Family<Kind, Histogram>,
    queue: Gauge,
    running: Gauge,
    drifted: Counter,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            runs: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.1, 2.5, 12))),
            queue: Gauge::default(),
            running: Gauge::default(),
            drifted: Counter::default(),
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Run {
    kind: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

impl Metrics {
    /// Makes everything that is counted known to a registry.
    pub fn register(&self, registry: &mut Registry) {
        let inner = &self.inner;
        registry.register(
            "capt_runner_runs",
            "Operations of Terraform that ended, by kind and outcome",
            inner.runs.clone(),
        );
        registry.register(
            "capt_runner_run_seconds",
            "How long operations of Terraform took, by kind",
            inner.seconds.clone(),
        );
        registry.register(
            "capt_runner_queue_depth",
            "Workspaces that wait for an operation to begin",
            inner.queue.clone(),
        );
        registry.register(
            "capt_runner_running",
            "Operations of Terraform that run now",
            inner.running.clone(),
        );
        registry.register(
            "capt_runner_drift_found",
            "Plans that found changes of somebody else",
            inner.drifted.clone(),
        );
    }

    pub(crate) fn ended(&self, kind: &'static str, outcome: &'static str, took: Duration) {
        self.inner.runs.get_or_create(&Run { kind, outcome }).inc();
        self.inner
            .seconds
            .get_or_create(&Kind { kind })
            .observe(took.as_secs_f64());
    }

    pub(crate) fn queued(&self, waiting: usize, running: usize) {
        self.inner.queue.set(i64::try_from(waiting).unwrap_or(i64::MAX));
        self.inner.running.set(i64::try_from(running).unwrap_or(i64::MAX));
    }

    pub(crate) fn drift(&self) {
        self.inner.drifted.inc();
    }
}
