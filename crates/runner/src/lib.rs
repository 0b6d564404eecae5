//! The runner: keeps Workspaces applied by running Terraform for them.
//!
//! It acts on the `Workspace` objects that provider-terraform knows, in the way that provider-terraform does as far as
//! anybody can see: the same conditions, reasons, annotations, finalizer and connection secret. Where an operation
//! executes is behind one seam, [`engine`]; what Terraform's words mean is told by `capt-terraform`.
//!
//! This crate must never know templates, WorkspaceTemplateApplies or clusters: a Workspace is the largest thing that
//! it has a word for.
//!
//! | module | for |
//! |---|---|
//! | [`engine`] | the seam: what an engine is given and what it gives back |
//! | [`choose`] | which engine, and why |
//! | [`simulated`] | an engine with no process behind it |
//! | [`view`] | one view of the Workspaces of both groups |
//! | [`inputs`] | from a Workspace and the objects that it names to what an engine is given |
//! | [`store`] | state in Secrets and its lock |
//! | [`connection`] | outputs for whoever uses what was made |
//! | [`process`] | Terraform as processes on this machine |
//! | [`sandbox`] | how far these are confined |
//! | `folder` | files of folders that they write to |
//! | `decide` | what to do about a Workspace next: pure |
//! | `control` | the loop over all Workspaces |
//! | `workspace` | one Workspace: what is known about it, what its status says, what needs no engine |
//! | `operation` | one operation, from the lock to the last word about it |
//! | `ownership` | whether a Workspace is this runner's |
//! | `report`, `events` | what is told beside a Workspace |

mod api;
pub mod choose;
pub mod connection;
mod context;
mod control;
mod decide;
pub mod engine;
mod events;
mod folder;
pub mod inputs;
mod metrics;
mod operation;
mod options;
mod ownership;
pub mod process;
mod report;
mod salt;
pub mod sandbox;
pub mod simulated;
pub mod store;
pub mod view;
mod workspace;

use std::sync::Arc;

use kube::Client;
use tokio_util::sync::CancellationToken;

pub use api::CallError;
pub use metrics::Metrics;
pub use options::{Clock, Engines, Options, Which};
pub use report::DURATIONS_CONFIG_MAP;
pub use salt::SALT_SECRET;

/// Why a runner could not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It was told something that makes no sense.
    #[error("the runner cannot start: {0}")]
    Options(String),
}

/// Keeps Workspaces applied until it is told to stop, and returns when every operation has stopped and every state is
/// kept.
///
/// # Errors
/// If it was told something that makes no sense. What goes wrong later is told on the objects.
pub async fn run(client: Client, options: Options, shutdown: CancellationToken) -> Result<(), Error> {
    if options.parallelism == 0 {
        return Err(Error::Options("no operation may run at all".to_owned()));
    }
    let context = tokio::select! {
        () = shutdown.cancelled() => return Ok(()),
        context = context::Context::new(client, options) => context,
    };
    control::run(Arc::new(context), shutdown).await;
    Ok(())
}
