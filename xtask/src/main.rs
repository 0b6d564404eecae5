//! The project's tooling, run as `cargo xtask …`.
//!
//! Everything that is neither the product nor a test of it lives here: generated files, real peers to compare
//! with, the conformance suite against them, and the benches.
//! Nothing in the product depends on this crate.

mod codegen;
mod peers;
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
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Codegen(what) => codegen::run(&what),
        Command::Peers(args) => peers::run(&args),
    }
}
