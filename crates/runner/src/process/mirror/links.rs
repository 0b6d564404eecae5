//! The links that the engine makes from the folder of a run to the mirror.

use std::{fs, io, path::Path, time::SystemTime};

use super::Folders;
use crate::process::workdir;

/// Folders between the one of all providers and a package: host, namespace, type, version.
const DEPTH: usize = 4;

/// Looks at what is installed in a run's folder. Links to what is there no more go, and so do links to where earlier versions
/// of the runner let runs write. Says whether everything is still there, and notes that it is used.
pub(in crate::process) fn check(data: &Path, folders: &Folders, now: SystemTime) -> io::Result<bool> {
    let mut is_whole = true;
    let providers = data.join("providers");
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let mut open = Vec::new();
    if is_folder(data) && is_folder(&providers) {
        open.push((providers, 0));
    }
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() && depth < DEPTH {
                open.push((entry.path(), depth + 1));
            } else if kind.is_symlink() {
                is_whole &= check_link(&entry.path(), folders, now)?;
            }
        }
    }
    Ok(is_whole)
}

fn check_link(link: &Path, folders: &Folders, now: SystemTime) -> io::Result<bool> {
    let target = fs::read_link(link)?;
    if !link.exists() || folders.is_forsaken(&target) {
        workdir::remove(link)?;
        return Ok(false);
    }
    if let Some((provider, version)) = folders.named_by(&target) {
        folders.touch(&provider, &version, now);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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
        assert!(check(&data, &folders, now).unwrap(), "nothing is installed");
        let link = data.join("providers/e.com/a/b/1.0.0/linux");
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let gone = base.join("mirror/e.com/a/b/2.0.0/linux");
        for (target, expected) in [(&good, true), (&own, true), (&old, false), (&gone, false)] {
            symlink(target, &link).unwrap();
            assert_eq!(check(&data, &folders, now).unwrap(), expected, "{target:?}");
            assert_eq!(link.is_symlink(), expected, "{target:?}");
            workdir::remove(&link).unwrap();
        }
        assert!(old.exists());

        // What is in another folder is none of its business.
        let other = root.path().join("other");
        fs::rename(data.join("providers"), &other).unwrap();
        let foreign = other.join("e.com/a/b/1.0.0/linux");
        symlink(&gone, &foreign).unwrap();
        symlink(&other, data.join("providers")).unwrap();
        assert!(check(&data, &folders, now).unwrap());
        assert!(foreign.is_symlink());
    }
}
