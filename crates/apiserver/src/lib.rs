//! A Kubernetes API as a library: an axum [`Router`](axum::Router) over a store with history.
//!
//! Kubernetes semantics, not a lookalike: kube-rs controllers, kubectl and client-go programs cannot tell the
//! difference in what is served. It is generic over JSON documents and driven by schemas; no kind has a handler of its
//! own. For one machine: there is no clustering, and whoever is authenticated may do everything.
//!
//! From the outside in: [`serve`] listens and authenticates; `dispatch` reads a request and picks a verb; `verbs` do
//! what is the same for every kind; [`registry`] knows the kinds; [`store`] keeps objects and history; `janitor`
//! collects garbage. What documents mean is in the crate `apiary-semantics`.
//!
//! This crate must never know of any particular project's kinds.

mod bootstrap;
pub mod clock;
mod discovery;
mod dispatch;
mod janitor;
mod metrics;
mod openapi;
pub mod registry;
pub mod request;
mod reviews;
pub mod serve;
mod server;
pub mod status;
pub mod store;
mod verbs;

pub use serve::Identity;
pub use server::{ApiServer, Image, OpenError, Options, Storage};
