//! Whether a cluster costs the same however many there are.

use std::path::Path;

use super::{
    Args,
    world::{Load, World},
};

/// How much more a cluster may cost where there are most than where there are fewest.
const GOAL: f64 = 1.2;

/// Measures each number of clusters that was asked for, and prints what a cluster costs.
pub(super) async fn run(args: &Args, binary: &Path) -> anyhow::Result<()> {
    if args.linear.is_empty() {
        return Ok(());
    }
    let mut first = None;
    println!(
        "\n| clusters | until all are ready | for a cluster | compared with the first | writes | processor time | memory | without pages of the program |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for clusters in &args.linear {
        eprintln!("{clusters} clusters …");
        let load = measure(args, binary, *clusters).await?;
        let count = *clusters as f64;
        let each = load.time.as_secs_f64() * 1000.0 / count;
        let first = *first.get_or_insert(each);
        let ratio = each / first;
        println!(
            "| {clusters} | {:.1} s | {each:.1} ms | {ratio:.2}× ({}) | {:.1} | {:.1} ms | {:.1} MB | {:.1} MB |",
            load.time.as_secs_f64(),
            if ratio <= GOAL {
                "linear"
            } else {
                "more than linear"
            },
            load.counted.writes() as f64 / count,
            load.cpu.all().as_secs_f64() * 1000.0 / count,
            load.resident * 1.048_576,
            load.own * 1.048_576,
        );
    }
    Ok(())
}

async fn measure(args: &Args, binary: &Path, clusters: usize) -> anyhow::Result<Load> {
    let mut world = World::begin(args, binary).await?;
    world.load(args, clusters).await
}
