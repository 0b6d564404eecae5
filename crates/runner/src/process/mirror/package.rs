//! Packages of providers: folders with a program in them.

use std::{
    fs::Permissions,
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

use crate::folder::{EntryKind, Folder};

/// The checksum of a package as lock files have it (`h1:`): of the names and the checksums of all files.
pub(super) fn checksum(folder: &Folder, package: &Path) -> io::Result<String> {
    let mut whole = Sha256::new();
    for path in files(folder, package)? {
        let mut content = Sha256::new();
        io::copy(&mut open(folder, &package.join(&path))?, &mut content)?;
        let digest: String = content
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        whole.update(format!("{digest}  {}\n", path.display()));
    }
    Ok(format!("h1:{}", STANDARD.encode(whole.finalize())))
}

/// Seals a package: its files are on the disk and can only be read or run.
pub(super) fn seal(folder: &Folder, package: &Path) -> io::Result<()> {
    for path in files(folder, package)? {
        let file = open(folder, &package.join(path))?;
        file.sync_all()?;
        let is_program = file.metadata()?.permissions().mode() & 0o111 != 0;
        file.set_permissions(Permissions::from_mode(if is_program { 0o555 } else { 0o444 }))?;
    }
    Ok(())
}

/// Puts a package into its place at once. One that is there already stays.
pub(super) fn place(folder: &Folder, package: &Path, at: &Path) -> io::Result<()> {
    if folder.kind(at)?.is_some() {
        return Ok(());
    }
    folder.make(at.parent().unwrap_or(Path::new("")))?;
    folder.rename(package, at)
}

/// Takes a package away: it is whole until it is not there.
pub(super) fn remove(folder: &Folder, at: &Path, by_way_of: &Path) -> io::Result<()> {
    folder.remove(by_way_of)?;
    folder.make(by_way_of.parent().unwrap_or(Path::new("")))?;
    match folder.rename(at, by_way_of) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => folder.remove(by_way_of),
    }
}

fn open(folder: &Folder, path: &Path) -> io::Result<std::fs::File> {
    folder.open(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// All files of a package, in order. There is nothing but files and folders in one: a link could lead anywhere.
fn files(folder: &Folder, package: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        for (name, kind) in folder.list(package.join(&inside))? {
            let path = inside.join(name);
            match kind {
                EntryKind::Folder => open.push(path),
                EntryKind::File if path.to_str().is_some_and(|path| !path.contains('\n')) => found.push(path),
                EntryKind::File | EntryKind::Link | EntryKind::Other => {
                    let problem = format!("{:?} is not a file", path.display().to_string());
                    return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
                }
            }
        }
    }
    found.sort_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    const MADE: &str = "package";

    fn package() -> (tempfile::TempDir, Folder) {
        let root = tempfile::tempdir().unwrap();
        let made = root.path().join(MADE);
        fs::create_dir_all(made.join("doc")).unwrap();
        let program = made.join("terraform-provider-x_v1.0.0");
        fs::write(&program, "program").unwrap();
        fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
        fs::write(made.join("doc/LICENSE"), "text").unwrap();
        let folder = Folder::new(root.path());
        (root, folder)
    }

    #[test]
    fn a_package_in_its_place_is_only_read() {
        let (root, folder) = package();
        let made = Path::new(MADE);
        let before = checksum(&folder, made).unwrap();
        let at = Path::new("mirror/1.0.0/linux_amd64");
        seal(&folder, made).unwrap();
        place(&folder, made, at).unwrap();
        assert!(!root.path().join(MADE).exists());
        assert_eq!(checksum(&folder, at).unwrap(), before);
        let mode = |name: &str| {
            let found = fs::metadata(root.path().join(at).join(name)).unwrap();
            found.permissions().mode() & 0o777
        };
        assert_eq!(mode("terraform-provider-x_v1.0.0"), 0o555);
        assert_eq!(mode("doc/LICENSE"), 0o444);

        let other = Path::new("other");
        folder.copy_from(&folder, at, other).unwrap();
        assert_eq!(checksum(&folder, other).unwrap(), before);
        // The second one leaves the first one there.
        place(&folder, other, at).unwrap();
        assert!(root.path().join(other).exists());
        let trash = Path::new("trash/x");
        remove(&folder, at, trash).unwrap();
        assert!(!root.path().join(at).exists() && !root.path().join(trash).exists());
        remove(&folder, at, trash).unwrap();
    }

    #[test]
    fn a_link_is_no_part_of_a_package() {
        let (root, folder) = package();
        let made = Path::new(MADE);
        assert!(checksum(&folder, made).is_ok() && seal(&folder, made).is_ok());
        symlink("/etc/passwd", root.path().join("package/doc/link")).unwrap();
        assert!(checksum(&folder, made).is_err() && seal(&folder, made).is_err());
    }
}
