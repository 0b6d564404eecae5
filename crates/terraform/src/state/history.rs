//! Which of several states counts.

use super::{State, StateError};

/// The last state that was whole, while Terraform keeps rewriting its file.
#[derive(Clone, Debug, Default)]
pub struct LastGood {
    kept: Option<(State, Vec<u8>)>,
}

/// What became of a file that was looked at.
#[derive(Debug)]
pub enum Accepted {
    /// It is newer and is kept now.
    Newer,
    /// It is the one that is kept already.
    Same,
    /// It is not whole; the one that is kept still counts.
    Torn(StateError),
    /// It is older than the one that is kept.
    Older {
        /// Its serial.
        serial: u64,
    },
    /// It belongs to another history, so that serials say nothing. The one that is kept still counts.
    Foreign {
        /// Its lineage.
        lineage: String,
    },
}

impl LastGood {
    /// Begins with a state that is known to be good.
    #[must_use]
    pub fn from_state(state: State, file: Vec<u8>) -> Self {
        Self {
            kept: Some((state, file)),
        }
    }

    /// The state that counts.
    #[must_use]
    pub fn state(&self) -> Option<&State> {
        self.kept.as_ref().map(|(state, _)| state)
    }

    /// The file that it was read from, byte for byte.
    #[must_use]
    pub fn file(&self) -> Option<&[u8]> {
        self.kept.as_ref().map(|(_, file)| file.as_slice())
    }

    /// Looks at the file as it is now.
    pub fn offer(&mut self, file: &[u8]) -> Accepted {
        if self.file() == Some(file) {
            return Accepted::Same;
        }
        let state = match State::parse(file) {
            Ok(state) => state,
            Err(error) => return Accepted::Torn(error),
        };
        if let Some(kept) = self.state() {
            if kept.lineage != state.lineage {
                return Accepted::Foreign {
                    lineage: state.lineage,
                };
            }
            // Terraform counts up when the content differs; the same serial with other bytes is a later write of it.
            if state.serial < kept.serial {
                return Accepted::Older { serial: state.serial };
            }
        }
        self.kept = Some((state, file.to_vec()));
        Accepted::Newer
    }
}

/// Where a copy of the state was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The Secrets that stand for the state between runs.
    Replica,
    /// The copy that was made before the Secrets were rewritten.
    Staged,
    /// The file in the working directory of a run that did not end well.
    WorkingFile,
    /// What Terraform left when it could not write that file.
    ErroredFile,
    /// What Terraform printed when it could write nothing at all.
    EmergencyDump,
}

/// A copy of the state.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Where it was found.
    pub source: Source,
    /// The file.
    pub file: &'a [u8],
}

/// The copy that counts after a run that did not end well: the newest that is whole and of the same history as the
/// most trusted one. Copies are given in any order; the replica is trusted most, then the others as [`Source`] lists
/// them. With equal serials the one that was written last counts, which is the order of the list too.
#[must_use]
pub fn newest<'a>(candidates: &[Candidate<'a>]) -> Option<(Candidate<'a>, State)> {
    let mut whole: Vec<(Candidate<'a>, State)> = candidates
        .iter()
        .filter_map(|candidate| Some((*candidate, State::parse(candidate.file).ok()?)))
        .collect();
    whole.sort_by_key(|(candidate, _)| candidate.source);
    let lineage = whole.first()?.1.lineage.clone();
    whole
        .into_iter()
        .filter(|(_, state)| state.lineage == lineage)
        .max_by_key(|(candidate, state)| (state.serial, candidate.source))
}
