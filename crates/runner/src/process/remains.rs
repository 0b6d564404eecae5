//! What stands on this machine for Workspaces that nobody asks for any more.
//!
//! Here it is only told what is in their folders, and what of it no state file tells; whether that is kept elsewhere is
//! known to the caller.

use std::{collections::HashSet, fs, io, path::Path};

use capt_terraform::state::ERRORED_STATE_FILE;

use crate::engine::Remains;

use super::{
    recover::StateFiles,
    workdir::{self, WorkDir},
};

/// Folders of Workspaces that are not among these, and that nobody uses.
pub(super) fn remains(root: &Path, living: &HashSet<String>) -> io::Result<Vec<Remains>> {
    let folders = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        folders => folders?,
    };
    let mut found = Vec::new();
    for folder in folders {
        let uid = folder?.file_name().to_string_lossy().into_owned();
        // Everything else in here was not made for a Workspace.
        if living.contains(&uid) || uuid::Uuid::try_parse(&uid).is_err() {
            continue;
        }
        if let Some(folder) = WorkDir::of(root, &uid)
            && is_idle(&folder)
        {
            found.push(of_folder(&folder, uid));
        }
    }
    Ok(found)
}

/// Removes a folder, unless somebody uses it. Says whether it is gone.
pub(super) fn remove_idle(folder: &WorkDir) -> bool {
    let session = folder.try_session_lock();
    let run = workdir::try_lock(&folder.run_lock());
    match (session, run) {
        (Ok(Some(_session)), Ok(Some(_run))) => folder.remove().is_ok(),
        _ => false,
    }
}

fn is_idle(folder: &WorkDir) -> bool {
    let locks = (folder.try_session_lock(), workdir::try_lock(&folder.run_lock()));
    matches!(locks, (Ok(Some(_)), Ok(Some(_))))
}

fn of_folder(folder: &WorkDir, uid: String) -> Remains {
    let (states, unsettled) = match read(folder) {
        Ok(found) => found,
        Err(error) => (Vec::new(), Some(format!("it cannot be read: {error}"))),
    };
    Remains {
        uid,
        states,
        unsettled,
    }
}

type Found = (Vec<(String, Vec<u8>)>, Option<String>);

fn read(folder: &WorkDir) -> io::Result<Found> {
    let run_in = folder.src().join(folder.kept().run_in);
    let mut states = Vec::new();
    for workspace in workspaces(folder)? {
        let files = StateFiles::of(folder, &workspace, &run_in);
        for path in [&files.working, &files.good()] {
            if let Some(file) = workdir::read(path)? {
                states.push((workspace.clone(), file));
            }
        }
    }
    let output = StateFiles::of(folder, "", &run_in).output;
    let errored = [
        run_in.join(ERRORED_STATE_FILE),
        folder.run().join(ERRORED_STATE_FILE),
    ];
    let unsettled = if errored.iter().any(|path| path.exists()) {
        Some("it has a state that Terraform could not write where it belongs")
    } else if output.exists() {
        Some("an apply was cut short in it, and what it made may be in no state")
    } else {
        None
    };
    Ok((states, unsettled.map(str::to_owned)))
}

/// The Terraform workspaces that have a folder for their state.
fn workspaces(folder: &WorkDir) -> io::Result<Vec<String>> {
    let folders = match fs::read_dir(folder.states()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        folders => folders?,
    };
    folders
        .map(|folder| Ok(folder?.file_name().to_string_lossy().into_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "6c2085c7-7f8d-ed8f-1167-18fe477c768b";

    fn folder(root: &Path) -> WorkDir {
        let folder = WorkDir::of(root, UID).unwrap();
        folder.make().unwrap();
        folder
    }

    fn only(root: &Path) -> Remains {
        let mut found = remains(root, &HashSet::new()).unwrap();
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    #[test]
    fn every_state_in_a_folder_is_told_and_what_no_state_tells() {
        let root = tempfile::tempdir().unwrap();
        let folder = folder(root.path());
        workdir::write(&folder.state("blue"), b"one").unwrap();
        workdir::write(&folder.state("blue").with_file_name("good.tfstate"), b"two").unwrap();
        workdir::write(&folder.state("default"), b"three").unwrap();
        let mut found = only(root.path());
        found.states.sort();
        let states: Vec<(&str, &[u8])> = found
            .states
            .iter()
            .map(|(workspace, file)| (workspace.as_str(), file.as_slice()))
            .collect();
        assert_eq!(
            states,
            [("blue", &b"one"[..]), ("blue", b"two"), ("default", b"three")]
        );
        assert_eq!(found.unsettled, None);

        for path in ["src/errored.tfstate", "run/errored.tfstate", "run/apply.ndjson"] {
            let path = root.path().join(UID).join(path);
            fs::write(&path, "").unwrap();
            assert!(only(root.path()).unsettled.is_some(), "{path:?}");
            fs::remove_file(path).unwrap();
        }
        assert_eq!(only(root.path()).unsettled, None);
    }

    #[test]
    fn what_is_in_use_or_belongs_to_nobody_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        let folder = folder(root.path());
        fs::create_dir(root.path().join("plugin-cache")).unwrap();
        fs::write(root.path().join("runner-id"), UID).unwrap();
        assert_eq!(only(root.path()).uid, UID);
        let living = [UID.to_owned()].into();
        assert!(remains(root.path(), &living).unwrap().is_empty());

        let session = folder.try_session_lock().unwrap();
        assert!(remains(root.path(), &HashSet::new()).unwrap().is_empty());
        assert!(!remove_idle(&folder));
        drop(session);
        let run = workdir::try_lock(&folder.run_lock()).unwrap();
        assert!(remains(root.path(), &HashSet::new()).unwrap().is_empty());
        assert!(!remove_idle(&folder));
        drop(run);
        assert!(remove_idle(&folder));
        assert!(!root.path().join(UID).exists());
        assert!(remains(&root.path().join("nowhere"), &living).unwrap().is_empty());
    }
}
