//! `cargo xtask foreign`: capt's controllers drive Crossplane's provider-terraform, unmodified, on a real Kubernetes API.
//!
//! Each rule that the controllers promise to keep with somebody else's runner is played out in a namespace of its own and
//! told in one line. Modules write down what they make and destroy, so that nothing has to be believed.

mod kinds;
pub(crate) mod ledger;
mod rules;
pub(crate) mod runner;
mod stage;
mod story;

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use futures::{StreamExt as _, future::BoxFuture};

use self::stage::Stage;
use crate::provider_terraform::{self, Options, ProviderTerraform};
use crate::realkube::RealKube;
use crate::{peers, terraform, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the rules whose names contain one of these.
    only: Vec<String>,
    /// The terraform or tofu to use, instead of the first one found.
    #[arg(long, value_name = "PATH")]
    engine: Option<PathBuf>,
}

/// A rule that disturbs nobody.
type Rule = for<'a> fn(&'a Stage) -> BoxFuture<'a, anyhow::Result<()>>;
/// A rule that stops and starts provider-terraform, and so has it for itself.
type SoleRule = for<'a> fn(&'a Stage, &'a mut ProviderTerraform) -> BoxFuture<'a, anyhow::Result<()>>;

/// What is told of the controllers' own tests.
const OWN_TESTS: &str = "the controllers' own tests pass on this API";

/// How many rules are played at a time. Most of them wait most of the time: provider-terraform does not believe for half a
/// minute after a creation that anything is gone.
const AT_ONCE: usize = 8;

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    peers::ensure_built(&[
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "provider-terraform",
    ])?;
    let engine = match &args.engine {
        Some(path) => std::fs::canonicalize(path).with_context(|| format!("resolving {}", path.display()))?,
        None => terraform::find_engine()?,
    };
    let kube = RealKube::start(true).await?;
    provider_terraform::install(&kube).await?;
    let mut provider = ProviderTerraform::start(&kube, Options::new(engine))?;
    let stage = Stage::set(&kube).await?;
    let is_wanted =
        |name: &str| args.only.is_empty() || args.only.iter().any(|part| name.contains(part.as_str()));

    let mut failed = Vec::new();
    let mut told = |name: &'static str, started: Instant, result: anyhow::Result<()>| {
        let seconds = started.elapsed().as_secs_f32();
        match result {
            Ok(()) => println!("ok    {seconds:>5.1} s  {name}"),
            Err(error) => {
                println!("FAIL  {seconds:>5.1} s  {name}\n      {error:#}");
                failed.push(name);
            }
        }
    };
    let stories = rules::RULES
        .iter()
        .filter(|(name, _)| is_wanted(name))
        .map(|(name, rule)| {
            let stage = &stage;
            async move {
                let started = Instant::now();
                (*name, started, rule(stage).await)
            }
        });
    let mut stories = futures::stream::iter(stories).buffer_unordered(AT_ONCE);
    while let Some((name, started, result)) = stories.next().await {
        told(name, started, result);
    }
    drop(stories);
    provider.check_alive()?;
    for (name, rule) in rules::SOLE_RULES.iter().filter(|(name, _)| is_wanted(name)) {
        let started = Instant::now();
        let result = rule(&stage, &mut provider).await;
        told(name, started, result);
    }
    if let Some(error) = stage.ended().await {
        told(
            "the controllers run",
            Instant::now(),
            Err(anyhow::anyhow!("they ended: {error}")),
        );
    }
    drop(provider);
    if is_wanted(OWN_TESTS) {
        stage.stop_controllers().await?;
        let started = Instant::now();
        told(OWN_TESTS, started, own_tests(&kube));
    }
    ensure!(
        failed.is_empty(),
        "{} of the rules do not hold: {}",
        failed.len(),
        failed.join("; ")
    );
    Ok(())
}

/// The tests of the controllers, each in a namespace of its own on the real API.
fn own_tests(kube: &RealKube) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(workspace::root())
        .args(["test", "--quiet", "--package", "capt-controllers", "--locked"])
        // Those fail at every write of a whole life in turn, for which time must not be real: they never come here.
        .args(["--", "--skip", "at_any_write"])
        .env("CAPT_TEST_KUBECONFIG", kube.kubeconfig())
        .status()
        .context("running the tests of the controllers")?;
    ensure!(status.success(), "`cargo test --package capt-controllers` failed");
    Ok(())
}
