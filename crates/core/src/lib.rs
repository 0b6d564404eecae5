//! The decisions of capt: pure functions from what is known to what should be.
//!
//! This crate must never know how facts are gathered or how decisions are carried out: no Kubernetes client, no
//! clock, no randomness, no async, no I/O. Time is a parameter, and the same input always gives the same answer, so
//! that what is proved about a decision here is what happens in a cluster.

pub mod aws;
pub mod captcluster;
pub mod cluster;
mod commands;
pub mod controlplane;
pub mod crds;
pub mod decision;
pub mod gates;
pub mod graph;
mod metadata;
pub mod names;
pub mod near;
pub mod owned;
pub mod render;
pub mod telling;
pub mod template;
pub mod tenancy;
pub mod timing;
mod values;
pub mod wta;
