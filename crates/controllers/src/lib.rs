//! The controllers: they watch, put what they see into a snapshot, let `capt-core` decide, and carry the decision out.
//!
//! One reconcile always is the same five steps: observe, decide, apply, record, and wait for the next fact. This crate
//! must never decide anything by itself, and must never know how Terraform is run or where the API server comes from.
