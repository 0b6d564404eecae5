//! Whether files changed, by their content.

use std::{
    io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::folder::{EntryKind, Folder};

/// Hashes fields so that no two different lists of fields are the same bytes.
#[derive(Default)]
pub(super) struct Digest(Sha256);

impl Digest {
    pub(super) fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    pub(super) fn text(self) -> String {
        self.0
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// Everything in a folder, without what git keeps for itself.
pub(super) fn tree(folder: &Folder, at: &Path) -> io::Result<String> {
    let mut digest = Digest::default();
    for path in files(folder, at, &|_| true)? {
        digest.field(path.as_os_str().as_encoded_bytes());
        let path = at.join(path);
        if let Some(target) = folder.read_link(&path)? {
            digest.field(target.as_os_str().as_encoded_bytes());
        } else if let Some(mut file) = folder.open(&path)? {
            // Files may be large, so that they are not read as a whole.
            let mut content = Sha256::new();
            io::copy(&mut file, &mut content)?;
            digest.field(&content.finalize());
        }
    }
    Ok(digest.text())
}

/// The files in a folder and below it whose names are wanted, in order, as paths from there. Links are not followed.
pub(super) fn files(folder: &Folder, at: &Path, wanted: &dyn Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        for (name, kind) in folder.list(at.join(&inside))? {
            let path = inside.join(&name);
            match kind {
                EntryKind::Folder if matches!(name.to_str(), Some(".git" | ".terraform")) => {}
                EntryKind::Folder => open.push(path),
                EntryKind::File | EntryKind::Link if wanted(&name.to_string_lossy()) => found.push(path),
                EntryKind::File | EntryKind::Link | EntryKind::Other => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree_of(folder: &tempfile::TempDir) -> String {
        tree(&Folder::new(folder.path()), Path::new("")).unwrap()
    }

    #[test]
    fn differs_when_anything_differs() {
        let build = |files: &[(&str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            for (path, content) in files {
                let path = folder.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            tree_of(&folder)
        };
        let base = build(&[("a", "1"), ("b/c", "2")]);
        assert_eq!(base, build(&[("b/c", "2"), ("a", "1"), (".git/x", "y")]));
        let others: [&[(&str, &str)]; 4] = [
            &[("a", "1")],
            &[("a", "1"), ("b/c", "3")],
            &[("a", "1"), ("b/d", "2")],
            &[("a", "12"), ("b/c", "")],
        ];
        for other in others {
            assert_ne!(base, build(other), "{other:?}");
        }
    }

    #[test]
    fn reads_nothing_that_may_never_end() {
        let folder = tempfile::tempdir().unwrap();
        let before = tree_of(&folder);
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(tree_of(&folder), before);
    }
}
