//! The API as its clients see it: requests in, answers out, in-process and under a virtual clock.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod apply;
mod builtin;
mod client;
mod create;
mod definitions;
mod delete;
mod discovery;
mod garbage;
mod hostile;
mod kube_rs;
mod lifecycle;
mod lists;
mod patches;
mod updates;
mod watches;
