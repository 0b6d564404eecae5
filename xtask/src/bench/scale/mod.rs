//! `cargo xtask bench scale`: many clusters at once, on our own server or a real one.
//!
//! The controllers and a runner with simulated Terraform are processes of their own. A bare writer then does the least
//! that leads to the same objects, on a server of the same sort in the same run, so that what the machine does besides
//! is in both. Requests are counted by the server.

mod bare;
mod counts;
mod fleet;
mod linear;
mod processes;
mod rest;
mod server;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::{
    bare::Sample,
    counts::Counts,
    fleet::Times,
    processes::{Place, Program},
    server::{Server, Which},
};
use super::{connection::Target, memory, processes as cost};
use crate::objects::Objects;
use crate::ours::{self, Profile};
use crate::realkube;

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

/// Statistics of operations are written some time after the last one, and what was kept in case that it goes on is given back.
const SETTLING: Duration = Duration::from_secs(30);

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

/// What many clusters at once cost the controllers.
struct Load {
    /// Until all were ready.
    time: Duration,
    counted: Counts,
    /// Memory, in MiB: all of it, without pages of files, and at most.
    resident: f64,
    own: f64,
    peak: f64,
    /// Time on a processor, of the controllers, the runner and the server.
    cpu: Duration,
    runner: Duration,
    server: Duration,
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
        print(args, &figures);
    }
    linear::run(args, &binary).await
}

/// Templates on a server, and controllers and a runner at work there.
async fn begin(
    args: &Args,
    binary: &Path,
    server: &Server,
    target: &Target,
) -> anyhow::Result<(Program, Program)> {
    fleet::templates(target).await?;
    let place = Place {
        binary,
        kubeconfig: &server.kubeconfig(),
        folder: server.folder(),
    };
    let controllers = Program::controllers(&place, args.concurrency)?;
    Ok((controllers, Program::runner(&place, args.concurrency)?))
}

/// Makes so many clusters at once.
async fn load(
    args: &Args,
    server: &Server,
    target: &Target,
    objects: &Objects,
    programs: &mut (Program, Program),
    clusters: usize,
) -> anyhow::Result<Load> {
    let (times, watches) = Times::watch(objects, false);
    // Whatever is done once is no part of what is measured.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let before = Counts::of(target).await?;
    let server_before = server.cpu();
    let started = Instant::now();
    let (made, last) = tokio::join!(
        fleet::make(target, args.concurrency, 0..clusters),
        times.all_ready(0..clusters)
    );
    made?;
    let time = last?.saturating_duration_since(started);
    tokio::time::sleep(SETTLING).await;
    let (controllers, runner) = programs;
    controllers.check_alive()?;
    runner.check_alive()?;
    drop(watches);
    let pid = controllers.pid();
    Ok(Load {
        time,
        counted: Counts::of(target).await?.since(&before),
        resident: memory::resident(&[pid]).unwrap_or_default(),
        own: memory::own(pid).unwrap_or_default(),
        peak: memory::peak(pid).unwrap_or_default(),
        cpu: cost::cpu(pid),
        runner: cost::cpu(runner.pid()),
        server: server.cpu().saturating_sub(server_before),
    })
}

