//! The project's tooling, run as `cargo xtask …`.
//!
//! Everything that is neither the product nor a test of it lives here: generated files, real peers to compare
//! with, the conformance suite against them, and the benches.
//! Nothing in the product depends on this crate.

mod bench;
mod cluster_api;
mod codegen;
mod conformance;
mod e2e;
mod engine;
mod foreign;
mod fuzz;
mod objects;
mod ours;
mod peers;
mod provider_terraform;
mod realkube;
mod tenants;
mod terraform;
mod workspace;

use clap::{Parser, Subcommand};

/// The project's tooling.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the generated files that the repository keeps.
    #[command(subcommand)]
    Codegen(codegen::Codegen),
    /// Build the real programs that ours is compared with (etcd, kube-apiserver, …), only what is missing.
    Peers(peers::Args),
    /// Run a real Kubernetes API in the foreground, to look at.
    Real(RealArgs),
    /// Play the scenarios of `conformance/` against a real server and ours, and compare the answers.
    Conformance(conformance::Args),
    /// Drive Crossplane's provider-terraform with our controllers on a real server, and check every rule.
    Foreign(foreign::Args),
    /// Have a real Cluster API make, change, move and delete whole clusters with capt, on a real server.
    E2e(e2e::Args),
    /// Have a hostile tenant attack another one on a real server with capt on it, and check that it gets nothing.
    Tenants(tenants::Args),
    /// Format, validate and test the Terraform modules, with any engine.
    Terraform(terraform::Args),
    /// Print the terraform or tofu that is used here, or run the tests that need one with another.
    Engine(engine::Args),
    /// Damage the inputs of everything that reads what others wrote, for as long as you like.
    Fuzz(fuzz::Args),
    /// Measure our server and a real one under the same load.
    #[command(subcommand)]
    Bench(bench::Bench),
}

#[derive(clap::Args)]
struct RealArgs {
    /// Also run Crossplane's provider-terraform on it.
    #[arg(long)]
    provider_terraform: bool,
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Codegen(what) => codegen::run(&what),
        Command::Peers(args) => peers::run(&args),
        Command::Engine(args) => engine::run(&args),
        Command::Terraform(args) => terraform::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Real(args) => until_interrupted(run_real(args)),
        Command::Bench(what) => until_interrupted(bench::run(&what)),
        Command::Foreign(args) => until_interrupted(foreign::run(&args)),
        Command::E2e(args) => until_interrupted(e2e::run(&args)),
        Command::Tenants(args) => until_interrupted(tenants::run(&args)),
        Command::Conformance(args) => until_interrupted(conformance::run(&args)),
    }
}

/// Runs a task, and drops it in an orderly way on an interrupt so that no process stays behind.
fn until_interrupted(task: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            result = task => result,
            _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
            _ = terminated.recv() => anyhow::bail!("terminated"),
        }
    })
}

async fn run_real(args: RealArgs) -> anyhow::Result<()> {
    peers::ensure_built(&["etcd", "kube-apiserver", "kube-controller-manager"])?;
    let real = realkube::RealKube::start(true).await?;
    println!("ready after {:?}", real.ready_after);
    println!("export KUBECONFIG={}", real.kubeconfig().display());
    let mut provider = None;
    if args.provider_terraform {
        peers::ensure_built(&["provider-terraform"])?;
        provider_terraform::install(&real).await?;
        let options = provider_terraform::Options::new(terraform::find_engine()?);
        let running = provider.insert(provider_terraform::ProviderTerraform::start(&real, options)?);
        println!("provider-terraform writes to {}", running.log().display());
    }
    std::future::pending().await
}
