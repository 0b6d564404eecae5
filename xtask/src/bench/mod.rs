//! `cargo xtask bench`: puts the same load on ours and on what others use, on this machine, and prints both.

mod apiserver;
mod connection;
mod fargate;
mod load;
mod memory;
mod processes;
mod render;
mod runner;
mod scale;

use std::process::Command;

use anyhow::{Context, ensure};

use crate::workspace;

#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// The embedded API server: writes, lists, watches, memory, time to ready.
    Apiserver(apiserver::Args),
    /// Our Terraform runner beside Crossplane's provider-terraform, on the same Workspaces and the same server.
    Runner(runner::Args),
    /// Many clusters at once, with simulated Terraform, beside a bare writer.
    Scale(scale::Args),
    /// How fast templates are rendered.
    Render(render::Args),
    /// Fargate profiles of many clusters, in virtual time: how much longer than one after the other they take.
    Fargate(fargate::Args),
}

pub(crate) async fn run(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        // What is measured here are other processes.
        Bench::Runner(args) => runner::run(args).await,
        Bench::Scale(args) if args.is_trial() => scale::run(args).await,
        // In virtual time it does not matter how fast the machine is.
        Bench::Fargate(args) => fargate::run(*args),
        _ if cfg!(debug_assertions) => run_optimised(),
        Bench::Apiserver(args) => apiserver::run(args).await,
        Bench::Scale(args) => scale::run(args).await,
        Bench::Render(args) => render::run(args),
    }
}

/// What is not optimised would measure itself, so this program runs itself again as a release build.
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
