//! The controllers: they watch, put what they see into a snapshot, let `capt-core` decide, and carry the decision out.
//!
//! One reconcile always is the same five steps: observe, decide, apply, record, and wait for the next fact. This crate
//! must never decide anything by itself, and must never know how Terraform is run or where the API server comes from.

mod metrics;
mod options;

pub use metrics::Metrics;
pub use options::{Clock, Options};

use kube::Client;
use tokio_util::sync::CancellationToken;

/// Why the controllers stopped before they were told to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something that must run for ever ended.
    #[error("{0} ended by itself")]
    Ended(&'static str),
}

/// Runs the controllers until they are told to stop.
///
/// # Errors
///
/// If a part of them ends by itself. What goes wrong with one object or one call is not an error here: it is tried again.
pub async fn run(client: Client, options: Options, stop: CancellationToken) -> Result<(), Error> {
    let _ = (client, options);
    stop.cancelled().await;
    Ok(())
}
