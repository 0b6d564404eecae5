//! `cargo xtask bench`: puts the same load on our server and on a real one, on this machine, and prints both.

mod apiserver;
mod connection;
mod load;
mod memory;

use std::process::Command;

use anyhow::{Context, ensure};

use crate::workspace;

#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// The embedded API server: writes, lists, watches, memory, time to ready.
    Apiserver(apiserver::Args),
}

pub(crate) async fn run(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Apiserver(args) if cfg!(debug_assertions) => {
            let _ = args;
            run_optimised()
        }
        Bench::Apiserver(args) => apiserver::run(args).await,
    }
}

/// A load generator that is not optimised would measure itself, so this program runs itself again as a release build.
fn run_optimised() -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(workspace::root())
        .args(["run", "--quiet", "--release", "--package", "xtask", "--"])
        .args(std::env::args_os().skip(1))
        .status()
        .context("running the release build of xtask")?;
    ensure!(status.success(), "the bench failed");
    Ok(())
}
