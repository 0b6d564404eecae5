//! `cargo xtask tenants`: a hostile tenant attacks another one, on a real Kubernetes API with capt on it.
//!
//! capt has exactly the rights that `capt manifests` prints, and the attacker has every right in its own namespace and none
//! elsewhere. Each row first shows that what is attacked is there and works, and where something is refused that it succeeds
//! for those who may.

mod accounts;
mod kinds;
mod program;
mod rows;
mod stage;
mod tenant;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, ensure};
use futures::StreamExt as _;

use self::rows::{ACTS, Row};
use self::stage::Stage;
use crate::{peers, terraform};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these rows, such as T4,T5.
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    only: Vec<String>,
    /// The terraform or tofu to use, instead of the first one found.
    #[arg(long, value_name = "PATH")]
    engine: Option<PathBuf>,
}

/// How many rows are played at a time.
const AT_ONCE: usize = 3;

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    for id in &args.only {
        ensure!(
            ACTS.iter().flat_map(|act| act.rows).any(|row| row.id == id),
            "there is no row {id}"
        );
    }
    peers::ensure_built(&["etcd", "kube-apiserver", "kube-controller-manager"])?;
    let engine = match &args.engine {
        Some(path) => std::fs::canonicalize(path).with_context(|| format!("resolving {}", path.display()))?,
        None => terraform::find_engine()?,
    };
    let is_wanted = |row: &Row| args.only.is_empty() || args.only.iter().any(|id| row.id == id);
    let mut stage: Option<Stage> = None;
    let mut failed = Vec::new();
    for act in ACTS {
        let rows: Vec<&Row> = act.rows.iter().filter(|row| is_wanted(row)).collect();
        if rows.is_empty() {
            continue;
        }
        let on = match &mut stage {
            None => stage.insert(Stage::set(&engine, act.installation).await?),
            Some(stage) => {
                stage.restart(act.installation).await?;
                stage
            }
        };
        let played = rows.into_iter().map(|row| {
            let stage = &*on;
            async move {
                let started = Instant::now();
                (row, started, (row.play)(stage).await)
            }
        });
        let mut played = futures::stream::iter(played).buffer_unordered(AT_ONCE);
        while let Some((row, started, result)) = played.next().await {
            let seconds = started.elapsed().as_secs_f32();
            match result {
                Ok(()) => println!("{:<4}{} … ok, {seconds:.1} s", row.id, row.title),
                Err(error) => {
                    println!(
                        "{:<4}{} … FAILED, {seconds:.1} s\n    {error:#}",
                        row.id, row.title
                    );
                    failed.push(row.id);
                }
            }
        }
        drop(played);
        on.check()?;
    }
    ensure!(
        failed.is_empty(),
        "tenants do not stay apart: {}",
        failed.join(", ")
    );
    Ok(())
}
