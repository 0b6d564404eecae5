//! What stands on this machine for Workspaces that nobody asks for any more.
//!
//! Here it is only told what is in their folders, and what of it no state file tells; whether that is kept elsewhere is
//! known to the caller.

use std::{
    collections::{BTreeSet, HashSet},
    fs, io,
    path::Path,
};

use crate::{
    engine::Remains,
    folder::{EntryKind, MAX_FILE},
};

use super::{
    backend,
    recover::StateFiles,
    workdir::{GOOD, STATES, WorkDir, is_uid},
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
    let run = folder.try_run_lock();
    match (session, run) {
        (Ok(Some(_session)), Ok(Some(_run))) => folder.remove().is_ok(),
        _ => false,
    }
}

fn is_idle(folder: &WorkDir) -> bool {
    let locks = (folder.try_session_lock(), folder.try_run_lock());
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
    let run_in = folder.kept().run_in;
    let mut states = Vec::new();
    let mut bytes = 0;
    for workspace in workspaces(folder)? {
        let files = StateFiles::of(folder, &workspace, &run_in);
        for path in [&files.working, &files.good, &files.former_good] {
            if let Some(file) = folder.files.read(path)? {
                bytes += file.len() as u64;
                // A run may have left any number of them.
                if bytes > MAX_FILE {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                states.push((workspace.clone(), file));
            }
        }
    }
    let files = StateFiles::of(folder, "", &run_in);
    let is_there = |path: &Path| folder.files.kind(path).map(|kind| kind.is_some());
    let unsettled = if is_there(&files.errored)? || is_there(&backend::aside())? {
        Some("it has a state that Terraform could not write where it belongs")
    } else if is_there(&files.output)? {
        Some("an apply was cut short in it, and what it made may be in no state")
    } else {
        None
    };
    Ok((states, unsettled.map(str::to_owned)))
}

/// The Terraform workspaces that there is a state of.
fn workspaces(folder: &WorkDir) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for (name, kind) in folder.files.list(STATES)? {
        if kind == EntryKind::Folder {
            found.insert(name.to_string_lossy().into_owned());
        }
    }
    for (name, _) in folder.files.list(GOOD)? {
        found.extend(name.to_string_lossy().strip_suffix(".tfstate").map(str::to_owned));
    }
    found.retain(|name| is_uid(name));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{super::workdir, *};

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
        for (path, content) in [
            (workdir::state("blue"), "one"),
            (workdir::former_good_state("blue"), "two"),
            (workdir::good_state("green"), "three"),
            (workdir::state("default"), "four"),
            (workdir::state(" is no name"), "five"),
        ] {
            folder.files.write(path, content.as_bytes()).unwrap();
        }
        let victim = root.path().join("victim");
        fs::write(&victim, "six").unwrap();
        folder.files.write("state/link/x", b"").unwrap();
        folder.files.link(&victim, workdir::state("link")).unwrap();
        folder.files.link(root.path(), "state/linked").unwrap();
        let mut found = only(root.path());
        found.states.sort();
        let states: Vec<(&str, &[u8])> = found
            .states
            .iter()
            .map(|(workspace, file)| (workspace.as_str(), file.as_slice()))
            .collect();
        assert_eq!(
            states,
            [
                ("blue", &b"one"[..]),
                ("blue", b"two"),
                ("default", b"four"),
                ("green", b"three")
            ]
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
        let run = folder.try_run_lock().unwrap();
        assert!(remains(root.path(), &HashSet::new()).unwrap().is_empty());
        assert!(!remove_idle(&folder));
        drop(run);
        assert!(remove_idle(&folder));
        assert!(!root.path().join(UID).exists());
        assert!(remains(&root.path().join("nowhere"), &living).unwrap().is_empty());
    }
}
