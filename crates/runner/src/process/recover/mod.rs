//! Finding the state that counts, and what is in no state.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use capt_terraform::{
    state::{Candidate, Created, CreatedSince, ERRORED_STATE_FILE, LastGood, Source, State, newest},
    stream::{Kind, Line, parse_line},
};

use crate::{engine::StateFile, folder::Folder};

use super::{
    tail::Tail,
    workdir::{self, RUN, WorkDir},
};

/// The output of an apply, from its beginning until all that it made is known to be in the state.
pub(super) const APPLY_OUTPUT: &str = "apply.ndjson";
/// The output of an apply of which nothing is missing.
const ENDED_OUTPUT: &str = "apply.last.ndjson";
/// The ids of what that apply replaces, by address.
const REPLACED_FILE: &str = "apply.replaced.json";
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

/// The files in which the state of a run may be, as paths in the folder of the Workspace.
#[derive(Clone, Debug)]
pub(super) struct StateFiles {
    /// The folder of the Workspace.
    pub(super) folder: Folder,
    /// Where Terraform writes it.
    pub(super) working: PathBuf,
    /// Where a copy of the last whole state is kept. Terraform writes in place, and may be killed while it does.
    pub(super) good: PathBuf,
    /// Where an earlier version kept it.
    pub(super) former_good: PathBuf,
    /// Where Terraform writes it if it cannot write it there.
    pub(super) errored: PathBuf,
    /// What the last apply said.
    pub(super) output: PathBuf,
}

impl StateFiles {
    /// Those of a Terraform workspace that runs in this folder of the module.
    pub(super) fn of(folder: &WorkDir, workspace: &str, run_in: &Path) -> Self {
        Self {
            folder: folder.files.clone(),
            working: workdir::state(workspace),
            good: workdir::good_state(workspace),
            former_good: workdir::former_good_state(workspace),
            errored: Path::new(workdir::SRC).join(run_in).join(ERRORED_STATE_FILE),
            output: Path::new(RUN).join(APPLY_OUTPUT),
        }
    }

    /// What stands on this machine, and what the last apply made.
    fn on_this_machine(&self) -> io::Result<(Vec<StateFile>, CreatedSince)> {
        let (dump, created) = self.spoken()?;
        let files = [
            (Source::WorkingFile, self.folder.read(&self.working)?),
            (Source::WorkingFile, self.folder.read(&self.good)?),
            (Source::WorkingFile, self.folder.read(&self.former_good)?),
            (Source::ErroredFile, self.folder.read(&self.errored)?),
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
        let working = self.folder.read(&self.working)?;
        if working.as_ref() != file {
            if working.is_some() {
                // It does not count, but a person may want to look at it.
                let replaced = self.working.with_file_name(REPLACED_STATE_FILE);
                self.folder.rename(&self.working, replaced)?;
            }
            if let Some(file) = file {
                self.folder.write_durably(&self.working, file)?;
            }
        }
        self.folder.remove(&self.former_good)?;
        self.folder.remove(&self.errored)
    }

    /// Writes down what the next apply replaces, so that it can be told from what it makes.
    pub(super) fn note_replaced(&self, replaced: &BTreeMap<String, String>) -> io::Result<()> {
        let path = self.output.with_file_name(REPLACED_FILE);
        match replaced.is_empty() {
            true => self.folder.remove(&path),
            false => self.folder.write(&path, &serde_json::to_vec(replaced)?),
        }
    }

    /// Everything that the last apply made is in the state.
    pub(super) fn complete(&self) -> io::Result<()> {
        let ended = self.output.with_file_name(ENDED_OUTPUT);
        match self.folder.rename(&self.output, ended) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// The state that Terraform printed when it could write it nowhere, and what it reported as made.
    fn spoken(&self) -> io::Result<(Option<Vec<u8>>, CreatedSince)> {
        let replaced = self.folder.read(self.output.with_file_name(REPLACED_FILE))?;
        // Without it, what is replaced is known from the output, and only its ids are not.
        let replaced = replaced.and_then(|text| serde_json::from_slice(&text).ok());
        let mut dump = None;
        let mut created = CreatedSince::replacing(replaced.unwrap_or_default());
        Tail::new(&self.folder, &self.output).finish(|line| {
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
