//! One module per subcommand.

mod engine;
pub(crate) mod manifests;
mod process;
pub(crate) mod runner;
mod signals;
pub(crate) mod up;

use std::io::{self, Write};

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
