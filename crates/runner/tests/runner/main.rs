//! The whole loop of the runner in a world of its own, with an engine that does what a test says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on must stop"
)]

mod lifecycle;
mod script;
mod support;
