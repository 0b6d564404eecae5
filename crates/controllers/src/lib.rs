//! The controllers: they watch, put what they see into a snapshot, let `capt-core` decide, and carry the decision out.
//!
//! One reconcile always is the same five steps: observe, decide, apply, record, and wait for the next fact. This crate
//! must never decide anything by itself, and must never know how Terraform is run or where the API server comes from.

mod engine;
mod facts;
mod metrics;
mod options;
mod workspacetemplate;
mod workspacetemplateapply;

pub use metrics::Metrics;
pub use options::{Clock, Options};

use std::sync::Arc;

use kube::Client;
use tokio_util::sync::CancellationToken;

use self::{
    engine::{controller::Worker, execute::Executor, queue::Queue, wakes::Wakes},
    facts::Facts,
    workspacetemplate::Templates,
    workspacetemplateapply::Applies,
};

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
    let (applies, templates) = (Arc::new(Queue::default()), Arc::new(Queue::default()));
    let wakes = Wakes::new(vec![applies.clone(), templates.clone()]);
    let facts = Arc::new(Facts::new(&wakes));
    let mut watches = facts.watch(&client, options.namespace.as_deref());
    // Nothing is decided from half of the facts.
    tokio::select! {
        () = facts.are_known() => {}
        () = stop.cancelled() => return Ok(()),
        _ = watches.join_next() => return Err(Error::Ended("a watch")),
    }
    let executor = Executor::new(client.clone());
    let apply_worker = Worker::new(
        Applies::new(facts.clone(), client, executor.clone(), options.clone()),
        applies,
        options.metrics.clone(),
    );
    let template_worker = Worker::new(
        Templates::new(facts, executor, options.clone()),
        templates,
        options.metrics.clone(),
    );
    let work = async {
        tokio::join!(
            apply_worker.work(options.concurrency, stop.clone()),
            template_worker.work(options.concurrency, stop.clone()),
        );
    };
    tokio::select! {
        () = work => Ok(()),
        _ = watches.join_next() => Err(Error::Ended("a watch")),
    }
}
