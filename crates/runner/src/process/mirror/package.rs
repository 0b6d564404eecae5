//! Packages of providers: folders with a program in them.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

use crate::process::workdir::{self, make_folder};

/// The checksum of a package as lock files have it (`h1:`): of the names and the checksums of all files.
pub(super) fn checksum(package: &Path) -> io::Result<String> {
    let mut whole = Sha256::new();
    for path in files(package)? {
        let mut content = Sha256::new();
        io::copy(&mut File::open(package.join(&path))?, &mut content)?;
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
pub(super) fn seal(package: &Path) -> io::Result<()> {
    for path in files(package)? {
        let file = File::open(package.join(path))?;
        file.sync_all()?;
        let is_program = file.metadata()?.permissions().mode() & 0o111 != 0;
        file.set_permissions(Permissions::from_mode(if is_program { 0o555 } else { 0o444 }))?;
    }
    Ok(())
}

/// A copy with its own files.
pub(super) fn copy(package: &Path, to: &Path) -> io::Result<()> {
    for path in files(package)? {
        let target = to.join(&path);
        make_folder(target.parent().unwrap_or(to))?;
        fs::copy(package.join(&path), target)?;
    }
    Ok(())
}

/// Puts a package into its place at once. One that is there already stays.
pub(super) fn place(package: &Path, at: &Path) -> io::Result<()> {
    make_folder(at.parent().unwrap_or(Path::new("/")))?;
    match fs::rename(package, at) {
        Err(error) if is_taken(&error) => Ok(()),
        done => done,
    }
}

/// Takes a package away: it is whole until it is not there.
pub(super) fn remove(at: &Path, by_way_of: &Path) -> io::Result<()> {
    workdir::remove(by_way_of)?;
    make_folder(by_way_of.parent().unwrap_or(Path::new("/")))?;
    match fs::rename(at, by_way_of) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => workdir::remove(by_way_of),
    }
}

fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists
    )
}

/// All files of a package, in order. There is nothing but files and folders in one: a link could lead anywhere.
fn files(package: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        for entry in fs::read_dir(package.join(&inside))? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, inside.join(entry.file_name()));
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() && path.to_str().is_some_and(|path| !path.contains('\n')) {
                found.push(path);
            } else {
                let problem = format!("{:?} is not a file", path.display().to_string());
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
        }
    }
    found.sort_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn package(root: &Path) -> PathBuf {
        let package = root.join("package");
        fs::create_dir_all(package.join("doc")).unwrap();
        fs::write(package.join("terraform-provider-x_v1.0.0"), "program").unwrap();
        fs::set_permissions(
            package.join("terraform-provider-x_v1.0.0"),
            Permissions::from_mode(0o755),
        )
        .unwrap();
        fs::write(package.join("doc/LICENSE"), "text").unwrap();
        package
    }

    #[test]
    fn a_package_in_its_place_is_only_read() {
        let root = tempfile::tempdir().unwrap();
        let made = package(root.path());
        let before = checksum(&made).unwrap();
        let at = root.path().join("mirror/1.0.0/linux_amd64");
        seal(&made).unwrap();
        place(&made, &at).unwrap();
        assert!(!made.exists());
        assert_eq!(checksum(&at).unwrap(), before);
        let mode = |name: &str| fs::metadata(at.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("terraform-provider-x_v1.0.0"), 0o555);
        assert_eq!(mode("doc/LICENSE"), 0o444);

        let other = root.path().join("other");
        copy(&at, &other).unwrap();
        assert_eq!(checksum(&other).unwrap(), before);
        // The second one leaves the first one there.
        place(&other, &at).unwrap();
        assert!(other.exists());
        remove(&at, &root.path().join("trash/x")).unwrap();
        assert!(!at.exists() && !root.path().join("trash/x").exists());
        remove(&at, &root.path().join("trash/x")).unwrap();
    }

    #[test]
    fn a_link_is_no_part_of_a_package() {
        let root = tempfile::tempdir().unwrap();
        let made = package(root.path());
        assert!(checksum(&made).is_ok() && seal(&made).is_ok());
        symlink("/etc/passwd", made.join("doc/link")).unwrap();
        assert!(checksum(&made).is_err() && seal(&made).is_err());
        assert!(copy(&made, &root.path().join("copy")).is_err());
    }
}
