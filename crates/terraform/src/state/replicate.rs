//! Writing a state to Secrets so that a crash in between loses nothing.
//!
//! One Secret is written at once or not at all, so a state of one part needs no care. Several are written one after the
//! other, and after a crash the old beginning and the new end would be no state at all. So a complete copy goes first,
//! under other names, and goes away last.

use std::collections::BTreeMap;

use super::{CHUNK_SIZE, ENCODING, Location, StateSecret, secret::pack_by};

/// One write. They are to be done in the order given, each only after the one before succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Create this Secret, or replace what its key holds and leave the rest of it alone.
    Put(StateSecret),
    /// Delete the Secret of this name, if it is there.
    Delete(String),
}

/// The writes that replace what is there by this state file.
///
/// `parts_now` is how many parts there are, and `staged_now` how many of a copy that an earlier crash left behind; the
/// caller must have looked whether that copy is newer before calling this.
#[must_use]
pub fn replicate(location: &Location, file: &[u8], parts_now: usize, staged_now: usize) -> Vec<Step> {
    replicate_by(CHUNK_SIZE, location, file, parts_now, staged_now)
}

/// The same with parts of another size, so that tests need no megabytes.
#[must_use]
pub fn replicate_by(
    chunk: usize,
    location: &Location,
    file: &[u8],
    parts_now: usize,
    staged_now: usize,
) -> Vec<Step> {
    steps(location, pack_by(chunk, location, file), parts_now, staged_now)
}

pub(super) fn steps(
    location: &Location,
    parts: Vec<StateSecret>,
    parts_now: usize,
    staged_now: usize,
) -> Vec<Step> {
    let needs_copy = parts.len() > 1 || parts_now > 1;
    let mut steps = Vec::new();
    let mut staged = staged_now;
    if needs_copy {
        steps.extend(
            parts
                .iter()
                .enumerate()
                .map(|(part, secret)| Step::Put(staged_copy(location, part, secret))),
        );
        // A longer copy of an earlier crash must not be mistaken for the end of this one.
        steps.extend(
            (parts.len()..staged_now)
                .rev()
                .map(|part| Step::Delete(location.staged_name(part))),
        );
        staged = parts.len();
    }
    let count = parts.len();
    // The backend cannot read a list of parts that has a gap, so they come from the first on and go from the last on.
    steps.extend(parts.into_iter().map(Step::Put));
    steps.extend(
        (count..parts_now)
            .rev()
            .map(|part| Step::Delete(location.secret_name(part))),
    );
    steps.extend(
        (0..staged)
            .rev()
            .map(|part| Step::Delete(location.staged_name(part))),
    );
    steps
}

fn staged_copy(location: &Location, part: usize, secret: &StateSecret) -> StateSecret {
    StateSecret {
        name: location.staged_name(part),
        labels: BTreeMap::new(),
        annotations: [(ENCODING.0.to_owned(), ENCODING.1.to_owned())].into(),
        data: secret.data.clone(),
    }
}
