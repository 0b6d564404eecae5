//! Whether we may act on a state now.
//!
//! The lock is the Lease that Terraform's kubernetes backend uses, so that a person with plain `terraform` and we keep
//! out of each other's way. Terraform's locks never expire; ours carry a duration and our mark, and whoever sees one of
//! ours unrenewed for that long may take it. A lock without our mark is somebody else's and is never taken.
//!
//! Decisions only: reading and writing the Lease, with its resourceVersion as the guard against others, is the
//! caller's. This module must never know a clock: whether a lock is renewed is judged by when *we* saw it change, since
//! the clocks of two machines need not agree.

mod decide;
mod info;

pub use decide::{Claim, Decision, Holder, LeaseState, Renewal, Taken, acquire, release, renew};
pub use info::{LOCK_INFO_ANNOTATION, LockInfo};

/// Annotation on a Lease that we hold: the id of the lock, a space, and the name of the runner.
pub const HOLDER_ANNOTATION: &str = "infrastructure.cluster.x-k8s.io/lock-holder";

/// Seconds after which a holder that could not renew its lock stops. Others wait for longer, until it must have stopped.
pub const DURATION_SECONDS: u32 = 30;

/// Seconds between renewals.
pub const RENEW_SECONDS: u32 = 10;

#[cfg(test)]
mod tests;
