//! What a process and everything that it starts cost.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// Units of time in `/proc`, per second. Linux tells programs this one whatever it uses itself.
const TICKS: f64 = 100.0;

/// What one process says about itself.
struct Stat {
    parent: u32,
    /// Time on a processor, of itself and of all children that have ended and were waited for.
    ticks: f64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<f64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        ticks: number(11)? + number(12)? + number(13)? + number(14)?,
    })
}

/// A process and all that it started and that still run.
pub(super) fn tree(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(stat) = stat(pid) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut all = vec![root];
    let mut next = 0;
    while let Some(pid) = all.get(next).copied() {
        all.extend(children.get(&pid).into_iter().flatten());
        next += 1;
    }
    all
}

/// How long a process and all that it ever started have been on a processor.
pub(super) fn cpu(root: u32) -> Duration {
    let ticks: f64 = tree(root)
        .into_iter()
        .filter_map(stat)
        .map(|stat| stat.ticks)
        .sum();
    Duration::from_secs_f64(ticks / TICKS)
}
