//! State in a backend of the user's.
//!
//! Its own guarantees hold. What Terraform could not write there is written there later, and what it may have lost is
//! listed.

use std::{ffi::OsString, fs, io, path::PathBuf};

use capt_terraform::state::{Created, ERRORED_STATE_FILE, State};

use crate::engine::Failure;

use super::{
    command::{Exit, Runs},
    failure,
    open::on_disk,
    recover::StateFiles,
    workdir::{self, WorkDir},
};

fn aside(folder: &WorkDir) -> PathBuf {
    folder.run().join(ERRORED_STATE_FILE)
}

/// Saves what Terraform could not write to the backend from what happens to the folder of the module.
pub(super) fn set_aside(folder: &WorkDir, files: &StateFiles) -> io::Result<()> {
    match fs::rename(&files.errored, aside(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Gives the backend what Terraform could not write there the last time.
pub(super) async fn push(runs: &Runs) -> Result<(), Failure> {
    let path = aside(&runs.folder);
    if !path.exists() {
        return Ok(());
    }
    let args = ["state".into(), "push".into(), path.clone().into()];
    let (ended, _) = runs.printed(args.into(), "push.txt").await?;
    if ended.exit == Exit::Code(0) {
        return on_disk(workdir::remove(&path));
    }
    let failure = failure::command(&runs.engine, "state push", &ended, Vec::new());
    let message = format!(
        "Terraform could not write its state the last time, and the backend does not take it now: {}",
        failure.message
    );
    Err(Failure { message, ..failure })
}

/// The state.
pub(super) async fn pull(runs: &Runs) -> Result<Vec<u8>, Failure> {
    let args = [OsString::from("state"), "pull".into()];
    let (ended, state) = runs.printed(args.into(), "pulled.tfstate").await?;
    match ended.exit {
        Exit::Code(0) => Ok(state),
        _ => Err(failure::command(&runs.engine, "state pull", &ended, Vec::new())),
    }
}

/// What an apply that was cut short had made and the state does not have.
pub(super) async fn missing(runs: &Runs, files: &StateFiles) -> Result<Vec<Created>, Failure> {
    let all = files.clone();
    let is_anything = runs
        .aside(move || on_disk(all.missing_from(None).map(|made| !made.is_empty())))
        .await?;
    if !is_anything {
        return Ok(Vec::new());
    }
    // What Terraform could not write there is given to the backend before anything else is done.
    let state = match on_disk(workdir::read(&files.errored))? {
        Some(file) => file,
        None => pull(runs).await?,
    };
    // A backend that has no state yet says nothing.
    let state = State::parse(&state).ok();
    let files = files.clone();
    runs.aside(move || on_disk(files.missing_from(state.as_ref())))
        .await
}
