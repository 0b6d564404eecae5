//! The links that the engine makes from the folder of a run to the mirror.

use std::{
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::Folders;
use crate::{
    folder::{EntryKind, Folder},
    process::workdir::DATA,
};

/// Folders between the one of all providers and a package: host, namespace, type, version.
const DEPTH: usize = 4;

/// Looks at what is installed in a run's folder. Links to packages that the mirror has no more go, and so do links to where
/// earlier versions of the runner let runs write. Says whether everything is still there, and notes that it is used.
pub(in crate::process) fn check(files: &Folder, folders: &Folders, now: SystemTime) -> io::Result<bool> {
    let mut is_whole = true;
    let mut open: Vec<(PathBuf, usize)> = vec![(Path::new(DATA).join("providers"), 0)];
    while let Some((folder, depth)) = open.pop() {
        for (name, kind) in files.list(&folder)? {
            let path = folder.join(name);
            match kind {
                EntryKind::Folder if depth < DEPTH => open.push((path, depth + 1)),
                EntryKind::Link => is_whole &= check_link(files, &path, folders, now)?,
                EntryKind::Folder | EntryKind::File | EntryKind::Other => {}
            }
        }
    }
    Ok(is_whole)
}

fn check_link(files: &Folder, link: &Path, folders: &Folders, now: SystemTime) -> io::Result<bool> {
    let target = files.read_link(link)?.unwrap_or_default();
    let named = folders.named_by(&target);
    // A run can make links to anything, and where others lead to is not looked at.
    let is_gone = named.is_some() && !target.is_dir();
    if is_gone || folders.is_forsaken(&target) {
        files.remove(link)?;
        return Ok(false);
    }
    if let Some((provider, version)) = named {
        folders.touch(&provider, &version, now);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn links_to_nothing_and_to_what_runs_wrote_go() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().join("base");
        let folders = Folders::new(base.clone());
        let good = base.join("mirror/e.com/a/b/1.0.0/linux");
        let old = base.join("e.com/a/b/1.0.0/linux");
        let own = root.path().join("own");
        for folder in [&good, &old, &own] {
            fs::create_dir_all(folder).unwrap();
        }
        let now = SystemTime::now();
        let data = root.path().join("data");
        let files = Folder::new(root.path());
        assert!(check(&files, &folders, now).unwrap(), "nothing is installed");
        let link = data.join("providers/e.com/a/b/1.0.0/linux");
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let elsewhere = root.path().join("elsewhere");
        let gone = base.join("mirror/e.com/a/b/2.0.0/linux");
        for (target, expected) in [
            (&good, true),
            (&own, true),
            (&elsewhere, true),
            (&old, false),
            (&gone, false),
        ] {
            symlink(target, &link).unwrap();
            assert_eq!(check(&files, &folders, now).unwrap(), expected, "{target:?}");
            assert_eq!(link.is_symlink(), expected, "{target:?}");
            let _ = fs::remove_file(&link);
        }
        assert!(old.exists());

        // What is in another folder is none of its business.
        let other = root.path().join("other");
        fs::rename(data.join("providers"), &other).unwrap();
        let foreign = other.join("e.com/a/b/1.0.0/linux");
        symlink(&gone, &foreign).unwrap();
        symlink(&other, data.join("providers")).unwrap();
        assert!(check(&files, &folders, now).unwrap());
        assert!(foreign.is_symlink());
    }
}
