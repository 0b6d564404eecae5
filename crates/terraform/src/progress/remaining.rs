//! How long it will still take.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::tracker::Tracker;
use crate::stream::{Action, configuration_address};

/// How many operations Terraform runs at once unless it is told otherwise.
const PARALLELISM: f64 = 10.0;

/// The longest chain of what is left, or everything left shared among Terraform's workers, whichever is more. `None` if
/// nothing of what is left is known from experience, or all that is should be over by that.
pub(super) fn seconds(tracker: &Tracker, now: Timestamp) -> Option<u64> {
    let mut left: BTreeMap<String, f64> = BTreeMap::new();
    let (mut sum, mut known) = (0.0, false);
    for ((address, action, _), item) in &tracker.items {
        let seconds = item.seconds_left(now);
        if seconds <= 0.0 {
            continue;
        }
        // Who is late was promised for earlier, and nobody knows any more.
        known |= item.known && !item.is_late(now);
        sum += seconds;
        let longest = left.entry(configuration_address(address)).or_default();
        // The two halves of a replacement come one after the other; instances of one resource do not.
        *longest = if *action == Action::Delete {
            *longest + seconds
        } else {
            longest.max(seconds)
        };
    }
    if !known {
        return None;
    }
    // What is deleted waits for what depends on it; a chain is as long in that direction.
    let mut chains = BTreeMap::new();
    let longest = left
        .keys()
        .map(|address| {
            chain(
                address,
                &left,
                &tracker.dependencies,
                &mut chains,
                &mut BTreeSet::new(),
            )
        })
        .fold(0.0, f64::max);
    Some((sum / PARALLELISM).max(longest).ceil() as u64)
}

fn chain<'a>(
    address: &'a str,
    left: &BTreeMap<String, f64>,
    dependencies: &'a BTreeMap<String, Vec<String>>,
    known: &mut BTreeMap<&'a str, f64>,
    path: &mut BTreeSet<&'a str>,
) -> f64 {
    if let Some(seconds) = known.get(address) {
        return *seconds;
    }
    // Terraform refuses cycles, but what it is told here may have them.
    if !path.insert(address) {
        return 0.0;
    }
    let before = dependencies
        .get(address)
        .into_iter()
        .flatten()
        .map(|dependency| chain(dependency, left, dependencies, known, path))
        .fold(0.0, f64::max);
    path.remove(address);
    let seconds = before + left.get(address).copied().unwrap_or(0.0);
    known.insert(address, seconds);
    seconds
}