async fn measure(args: &Args, binary: &Path, clusters: usize) -> anyhow::Result<Figures> {
    eprintln!("{clusters} clusters …");
    let server = Server::start(args.server, binary).await?;
    let target = server.target().await?;
    let objects = Objects {
        client: realkube::client(&server.kubeconfig()).await?,
    };
    let mut programs = begin(args, binary, &server, &target).await?;
    let load = load(args, &server, &target, &objects, &mut programs, clusters).await?;
    let each = |count: u64| count as f64 / clusters as f64;

    eprintln!("nothing, for {} s …", args.idle);
    let idle = idle(&target, Duration::from_secs(args.idle)).await?;

    let rate = clusters as f64 / load.time.as_secs_f64() / 2.0;
    eprintln!("{} more, {rate:.1} in a second …", args.delays);
    let (times, watches) = Times::watch(&objects, true);
    let more = clusters..clusters + args.delays;
    let (made, last) = tokio::join!(
        fleet::trickle(&target, more.clone(), rate),
        times.all_ready(more.clone())
    );
    made?;
    last?;
    let delays = times.delays(more);
    drop(watches);

    let sample = Arc::new(Sample::take(&objects).await?);
    drop((programs, objects, server));
    eprintln!("the same by a bare writer …");
    let server = Server::start(args.server, binary).await?;
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

fn print(args: &Args, figures: &Figures) {
    let part = |share: f64| {
        let index = (figures.delays.len() as f64 * share) as usize;
        let delay = figures
            .delays
            .get(index.min(figures.delays.len().saturating_sub(1)));
        delay.map_or(f64::NAN, |delay| delay.as_secs_f64() * 1000.0)
    };
    let verdict = |is_met: bool| if is_met { "met" } else { "missed" };
    let row = |what: &str, ours: String, bare: String, ratio: f64, goal: f64| {
        let verdict = verdict(ratio <= goal);
        println!("| {what} | {ours} | {bare} | {ratio:.2}× | ≤{goal}× | {verdict} |");
    };
    println!(
        "\n{} clusters, {:?} server, {} at a time\n",
        figures.clusters, args.server, args.concurrency
    );
    println!("| | capt | bare writer | | goal | |\n| --- | --- | --- | --- | --- | --- |");
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    row(
        "until all are ready",
        seconds(figures.load.time),
        seconds(figures.bare),
        figures.load.time.as_secs_f64() / figures.bare.as_secs_f64(),
        1.3,
    );
    row(
        "writes for a cluster, events apart",
        format!("{:.1}", figures.writes),
        format!("{:.1}", figures.bare_writes),
        figures.writes / figures.bare_writes,
        1.2,
    );
    println!("| events for a cluster | {:.1} | | | | |", figures.events);
    println!("| requests for a cluster | {:.1} | | | | |", figures.requests);
    let late = part(0.99);
    println!(
        "| Workspace ready to Cluster ready, median, {:.1} clusters in a second | {:.0} ms | | | | |",
        figures.rate,
        part(0.5)
    );
    println!(
        "| the same, 99th percentile | {late:.0} ms | | | <100 ms | {} |",
        verdict(late < 100.0)
    );
    // The goal is in units of a thousand.
    let megabytes = |mebibytes: f64| format!("{:.1} MB", mebibytes * 1.048_576);
    let is_met = figures.load.resident * 1.048_576 <= 50.0;
    println!(
        "| memory of the controllers | {} | | | ≤50 MB | {} |",
        megabytes(figures.load.resident),
        verdict(is_met)
    );
    println!(
        "| the same, without pages of the program | {} | | | | |",
        megabytes(figures.load.own)
    );
    println!(
        "| memory of the controllers, at most | {} | | | | |",
        megabytes(figures.load.peak)
    );
    let each = |time: Duration| time.as_secs_f64() * 1000.0 / figures.clusters as f64;
    for (who, time) in [("controllers", figures.load.cpu), ("runner", figures.load.runner)] {
        println!(
            "| processor time of the {who} for a cluster | {:.1} ms | | | | |",
            each(time)
        );
    }
    let (ours, bare) = (each(figures.load.server), each(figures.bare_server));
    println!(
        "| processor time of the server for a cluster | {ours:.1} ms | {bare:.1} ms | {:.2}× | | |",
        ours / bare
    );
    println!(
        "| requests in {} s of rest, leases and watches apart | {} | | | 0 | {} |",
        args.idle,
        figures.idle,
        verdict(figures.idle == 0)
    );
    println!(
        "| the same in {} virtual minutes, {} clusters in one process | {} | | | 0 | {} |",
        rest::TIME.as_secs() / 60,
        rest::CLUSTERS,
        figures.idle_virtual,
        verdict(figures.idle_virtual == 0)
    );
    println!("\nrequests for a cluster, by kind:");
    for line in &figures.by_kind {
        println!("  {line}");
    }
    if figures.idle > 0 {
        println!("\nrequests while at rest:");
        for line in &figures.idle_of {
            println!("  {line}");
        }
    }
}
