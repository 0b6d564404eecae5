//! One module per subcommand.

pub(crate) mod approve;
mod engine;
pub(crate) mod logs;
pub(crate) mod manifests;
pub(crate) mod plan;
mod process;
pub(crate) mod retry;
pub(crate) mod runner;
mod signals;
pub(crate) mod up;

use std::{
    future::Future,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};

/// Writes to stdout. A reader that has seen enough (`capt … | head`) is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// A runtime with all cores.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")
}

/// Runs a command that asks something of a cluster.
pub(crate) fn ask(command: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(command)
}
