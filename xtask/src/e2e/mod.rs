//! `cargo xtask e2e`: whole clusters on a real Kubernetes API, looked after by the real core of Cluster API and by capt.
//!
//! Each story is played in a namespace of its own and told in one line. Terraform is real, and the workload cluster is
//! the API server itself, so that "available" is what Cluster API found out by connecting to it.

pub(crate) mod account;
mod controllers;
mod kinds;
mod operator;
mod side;
mod stories;
mod story;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, ensure};
use futures::{StreamExt as _, future::BoxFuture};

use self::side::{Side, Terraform};
use self::stories::{STORIES, Scene, Story};
use crate::{peers, terraform};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the stories whose names contain one of these.
    only: Vec<String>,
    /// Only what CI has time for: a Cluster gets available, is paused, and is deleted.
    #[arg(long)]
    short: bool,
    /// The terraform or tofu to use, instead of the first one found.
    #[arg(long, value_name = "PATH")]
    engine: Option<PathBuf>,
}

/// How many stories are played at a time.
const AT_ONCE: usize = 3;

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    peers::ensure_built(&[
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "provider-terraform",
        "capi",
        "clusterctl",
    ])?;
    let engine = match &args.engine {
        Some(path) => std::fs::canonicalize(path).with_context(|| format!("resolving {}", path.display()))?,
        None => terraform::find_engine()?,
    };
    let wanted = |runner: Terraform, scene: Scene| -> Vec<&Story> {
        let is_in_time = |story: &Story| !args.short || (story.short && runner == Terraform::Ours);
        let is_named = |title: String| {
            args.only.is_empty() || args.only.iter().any(|part| title.contains(part.as_str()))
        };
        STORIES
            .iter()
            .filter(|story| story.scene == scene && story.runners.contains(&runner))
            .filter(|story| is_in_time(story) && is_named(story.title(runner)))
            .collect()
    };
    let mut told = Told::default();
    for runner in [Terraform::Ours, Terraform::Foreign] {
        let (alone, between) = (wanted(runner, Scene::One), wanted(runner, Scene::Two));
        if alone.is_empty() && between.is_empty() {
            continue;
        }
        let mut first = told
            .start("the first management cluster", &engine, runner)
            .await?;
        told.play(&alone, &first, None).await;
        if !between.is_empty() {
            let mut second = told
                .start("the second management cluster", &engine, runner)
                .await?;
            told.play(&between, &first, Some(&second)).await;
            told.alive(&mut second);
        }
        told.alive(&mut first);
    }
    ensure!(
        told.failed.is_empty(),
        "{} of {} stories do not end well: {}",
        told.failed.len(),
        told.played,
        told.failed.join("; ")
    );
    println!("all {} stories end well", told.played);
    Ok(())
}

/// What was told so far.
#[derive(Default)]
struct Told {
    played: usize,
    failed: Vec<String>,
}

impl Told {
    async fn start(
        &mut self,
        what: &'static str,
        engine: &std::path::Path,
        terraform: Terraform,
    ) -> anyhow::Result<Side> {
        let started = Instant::now();
        let side = Side::start(engine, terraform)
            .await
            .with_context(|| format!("starting {what}"))?;
        println!(
            "      {:>5.1} s  {what}, with {}, is ready",
            started.elapsed().as_secs_f32(),
            terraform.name()
        );
        Ok(side)
    }

    async fn play(&mut self, stories: &[&'static Story], first: &Side, second: Option<&Side>) {
        let plays = stories.iter().map(|story| async move {
            let started = Instant::now();
            let play: BoxFuture<'_, anyhow::Result<()>> = (story.play)(first, second.unwrap_or(first));
            (story.title(first.terraform), started, play.await)
        });
        let mut plays = futures::stream::iter(plays).buffer_unordered(AT_ONCE);
        while let Some((name, started, result)) = plays.next().await {
            self.tell(name, started, result);
        }
    }

    fn alive(&mut self, side: &mut Side) {
        if let Err(error) = side.check_alive() {
            self.tell(
                "everything runs to the end".to_owned(),
                Instant::now(),
                Err(error),
            );
        }
    }

    fn tell(&mut self, name: String, started: Instant, result: anyhow::Result<()>) {
        self.played += 1;
        let seconds = started.elapsed().as_secs_f32();
        match result {
            Ok(()) => println!("ok    {seconds:>5.1} s  {name}"),
            Err(error) => {
                println!("FAIL  {seconds:>5.1} s  {name}\n      {error:#}");
                self.failed.push(name);
            }
        }
    }
}
