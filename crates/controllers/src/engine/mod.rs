//! What every controller needs: facts that watches keep up to date, a queue of objects to look at, and hands that carry
//! out a decision.
//!
//! Facts are in tables. Whoever reads a row, or finds that there is none, is woken when that changes, so that nothing
//! ever asks the API again whether something happened. This module must never know what any kind means.

pub(crate) mod call;
pub(crate) mod controller;
pub(crate) mod execute;
pub(crate) mod key;
mod learned;
mod members;
pub(crate) mod packing;
pub(crate) mod queue;
pub(crate) mod rights;
pub(crate) mod served;
pub(crate) mod settling;
pub(crate) mod table;
pub(crate) mod wakes;
pub(crate) mod watch;
