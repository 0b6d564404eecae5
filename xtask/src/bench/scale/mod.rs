//! `cargo xtask bench scale`: many clusters at once, on our own server or a real one.
//!
//! The controllers and a runner with simulated Terraform are in the process of our server, or processes of their own. A bare writer then does the least
//! that leads to the same objects, on a server of the same sort in the same run, so that what the machine does besides
//! is in both. Requests are counted by the server.

mod bare;
mod counts;
mod fleet;
mod linear;
mod processes;
mod report;
mod rest;
mod server;
mod world;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::{
    bare::Sample,
    counts::Counts,
    fleet::Times,
    server::{Server, Which},
    world::{Load, World},
};
use super::connection::Target;
use crate::ours::{self, Company, Profile};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many clusters; several numbers are measured one after the other.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [200])]
    clusters: Vec<usize>,
    /// The server that they are on.
    #[arg(long, value_enum, default_value_t = Which::Embedded)]
    server: Which,
    /// How many objects of a kind are worked on at a time, and how many connections the bare writer has.
    #[arg(long, default_value_t = 16)]
    concurrency: usize,
    /// How many clusters the delays are taken from.
    #[arg(long, default_value_t = 200)]
    delays: usize,
    /// How long it is counted what is asked although nothing happens, in seconds; ten minutes of virtual time besides.
    #[arg(long, default_value_t = 60)]
    idle: u64,
    /// Measure these numbers of clusters besides, each on a fresh server and without the bare writer: what a cluster costs
    /// should not depend on how many there are.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    linear: Vec<usize>,
    /// Measure builds that are not optimised, to try the bench itself or to count requests.
    #[arg(long)]
    debug: bool,
    /// Measure this program instead of building one.
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

impl Args {
    /// Whether what is measured need not be fast.
    pub(super) fn is_trial(&self) -> bool {
        self.debug
    }
}

/// What was measured.
struct Figures {
    clusters: usize,
    bare: Duration,
    /// Time of the server on a processor for the bare writer.
    bare_server: Duration,
    writes: f64,
    bare_writes: f64,
    events: f64,
    requests: f64,
    delays: Vec<Duration>,
    rate: f64,
    load: Load,
    idle: u64,
    idle_virtual: usize,
    idle_of: Vec<String>,
    by_kind: Vec<String>,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    args.server.prepare()?;
    let profile = match args.debug {
        true => Profile::Debug,
        false => Profile::Release,
    };
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => ours::build(profile)?,
    };
    for clusters in &args.clusters {
        let figures = measure(args, &binary, *clusters).await?;
        report::print(args, &figures);
    }
    linear::run(args, &binary).await
}

async fn measure(args: &Args, binary: &Path, clusters: usize) -> anyhow::Result<Figures> {
    eprintln!("{clusters} clusters …");
    let mut world = World::begin(args, binary).await?;
    let load = world.load(args, clusters).await?;
    let each = |count: u64| count as f64 / clusters as f64;

    eprintln!("nothing, for {} s …", args.idle);
    let idle = idle(&world.target, Duration::from_secs(args.idle)).await?;

    let rate = clusters as f64 / load.time.as_secs_f64() / 2.0;
    eprintln!("{} more, {rate:.1} in a second …", args.delays);
    let (times, watches) = Times::watch(&world.objects, true);
    let more = clusters..clusters + args.delays;
    let (made, last) = tokio::join!(
        fleet::trickle(&world.target, more.clone(), rate),
        times.all_ready(more.clone())
    );
    made?;
    last?;
    let delays = times.delays(more);
    drop(watches);

    let sample = Arc::new(Sample::take(&world.objects).await?);
    drop(world);
    eprintln!("the same by a bare writer …");
    let server = Server::start(args.server, binary, Company::Nobody).await?;
    let target = server.target().await?;
    let before = Counts::of(&target).await?;
    let server_before = server.cpu();
    let bare = bare::write(&target, &sample, args.concurrency, clusters).await?;
    let bare_server = server.cpu().saturating_sub(server_before);
    let bare_counted = Counts::of(&target).await?.since(&before);
    anyhow::ensure!(
        each(bare_counted.writes()) < sample.writes() as f64 + 1.0,
        "the server counted {} writes of the bare writer for each cluster, which issued {}",
        each(bare_counted.writes()),
        sample.writes()
    );
    Ok(Figures {
        clusters,
        bare,
        bare_server,
        writes: each(load.counted.writes()),
        bare_writes: sample.writes() as f64,
        events: each(load.counted.sum(|kind, verb| kind == "events" && verb.is_write())),
        requests: each(load.counted.requests()),
        delays,
        rate,
        idle: idle.requests(),
        idle_of: idle.by_kind(1),
        idle_virtual: rest::requests()?,
        by_kind: load.counted.by_kind(clusters),
        load,
    })
}

/// What is asked while nothing happens, apart from leases and watches.
async fn idle(target: &Target, length: Duration) -> anyhow::Result<Counts> {
    let before = Counts::of(target).await?;
    tokio::time::sleep(length).await;
    Ok(Counts::of(target).await?.since(&before))
}
