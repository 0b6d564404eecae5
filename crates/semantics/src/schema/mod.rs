//! Structural schemas: what a kind's documents look like, and what becomes of one that does not.
//!
//! A schema is read from a CRD ([`Schema::from_crd`]) or from an OpenAPI document of built-in kinds
//! ([`Schema::from_openapi`]) into an arena of nodes ([`Node`]). Over it work pruning ([`Schema::prune`]), defaulting
//! ([`Schema::apply_defaults`]) and validation ([`Schema::validate`]), in the words of Kubernetes 1.36.
//!
//! This module must never know which kinds exist, nor how documents are stored or served.

mod cel;
mod check;
mod compact;
mod correlate;
mod crd;
mod crd_rules;
mod defaults;
mod embedded;
mod encoding;
mod format;
mod node;
mod number;
mod object_meta;
mod openapi;
mod path;
mod pattern;
mod prune;
mod raw;
mod rules;
mod structural;
mod unique;
mod validate;
mod zeros;

pub use encoding::Encoding;
pub use format::unrecognized_formats;
pub use node::{Additional, Cursor, JsonType, ListType, MapType, Node, NodeId, PatchHints, Schema};
pub use number::write_whole_numbers;
pub use object_meta::prune_object_meta;
pub use rules::ValueRules;
pub use validate::Review;

#[cfg(test)]
mod tests;
