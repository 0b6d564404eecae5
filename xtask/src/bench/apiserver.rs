//! The load on an API server, and the figures it gives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::connection::{Connection, Target};
use super::memory;
use crate::ours::{self, Ours, Profile, Storage};
use crate::peers;
use crate::realkube::RealKube;

const COLLECTION: &str = "/api/v1/namespaces/default/configmaps";

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
    let ours = Ours::start(&ours::build(Profile::Release)?, Storage::Disk).await?;
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

/// Creates objects with some clients at once, and gives the rate.
async fn creates(target: &Target, clients: usize, range: std::ops::Range<usize>) -> anyhow::Result<f64> {
    let count = range.len();
    let next = Arc::new(AtomicUsize::new(range.start));
    let mut connections = Vec::new();
    for _ in 0..clients {
        connections.push(target.connect().await?);
    }
    let mut tasks = JoinSet::new();
    let started = Instant::now();
    for mut connection in connections {
        let next = Arc::clone(&next);
        tasks.spawn(async move {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= range.end {
                    return anyhow::Ok(());
                }
                connection
                    .call(
                        Method::POST,
                        COLLECTION,
                        Some(object(&format!("object-{index:06}"))),
                    )
                    .await?;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

/// A ConfigMap of 1 KiB.
fn object(name: &str) -> Bytes {
    let empty = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": "bench"}},
        "data": {"filling": ""},
    });
    let filling = "x".repeat(1024_usize.saturating_sub(empty.to_string().len()));
    let mut object = empty;
    object["data"]["filling"] = filling.into();
    object.to_string().into()
}

/// The median time of a whole list, in milliseconds.
async fn list(target: &Target) -> anyhow::Result<f64> {
    let mut connection = target.connect().await?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let started = Instant::now();
        connection.call(Method::GET, COLLECTION, None).await?;
        times.push(started.elapsed());
    }
    Ok(milliseconds(&mut times, 0.5))
}

/// How long after a write each of many watches has seen it: the median and the 99th percentile, in milliseconds.
async fn watch_latency(target: &Target, watches: usize) -> anyhow::Result<(f64, f64)> {
    let mut connection = target.connect().await?;
    let mut seen = open_watches(target, &mut connection, watches).await?;
    let mut times = Vec::new();
    for number in 0..200 {
        let started = Instant::now();
        touch(&mut connection, number).await?;
        for _ in 0..watches {
            seen.recv().await.context("a watch ended")?;
            times.push(started.elapsed());
        }
    }
    Ok((milliseconds(&mut times, 0.5), milliseconds(&mut times, 0.99)))
}

/// How many events reach all watches together in a second while eight clients write.
async fn watch_throughput(target: &Target, watches: usize) -> anyhow::Result<f64> {
    const WRITERS: usize = 8;
    const WRITES: usize = 100;
    let mut connection = target.connect().await?;
    let mut seen = open_watches(target, &mut connection, watches).await?;
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        writers.push(target.connect().await?);
    }
    let mut tasks = JoinSet::new();
    let started = Instant::now();
    for (writer, mut connection) in writers.into_iter().enumerate() {
        tasks.spawn(async move {
            for number in 0..WRITES {
                let path = format!("{COLLECTION}/object-{writer:06}");
                let patch = json!({"data": {"n": format!("burst {number}")}}).to_string();
                connection.call(Method::PATCH, &path, Some(patch.into())).await?;
            }
            anyhow::Ok(())
        });
    }
    let expected = WRITERS * WRITES * watches;
    for _ in 0..expected {
        seen.recv().await.context("a watch ended")?;
    }
    let elapsed = started.elapsed();
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(expected as f64 / elapsed.as_secs_f64())
}

async fn touch(connection: &mut Connection, number: usize) -> anyhow::Result<()> {
    let patch = json!({"data": {"n": number.to_string()}}).to_string();
    connection
        .call(
            Method::PATCH,
            &format!("{COLLECTION}/object-000000"),
            Some(patch.into()),
        )
        .await
        .map(drop)
}

/// Opens watches from now on; the channel gets one message for each event of each watch.
async fn open_watches(
    target: &Target,
    connection: &mut Connection,
    watches: usize,
) -> anyhow::Result<mpsc::UnboundedReceiver<()>> {
    let page = connection
        .call(Method::GET, &format!("{COLLECTION}?limit=1"), None)
        .await?;
    let page: Value = serde_json::from_slice(&page)?;
    let version = page["metadata"]["resourceVersion"]
        .as_str()
        .context("a list has a version")?
        .to_owned();
    let (tell, seen) = mpsc::unbounded_channel();
    for _ in 0..watches {
        let mut watcher = target.connect().await?;
        let path = format!("{COLLECTION}?watch=1&resourceVersion={version}");
        let mut body = watcher.send(Method::GET, &path, None).await?.into_body();
        let tell = tell.clone();
        tokio::spawn(async move {
            // The connection lives as long as its watch.
            let _watcher = watcher;
            while let Some(Ok(frame)) = body.frame().await {
                let events = frame
                    .data_ref()
                    .map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
                for _ in 0..events {
                    if tell.send(()).is_err() {
                        return;
                    }
                }
            }
        });
    }
    Ok(seen)
}

/// The time below which this share of all times lies, in milliseconds.
fn milliseconds(times: &mut [Duration], share: f64) -> f64 {
    times.sort();
    let index = ((times.len() - 1) as f64 * share).round() as usize;
    times[index].as_secs_f64() * 1000.0
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
