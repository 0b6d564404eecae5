//! Ports for whoever looks after the process: is it alive, is it ready, and what does it count.

mod metrics;
mod readiness;

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context;
use axum::{
    Router,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

pub(crate) use self::{metrics::Process, readiness::Readiness};
use crate::listen::ListenAddress;

/// Which ports to open.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Ports")]
pub(crate) struct PortArgs {
    /// Address that answers GET /healthz and /readyz, over plain HTTP [default: none]
    #[arg(long, value_name = "HOST:PORT")]
    health_address: Option<ListenAddress>,

    /// Address that answers GET /metrics for Prometheus, over plain HTTP; it may be the same [default: none]
    #[arg(long, value_name = "HOST:PORT")]
    metrics_address: Option<ListenAddress>,
}

/// Ports that answer, until this is dropped.
#[derive(Debug)]
pub(crate) struct Ports {
    _serving: Vec<AbortOnDropHandle<()>>,
}

impl PortArgs {
    /// Opens what was asked for. From here on it is answered, whatever the process is busy with.
    pub(crate) async fn open(&self, readiness: &Readiness, registry: Registry) -> anyhow::Result<Ports> {
        let health = readiness::routes(readiness);
        let metrics = metrics::routes(registry);
        let wanted = match (&self.health_address, &self.metrics_address) {
            (Some(one), Some(other)) if one == other => {
                vec![(one, "health and metrics", health.merge(metrics))]
            }
            (one, other) => [(one, "health", health), (other, "metrics", metrics)]
                .into_iter()
                .filter_map(|(address, what, routes)| Some((address.as_ref()?, what, routes)))
                .collect(),
        };
        let mut serving = Vec::new();
        for (address, what, routes) in wanted {
            let (bound, task) = serve(address, routes).await?;
            tracing::info!("{what} at http://{bound}");
            serving.push(task);
        }
        Ok(Ports { _serving: serving })
    }
}

async fn serve(
    address: &ListenAddress,
    routes: Router,
) -> anyhow::Result<(SocketAddr, AbortOnDropHandle<()>)> {
    let resolved = address.resolve().await?;
    let listener = TcpListener::bind(resolved)
        .await
        .with_context(|| format!("cannot listen on {resolved}"))?;
    let bound = listener
        .local_addr()
        .context("cannot tell the port that was given")?;
    let task = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, routes).await {
            tracing::error!(%error, %bound, "this port does not answer any more");
        }
    });
    Ok((bound, AbortOnDropHandle::new(task)))
}

/// An answer in plain text.
fn text(code: StatusCode, text: String) -> impl IntoResponse {
    (code, [(CONTENT_TYPE, "text/plain; charset=utf-8")], text)
}
