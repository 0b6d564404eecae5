//! Progress for people to read.

use jiff::Timestamp;

use super::{InFlight, Operation, Progress};
use crate::stream::Action;

/// One line: what goes on now, for how long, and how much is done.
pub(super) fn message(progress: &Progress, now: Timestamp) -> String {
    let mut text = match (progress.in_flight.as_slice(), progress.operation) {
        _ if progress.percent == 100 => ended(progress.operation).to_owned(),
        ([], Operation::Plan) => "Planning".to_owned(),
        ([], Operation::Refresh) => "Refreshing".to_owned(),
        ([], Operation::Apply) => "Applying".to_owned(),
        ([], Operation::Destroy) => "Destroying".to_owned(),
        ([only], _) => doing(only, now),
        ([oldest, others @ ..], _) => format!("{} and {} more", doing(oldest, now), others.len()),
    };
    if progress.total > 0 {
        text.push_str(&format!(", {}/{} done", progress.done, progress.total));
    }
    if progress.failed > 0 {
        text.push_str(&format!(", {} failed", progress.failed));
    }
    if let Some(seconds) = progress.remaining_seconds.filter(|seconds| *seconds > 0) {
        text.push_str(&format!(", about {} left", span(seconds)));
    }
    text
}

fn doing(one: &InFlight, now: Timestamp) -> String {
    let verb = match &one.action {
        Action::Create => "Creating",
        Action::Delete => "Destroying",
        Action::Update => "Modifying",
        Action::Read => "Reading",
        _ => "Working on",
    };
    let seconds = now.duration_since(one.since).as_secs().max(0).unsigned_abs();
    format!("{verb} {} for {}", one.address, span(seconds))
}

fn ended(operation: Operation) -> &'static str {
    match operation {
        Operation::Plan => "Planned",
        Operation::Apply => "Applied",
        Operation::Destroy => "Destroyed",
        Operation::Refresh => "Refreshed",
    }
}

fn span(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h{minutes:02}m"),
    }
}
