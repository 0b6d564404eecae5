//! Finding the state that counts, and what is in no state.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use capt_terraform::{
    state::{Candidate, Created, CreatedSince, ERRORED_STATE_FILE, LastGood, Source, State, newest},
    stream::{Kind, Line, parse_line},
};

use crate::engine::StateFile;

use super::{
    tail::Tail,
    workdir::{self, WorkDir},
};

/// The output of an apply, from its beginning until all that it made is known to be in the state.
pub(super) const APPLY_OUTPUT: &str = "apply.ndjson";
/// The output of an apply of which nothing is missing.
const ENDED_OUTPUT: &str = "apply.last.ndjson";
/// The ids of what that apply replaces, by address.
const REPLACED_FILE: &str = "apply.replaced.json";
/// The last state file that was seen whole. Terraform writes in place, and may be killed while it does.
const GOOD_STATE_FILE: &str = "good.tfstate";

/// A state file that did not count when a session was opened.
const REPLACED_STATE_FILE: &str = "replaced.tfstate";

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The state that counts, and where it was.
    pub(super) state: Option<(Source, Vec<u8>)>,
    /// What was made and is not in it.
    pub(super) missing: Vec<Created>,
    /// The same state, to go on from.
    pub(super) last: LastGood,
    /// The operation that was cut short left nothing here.
    pub(super) is_lost: bool,
}

/// The files in which the state of a run may be.
#[derive(Clone, Debug)]
pub(super) struct StateFiles {
    /// Where Terraform writes it.
    pub(super) working: PathBuf,
    /// Where Terraform writes it if it cannot write it there.
    pub(super) errored: PathBuf,
    /// What the last apply said.
    pub(super) output: PathBuf,
}

impl StateFiles {
    pub(super) fn of(folder: &WorkDir, workspace: &str, run_in: &Path) -> Self {
        Self {
            working: folder.state(workspace),
            errored: run_in.join(ERRORED_STATE_FILE),
            output: folder.run().join(APPLY_OUTPUT),
        }
    }

    /// Where a state that was seen whole is kept.
    pub(super) fn good(&self) -> PathBuf {
        self.working.with_file_name(GOOD_STATE_FILE)
    }

    /// What stands on this machine, and what the last apply made.
    fn on_this_machine(&self) -> io::Result<(Vec<StateFile>, CreatedSince)> {
        let (dump, created) = self.spoken()?;
        let files = [
            (Source::WorkingFile, workdir::read(&self.working)?),
            (Source::WorkingFile, workdir::read(&self.good())?),
            (Source::ErroredFile, workdir::read(&self.errored)?),
            (Source::EmergencyDump, dump),
        ];
        let there = files
            .into_iter()
            .filter_map(|(source, file)| Some((source, file?)));
        Ok((there.collect(), created))
    }

    /// State files that stand on this machine.
    pub(super) fn left_behind(&self) -> io::Result<Vec<StateFile>> {
        Ok(self.on_this_machine()?.0)
    }

    /// Looks everywhere.
    pub(super) fn find(&self, replica: Option<&[u8]>, staged: Option<&[u8]>) -> io::Result<Found> {
        let (files, created) = self.on_this_machine()?;
        let given = [(Source::Replica, replica), (Source::Staged, staged)];
        let files = files
            .iter()
            .map(|(source, file)| (*source, Some(file.as_slice())));
        let candidates: Vec<Candidate<'_>> = given
            .into_iter()
            .chain(files)
            .filter_map(|(source, file)| Some(Candidate { source, file: file? }))
            .collect();
        let Some((found, state)) = newest(&candidates) else {
            return Ok(Found {
                missing: created.missing_from(None),
                ..Found::default()
            });
        };
        // What the caller has already is no news, wherever else it is too.
        let source = if replica == Some(found.file) {
            Source::Replica
        } else {
            found.source
        };
        Ok(Found {
            missing: created.missing_from(Some(&state)),
            state: Some((source, found.file.to_vec())),
            last: LastGood::from_state(state, found.file.to_vec()),
            is_lost: false,
        })
    }

    /// What the last apply made and this state does not have.
    pub(super) fn missing_from(&self, state: Option<&State>) -> io::Result<Vec<Created>> {
        Ok(self.spoken()?.1.missing_from(state))
    }

    /// Makes the state that was found the one that Terraform goes on from.
    pub(super) fn settle(&self, found: &Found) -> io::Result<()> {
        let file = found.state.as_ref().map(|(_, file)| file);
        let working = workdir::read(&self.working)?;
        if working.as_ref() != file {
            if working.is_some() {
                // It does not count, but somebody may want to look at it.
                fs::rename(&self.working, self.working.with_file_name(REPLACED_STATE_FILE))?;
            }
            if let Some(file) = file {
                workdir::write_durably(&self.working, file)?;
            }
        }
        workdir::remove(&self.errored)
    }

    /// Writes down what the next apply replaces, so that it can be told from what it makes.
    pub(super) fn note_replaced(&self, replaced: &BTreeMap<String, String>) -> io::Result<()> {
        let path = self.output.with_file_name(REPLACED_FILE);
        match replaced.is_empty() {
            true => workdir::remove(&path),
            false => workdir::write(&path, &serde_json::to_vec(replaced)?),
        }
    }

    /// Everything that the last apply made is in the state.
    pub(super) fn complete(&self) -> io::Result<()> {
        match fs::rename(&self.output, self.output.with_file_name(ENDED_OUTPUT)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// The state that Terraform printed when it could write it nowhere, and what it reported as made.
    fn spoken(&self) -> io::Result<(Option<Vec<u8>>, CreatedSince)> {
        let replaced = workdir::read(&self.output.with_file_name(REPLACED_FILE))?;
        // Without it, what is replaced is known from the output, and only its ids are not.
        let replaced = replaced.and_then(|text| serde_json::from_slice(&text).ok());
        let mut dump = None;
        let mut created = CreatedSince::replacing(replaced.unwrap_or_default());
        Tail::new(&self.output).finish(|line| {
            let Line::Event(event) = parse_line(line) else {
                return;
            };
            created.observe(&event);
            if let Kind::Log { state: Some(state) } = event.kind {
                dump = Some(state.into_bytes());
            }
        })?;
        Ok((dump, created))
    }
}

#[cfg(test)]
mod tests;
