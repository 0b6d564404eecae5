//! What is counted, as Prometheus reads it.

use std::sync::Arc;

use axum::{
    Router,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{gauge::Gauge, info::Info},
    registry::Registry,
};

/// The text format of OpenMetrics, which Prometheus reads.
const CONTENT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is counted about the process itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Process {
    leads: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

impl Process {
    /// Makes it part of what a registry tells.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let build = Info::new(Build {
            version: env!("CARGO_PKG_VERSION"),
        });
        registry.register("capt_build", "The version that runs", build);
        registry.register(
            "capt_leads",
            "Whether this process acts, or stands by for one that does",
            self.leads.clone(),
        );
    }

    /// Says whether this process acts.
    pub(crate) fn leads(&self, leads: bool) {
        self.leads.set(i64::from(leads));
    }
}

pub(super) fn routes(registry: Registry) -> Router {
    let registry = Arc::new(registry);
    Router::new().route("/metrics", get(async move || answer(&registry)))
}

fn answer(registry: &Registry) -> Response {
    let mut text = String::new();
    match encode(&mut text, registry) {
        Ok(()) => ([(CONTENT_TYPE, CONTENT)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
