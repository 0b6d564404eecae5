//! The built binary, as a user meets it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say so and stop"
)]

mod asking;
mod bad_input;
mod confined;
mod controller;
mod demo;
mod examples;
mod fargate;
mod help;
mod journey;
mod looking;
mod migrating;
mod support;
mod tenants;
mod terraform;
mod up;
