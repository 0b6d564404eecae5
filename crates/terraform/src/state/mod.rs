//! Terraform's state: what it says, which copy of it counts, and how it is kept in Secrets.
//!
//! A state file is the only record of what exists, so everything here errs on the side of keeping one. This module must
//! never know an API or a disk; it turns bytes into facts and facts into bytes.

mod created;
mod history;
mod parse;
mod replicate;
mod secret;

pub use created::{Created, CreatedSince};
pub use history::{Accepted, Candidate, LastGood, Source, newest};
pub use parse::{Output, ResourceInstance, SIMULATED_LINEAGE, State, StateError};
pub use replicate::{Step, replicate, replicate_by};
pub use secret::{
    CHUNK_SIZE, ENCODING, KEY, LABEL_MANAGED_BY, LABEL_STATE, LABEL_SUFFIX, LABEL_WORKSPACE, Location,
    LocationError, StateSecret, UnpackError, pack, part_index, unpack,
};

/// The file that Terraform leaves in its working directory when it could not write the state where it belongs.
pub const ERRORED_STATE_FILE: &str = "errored.tfstate";

#[cfg(test)]
mod tests;
