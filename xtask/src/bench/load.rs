//! The load on an API server.

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

const COLLECTION: &str = "/api/v1/namespaces/default/configmaps";

/// Creates objects with some clients at once, and gives the rate.
pub(super) async fn creates(
    target: &Target,
    clients: usize,
    range: std::ops::Range<usize>,
) -> anyhow::Result<f64> {
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
pub(super) async fn list(target: &Target) -> anyhow::Result<f64> {
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
pub(super) async fn watch_latency(target: &Target, watches: usize) -> anyhow::Result<(f64, f64)> {
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
pub(super) async fn watch_throughput(target: &Target, watches: usize) -> anyhow::Result<f64> {
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
