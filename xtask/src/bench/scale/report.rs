//! What was measured, for people, beside the goals.

use std::time::Duration;

use super::{Args, Figures, rest, server::Which, world::Cpu};

/// Prints the figures.
pub(super) fn print(args: &Args, figures: &Figures) {
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
    let whose = match args.server {
        Which::Embedded => "server, controllers and runner",
        Which::Apart | Which::Real => "the controllers",
    };
    let (goal, met) = match args.server {
        Which::Embedded => ("", ""),
        Which::Apart | Which::Real => ("≤50 MB", verdict(figures.load.resident * 1.048_576 <= 50.0)),
    };
    println!(
        "| memory of {whose} | {} | | | {goal} | {met} |",
        megabytes(figures.load.resident)
    );
    println!(
        "| the same, without pages of the program | {} | | | | |",
        megabytes(figures.load.own)
    );
    println!("| the same, at most | {} | | | | |", megabytes(figures.load.peak));
    let each = |time: Duration| time.as_secs_f64() * 1000.0 / figures.clusters as f64;
    if let Cpu::Apart {
        controllers,
        runner,
        server,
    } = figures.load.cpu
    {
        for (who, time) in [
            ("controllers", controllers),
            ("runner", runner),
            ("server", server),
        ] {
            println!(
                "| processor time of the {who} for a cluster | {:.1} ms | | | | |",
                each(time)
            );
        }
    }
    let (ours, bare) = (each(figures.load.cpu.all()), each(figures.bare_server));
    println!(
        "| processor time of all of these for a cluster | {ours:.1} ms | {bare:.1} ms | {:.2}× | | |",
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
