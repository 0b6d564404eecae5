//! State in a backend of the user's.
//!
//! Its own guarantees hold. What Terraform could not write there is written there later, and what it may have lost is
//! listed.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use capt_terraform::state::{Created, ERRORED_STATE_FILE, State};

use crate::{engine::Failure, folder::EntryKind};

use super::{
    command::{Exit, Runs},
    failure,
    open::on_disk,
    recover::StateFiles,
    workdir::{RUN, WorkDir},
};

/// Where a state waits that the backend did not take.
pub(super) fn aside() -> PathBuf {
    Path::new(RUN).join(ERRORED_STATE_FILE)
}

/// Saves what Terraform could not write to the backend from what happens to the folder of the module.
pub(super) fn set_aside(folder: &WorkDir, files: &StateFiles) -> io::Result<()> {
    // What is no regular file stays where it is: Terraform is let at what is put aside.
    let Some(errored) = files.folder.read(&files.errored)? else {
        return Ok(());
    };
    folder.files.write_durably(aside(), &errored)?;
    files.folder.remove(&files.errored)
}

/// Gives the backend what Terraform could not write there the last time.
pub(super) async fn push(runs: &Runs) -> Result<(), Failure> {
    let files = &runs.folder.files;
    // Terraform is let at it, and would be let at whatever a link leads to.
    if on_disk(files.kind(aside()))? != Some(EntryKind::File) {
        return Ok(());
    }
    let mut runs = runs.clone();
    if let Some(reach) = &mut runs.reach {
        reach.read.push(files.path(aside()));
    }
    let args = ["state".into(), "push".into(), files.path(aside()).into()];
    let (ended, _) = runs.printed(args.into(), "push.txt").await?;
    if ended.exit == Exit::Code(0) {
        return on_disk(files.remove(aside()));
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
    let state = match on_disk(files.folder.read(&files.errored))? {
        Some(file) => file,
        None => pull(runs).await?,
    };
    // A backend that has no state yet says nothing.
    let state = State::parse(&state).ok();
    let files = files.clone();
    runs.aside(move || on_disk(files.missing_from(state.as_ref())))
        .await
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn only_a_file_is_set_aside_for_terraform_to_read() {
        let root = tempfile::tempdir().unwrap();
        let folder = WorkDir::of(root.path(), "u").unwrap();
        folder.make().unwrap();
        let files = StateFiles::of(&folder, "w", Path::new(""));
        let victim = root.path().join("victim");
        fs::write(&victim, "hunter2").unwrap();
        let errored = folder.path(&files.errored);
        symlink(&victim, &errored).unwrap();
        assert_eq!(fs::read(&errored).unwrap(), b"hunter2");
        set_aside(&folder, &files).unwrap();
        assert_eq!(folder.files.kind(aside()).unwrap(), None);

        folder.files.write(&files.errored, b"own").unwrap();
        set_aside(&folder, &files).unwrap();
        assert_eq!(folder.files.read(aside()).unwrap().unwrap(), b"own");
        assert_eq!(folder.files.kind(&files.errored).unwrap(), None);
        assert_eq!(fs::read(&victim).unwrap(), b"hunter2");
    }
}
