//! Files that only their owner may read, and that are whole at every moment.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use rustix::{fs::OFlags, io::Errno};
use tempfile::NamedTempFile;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Makes `dir` and its missing parents, and closes `dir` to everybody else even if it was open before.
pub(super) fn make_private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(dir)?;
    restrict(dir, DIRECTORY_MODE)
}

/// Opens a file, unless its name is a link, through which another file would be read or written.
pub(super) fn open_unlinked(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options
        .mode(FILE_MODE)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options.open(path).map_err(|error| {
        if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
            let text = format!("{} is a symbolic link. Remove it: rm {0}", path.display());
            io::Error::new(error.kind(), text)
        } else {
            error
        }
    })
}

/// Replaces the file at `path`, or makes it.
///
/// # Errors
/// If the system refuses it.
///
/// A reader sees the old content or the new one, also after a crash, and nobody else can read either:
/// the temporary file has mode 0600 from its creation on.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let dir = directory_of(path);
    let mut file = beside(path)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // Without this the rename itself may be lost with the power.
    File::open(dir)?.sync_all()
}

/// Fails if [`write`] would for want of a directory or of the right to write there.
pub(super) fn probe(path: &Path) -> io::Result<()> {
    beside(path)?.close()
}

/// A temporary file that can take the place of the one at `path`.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".tmp-")
        .permissions(Permissions::from_mode(FILE_MODE))
        .tempfile_in(directory_of(path))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Reads a file that should be private, and makes it so if it was left open; `None` if there is none.
///
/// # Errors
/// If the system refuses it, or if `path` is a symbolic link.
pub fn read(path: &Path) -> io::Result<Option<String>> {
    let mut file = match open_unlinked(OpenOptions::new().read(true), path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut content = String::new();
    file.read_to_string(&mut content)?;
    let found = file.metadata()?.permissions().mode() & 0o777;
    if found & !FILE_MODE != 0 {
        warn_of_exposure(path, found);
        file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    }
    Ok(Some(content))
}

fn warn_of_exposure(path: &Path, mode: u32) {
    tracing::warn!(path = %path.display(), mode = format!("{mode:o}"), "was open to other users; closing it");
}

fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    let found = fs::metadata(path)?.permissions().mode() & 0o777;
    if found & !mode == 0 {
        return Ok(());
    }
    warn_of_exposure(path, found);
    fs::set_permissions(path, Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn directories_are_private_with_their_parents_and_even_if_they_were_not() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a/b");
        make_private_dir(&dir).unwrap();
        assert_eq!((mode(&dir), mode(&root.path().join("a"))), (0o700, 0o700));

        fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        make_private_dir(&dir).unwrap();
        assert_eq!(mode(&dir), 0o700);
    }

    #[test]
    fn files_are_private_replaced_whole_and_leave_nothing_beside_them() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("key");
        assert_eq!(read(&path).unwrap(), None);

        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(read(&path).unwrap().as_deref(), Some("two"));
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn reading_closes_a_file_that_was_left_open() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("key");
        write(&path, b"secret").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        read(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_link_is_not_read_and_is_replaced_without_touching_what_it_leads_to() {
        let root = tempfile::tempdir().unwrap();
        let (path, victim) = (root.path().join("key"), root.path().join("victim"));
        fs::write(&victim, "theirs").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs", "the link works");
        let error = read(&path).unwrap_err();
        assert!(
            error.to_string().contains("is a symbolic link. Remove it: rm "),
            "{error}"
        );

        write(&path, b"ours").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
        assert_eq!(read(&path).unwrap().as_deref(), Some("ours"));
    }
}
