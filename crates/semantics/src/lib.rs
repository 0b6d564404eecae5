//! What Kubernetes means by its documents, as pure functions over JSON values.
//!
//! Here live the rules that an API server applies to an object between reading a request and storing the result:
//! structural schemas ([`schema`]), server-side apply ([`apply`]), the three patch formats ([`patch`]), selectors
//! ([`selector`]), names ([`naming`]), tables for people ([`table`]), protobuf request bodies ([`proto`]) and the facts
//! about the built-in kinds ([`builtin`]).
//!
//! This crate must never know of sockets, files, clocks, randomness, async runtimes or any particular project's kinds.
//! Time enters as a parameter.

pub mod apply;
pub mod builtin;
mod error;
pub mod naming;
pub mod patch;
pub mod proto;
pub mod schema;
pub mod selector;
pub mod strict_json;
pub mod table;

pub use error::{FieldError, FieldErrorKind};
