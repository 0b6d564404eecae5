//! One of several processes leads, by holding a Lease, and only the one that leads may write.
//!
//! Whoever leads renews the Lease. If it cannot, it stops writing when [`Terms::deadline`] has passed since the last
//! renewal that succeeded, which is before anybody else may take the Lease, at [`Terms::duration`]. How long that is
//! everybody measures by its own clock from what it saw itself, so clocks need not agree. Two who reach for the Lease at
//! once are told apart by the API: every write names the version that it replaces.
//!
//! A [`Candidacy`] waits until it wins, which gives a [`Leadership`]; its [`Gate`] is open for as long as it leads, and
//! [`guarded`] makes a client that can write only through the gate.
//!
//! This crate must never know what the leader does, nor anything of capt.

mod candidate;
mod gate;
mod judge;
mod leader;
mod record;
mod terms;

pub use candidate::Candidacy;
pub use gate::{Gate, NotLeading, guarded};
pub use leader::Leadership;
pub use terms::{Terms, TermsError};

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;

/// What time it is, for what people read in a Lease; nothing is decided by it.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
