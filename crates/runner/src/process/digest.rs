//! Whether files changed, by their content.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

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
pub(super) fn tree(folder: &Path) -> io::Result<String> {
    let mut digest = Digest::default();
    for path in files(folder, &|_| true)? {
        digest.field(path.as_os_str().as_encoded_bytes());
        let path = folder.join(path);
        if path.is_symlink() {
            digest.field(fs::read_link(path)?.as_os_str().as_encoded_bytes());
        } else {
            // Files may be large, so that they are not read as a whole.
            let mut content = Sha256::new();
            io::copy(&mut fs::File::open(path)?, &mut content)?;
            digest.field(&content.finalize());
        }
    }
    Ok(digest.text())
}

/// The files in a folder and below it whose names are wanted, in order, as paths from there. Links are not followed.
pub(super) fn files(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        for entry in fs::read_dir(folder.join(&inside))? {
            let entry = entry?;
            let name = entry.file_name();
            let kind = entry.file_type()?;
            let path = inside.join(&name);
            if kind.is_dir() {
                if !matches!(name.to_str(), Some(".git" | ".terraform")) {
                    open.push(path);
                }
            // Whoever reads a pipe waits for somebody to write to it.
            } else if (kind.is_file() || kind.is_symlink()) && wanted(&name.to_string_lossy()) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differs_when_anything_differs() {
        let build = |files: &[(&str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            for (path, content) in files {
                let path = folder.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            tree(folder.path()).unwrap()
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
        let before = tree(folder.path()).unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(tree(folder.path()).unwrap(), before);
    }
}
