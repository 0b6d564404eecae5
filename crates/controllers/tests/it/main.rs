//! The controllers as a user meets them: in a world with an API and somebody who plays the Workspaces' runner.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests, where a panic is a failed test"
)]

mod approvals;
mod clusters;
mod controlplane;
mod controlplane_ends;
mod controlplane_legacy;
mod controlplane_outputs;
mod controlplane_tokens;
mod controlplane_troubles;
mod controlplane_updates;
mod controlplanes;
mod costs;
mod crashes;
mod destruction;
mod eks;
mod fargate;
mod fargate_edits;
mod fargate_metrics;
mod fargate_removal;
mod fargate_secrets;
mod fargate_telling;
mod fargate_turns;
mod foreign_edits;
mod groups;
mod healing;
mod histories;
mod inputs;
mod interruptions;
mod legacy_clusters;
mod life;
mod mishaps;
mod moves;
mod namesakes;
mod network;
mod networks;
mod ownership;
mod pausing;
mod retention;
mod rights;
mod runner;
mod scopes;
mod secrecy;
mod stage;
mod taking_back;
mod templates;
mod tenancy;
mod timeouts;
mod trying;
mod waits;
mod watching;
mod whole_lives;
