//! The whole loop of the runner in a world of its own, with an engine that does what a test says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on must stop"
)]

mod asking;
mod backends;
mod connections;
mod crashing;
mod cutshort;
mod deletion;
mod elsewhere;
mod faults;
mod homes;
mod inputs;
mod lifecycle;
mod lost;
mod moved;
mod namespaces;
mod pausing;
mod providers;
mod resting;
mod script;
mod stripped;
mod support;
mod sweeping;
mod tenants;
mod truth;
