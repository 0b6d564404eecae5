//! `cargo xtask engine`: which terraform or tofu is used here, and the tests that need one, with another.
//!
//! CI runs those tests with the engine that it finds. What holds with Terraform has to hold with OpenTofu too, and that
//! takes too long to be asked for at every change.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};

use crate::{peers, terraform, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build OpenTofu when no engine is found, which needs Go and takes minutes.
    #[arg(long)]
    build_missing: bool,
    /// Run every test that needs an engine, with this one: `tofu` is built if it has to be, anything else is a path.
    #[arg(long, value_name = "ENGINE", conflicts_with = "build_missing")]
    tests: Option<PathBuf>,
    /// How often each of the tests that kill something does it.
    #[arg(long, default_value_t = 20, requires = "tests")]
    rounds: u32,
}

/// The tests that need an engine, as arguments of `cargo test`.
const SUITES: &[&[&str]] = &[
    &["--package", "capt-runner", "--test", "process"],
    &["--package", "capt-runner", "--test", "backend"],
    &[
        "--package",
        "capt-cli",
        "--test",
        "cli",
        "--",
        "terraform::",
        "bad_input::",
    ],
];

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.tests {
        Some(engine) => test_with(engine, args.rounds),
        None => terraform::print_engine(args.build_missing),
    }
}

fn test_with(engine: &Path, rounds: u32) -> anyhow::Result<()> {
    let engine = if engine == Path::new(terraform::OPENTOFU) {
        peers::ensure_built(&[terraform::OPENTOFU])?;
        peers::binary(terraform::OPENTOFU)?
    } else {
        fs::canonicalize(engine).with_context(|| format!("resolving {}", engine.display()))?
    };
    println!("{}: {}", engine.display(), terraform::version(&engine)?);
    // The whole program takes the first one of these names that is on the PATH.
    let folder = tempfile::tempdir()?;
    for name in ["terraform", "tofu"] {
        symlink(&engine, folder.path().join(name))?;
    }
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(folder.path().to_owned()).chain(env::split_paths(&others)))?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for suite in SUITES {
        let started = Instant::now();
        let shown = suite.join(" ");
        let status = Command::new(&cargo)
            .current_dir(workspace::root())
            .args(["test", "--quiet", "--locked"])
            .args(*suite)
            .env("PATH", &path)
            .env("CAPT_TEST_ENGINE", &engine)
            .env("CAPT_REQUIRE_TERRAFORM", "1")
            .env("CAPT_CRASH_ROUNDS", rounds.to_string())
            .status()
            .context("running cargo")?;
        ensure!(
            status.success(),
            "`cargo test {shown}` failed with {}",
            engine.display()
        );
        println!("passed in {:.0} s: {shown}", started.elapsed().as_secs_f32());
    }
    Ok(())
}
