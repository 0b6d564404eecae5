//! `cargo xtask fuzz`: runs the tests that damage their inputs for longer than CI does.
//!
//! They are ordinary property tests. Each round draws other cases, and one that fails prints the smallest input that
//! still does.

use std::{
    env,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long to go on. The round that is running then is finished.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Cases of each test in one round.
    #[arg(long, default_value_t = 2000)]
    cases: u32,
}

/// What is run, as arguments of `cargo test`: readers of what others wrote.
const SUITES: &[&[&str]] = &[
    &["-p", "capt-terraform"],
    &["-p", "capt-core", "--lib", "render::tests"],
    &["-p", "capt-runner", "--lib", "inputs::tests::fuzz"],
    &["-p", "apiary-semantics", "--lib"],
];

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let until = Instant::now() + Duration::from_secs(args.seconds);
    let mut rounds = 0;
    loop {
        for suite in SUITES {
            test(suite, args.cases)?;
        }
        rounds += 1;
        if Instant::now() >= until {
            break;
        }
    }
    println!("nothing found in {rounds} rounds of {} cases each", args.cases);
    Ok(())
}

fn test(suite: &[&str], cases: u32) -> anyhow::Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .arg("test")
        .arg("--quiet")
        .args(suite)
        .env("PROPTEST_CASES", cases.to_string())
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!(
            "cargo test {} found something; its output says what",
            suite.join(" ")
        );
    }
    Ok(())
}
