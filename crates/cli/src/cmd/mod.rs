//! One module per subcommand.

pub(crate) mod approve;
mod cluster_controller;
pub(crate) mod controller;
pub(crate) mod describe;
mod engine;
pub(crate) mod get;
pub(crate) mod kubeconfig;
pub(crate) mod logs;
pub(crate) mod manifests;
pub(crate) mod migrate;
mod namespaces;
mod one;
mod own_credentials;
pub(crate) mod plan;
mod process;
pub(crate) mod retry;
pub(crate) mod runner;
mod signals;
pub(crate) mod tree;
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
    print_more(text).map(drop)
}

/// What became of something that was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    /// It was written.
    Written,
    /// The reader has seen enough, and nothing more has to be printed.
    NobodyReads,
}

/// The same for those who go on printing.
pub(crate) fn print_more(text: &str) -> anyhow::Result<Printed> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Printed::NobodyReads),
        written => Ok(written.map(|()| Printed::Written)?),
    }
}

/// Ends the process if arguments make no sense together, as the parser does if one of them makes none: with its words and its
/// exit code.
fn refuse(contradiction: Option<String>) {
    if let Some(problem) = contradiction {
        clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, format!("{problem}\n")).exit();
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
