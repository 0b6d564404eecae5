//! How far an operation is, how long it will still take, and when that is worth writing down.
//!
//! Fed with the events of one run. This module must never know who reads the answer, nor what time it is: the caller
//! says so, since OpenTofu stops its heartbeats after the first and only the caller has a clock.

mod durations;
mod remaining;
mod throttle;
mod tracker;
mod words;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::stream::Action;

pub use durations::{Durations, MAX_KINDS};
pub use throttle::{HEARTBEAT_SECONDS, Next, Written, next_write};
pub use tracker::Tracker;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// Finding out what to do.
    Plan,
    /// Doing it.
    Apply,
    /// Undoing everything.
    Destroy,
    /// Looking at what exists.
    Refresh,
}

/// How far an operation is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// What is being done.
    pub operation: Operation,
    /// Operations on resources that have ended, well or not.
    pub done: u32,
    /// All of them, as far as is known.
    pub total: u32,
    /// Those that failed.
    pub failed: u32,
    /// Those that go on now, oldest first.
    pub in_flight: Vec<InFlight>,
    /// Never more than what is known to be done of what is known to be planned. It does not fall within one operation,
    /// and is 100 only at the good end.
    pub percent: u8,
    /// Seconds that it will still take, if there is anything to go by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_seconds: Option<u64>,
    /// The same in words.
    pub message: String,
}

/// An operation on a resource that goes on now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InFlight {
    /// The resource.
    pub address: String,
    /// What is done with it.
    pub action: Action,
    /// Since when.
    pub since: Timestamp,
}

#[cfg(test)]
mod tests;
