//! What is measured of an API server, and the table of it.

use std::time::Duration;

use super::connection::Target;
use super::load::{creates, list, watch_latency, watch_throughput};
use super::memory;
use crate::ours::{self, Company, Ours, Profile, Storage};
use crate::peers;
use crate::realkube::RealKube;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Measure a real server too, and build it first where it is missing.
    #[arg(long, conflicts_with = "without_peer")]
    with_peer: bool,
    /// Measure only our server, even when a real one is built.
    #[arg(long)]
    without_peer: bool,
    /// How many objects of 1 KiB the server holds in the end.
    #[arg(long, default_value_t = 10_000)]
    objects: usize,
    /// How many clients write at once.
    #[arg(long, default_value_t = 32)]
    clients: usize,
    /// How many watches are open at once.
    #[arg(long, default_value_t = 50)]
    watches: usize,
}

/// A figure, in the order of the printed table.
struct Figure {
    name: String,
    value: Option<f64>,
    unit: &'static str,
    /// Whether more is better.
    more_is_better: bool,
}

/// What is measured.
struct Subject {
    target: Target,
    pids: Vec<u32>,
    ready_after: Duration,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<()> {
    println!("measuring our server, durable on disk …");
    let ours = Ours::start(&ours::build(Profile::Release)?, Storage::Disk, Company::Nobody).await?;
    let subject = Subject {
        target: Target::read(&ours.kubeconfig()).await?,
        pids: vec![ours.pid()],
        ready_after: ours.ready_after,
    };
    let our_figures = measure(&subject, args).await?;
    drop(ours);
    let their_figures = if wants_peer(args)? {
        Some(measure_peer(args).await?)
    } else {
        None
    };
    print(&our_figures, their_figures.as_deref());
    Ok(())
}

fn wants_peer(args: &Args) -> anyhow::Result<bool> {
    let names = ["etcd", "kube-apiserver"];
    if args.with_peer {
        peers::ensure_built(&names)?;
        return Ok(true);
    }
    Ok(!args.without_peer && names.iter().all(|name| peers::binary(name).is_ok()))
}

async fn measure_peer(args: &Args) -> anyhow::Result<Vec<Figure>> {
    println!(
        "measuring kube-apiserver {} on etcd {} …",
        peers::version("kube-apiserver")?,
        peers::version("etcd")?
    );
    let real = RealKube::start(false).await?;
    let subject = Subject {
        target: Target::read(&real.kubeconfig()).await?,
        pids: real.pids(),
        ready_after: real.ready_after,
    };
    measure(&subject, args).await
}

async fn measure(subject: &Subject, args: &Args) -> anyhow::Result<Vec<Figure>> {
    // Servers go on with work of their own for a moment after they are ready.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut figures = Vec::new();
    let mut add = |name: String, value: Option<f64>, unit, more_is_better| {
        figures.push(Figure {
            name,
            value,
            unit,
            more_is_better,
        });
    };
    add(
        "time to ready".into(),
        Some(subject.ready_after.as_secs_f64() * 1000.0),
        "ms",
        false,
    );
    add(
        "memory, empty".into(),
        memory::resident(&subject.pids),
        "MiB",
        false,
    );
    let alone = args.objects / 5;
    let rate = creates(&subject.target, 1, 0..alone).await?;
    add("creates, 1 client".into(), Some(rate), "/s", true);
    let rate = creates(&subject.target, args.clients, alone..args.objects).await?;
    add(
        format!("creates, {} clients", args.clients),
        Some(rate),
        "/s",
        true,
    );
    tokio::time::sleep(Duration::from_secs(2)).await;
    add(
        format!("memory, {} objects", args.objects),
        memory::resident(&subject.pids),
        "MiB",
        false,
    );
    let listed = list(&subject.target).await?;
    add(format!("list of {}", args.objects), Some(listed), "ms", false);
    let (median, late) = watch_latency(&subject.target, args.watches).await?;
    add(
        format!("write seen by {} watches, median", args.watches),
        Some(median),
        "ms",
        false,
    );
    add(
        format!("write seen by {} watches, 99th", args.watches),
        Some(late),
        "ms",
        false,
    );
    let rate = watch_throughput(&subject.target, args.watches).await?;
    add(
        format!("events to {} watches", args.watches),
        Some(rate),
        "/s",
        true,
    );
    add(
        "memory, after all".into(),
        memory::resident(&subject.pids),
        "MiB",
        false,
    );
    Ok(figures)
}

fn print(ours: &[Figure], theirs: Option<&[Figure]>) {
    println!("\n{:<40}{:>14}{:>18}{:>10}", "", "ours", "kube-apiserver", "");
    for (index, figure) in ours.iter().enumerate() {
        let other = theirs
            .and_then(|figures| figures.get(index))
            .and_then(|figure| figure.value);
        let ratio = match (figure.value, other) {
            (Some(ours), Some(theirs)) if figure.more_is_better => format!("{:.1}×", ours / theirs),
            (Some(ours), Some(theirs)) => format!("{:.1}×", theirs / ours),
            _ => String::new(),
        };
        let show = |value: Option<f64>| {
            value.map_or("–".to_owned(), |value| format!("{value:.1} {}", figure.unit))
        };
        println!(
            "{:<40}{:>14}{:>18}{ratio:>10}",
            figure.name,
            show(figure.value),
            show(other)
        );
    }
    println!("\nThe last column says how many times better ours is.");
}
