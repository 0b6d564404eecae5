//! Files that only their owner may read, and that are whole at every moment.

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
};

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

/// Replaces the file at `path`, or makes it.
///
/// A reader sees the old content or the new one, also after a crash, and nobody else can read either:
/// the temporary file has mode 0600 from its creation on.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
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
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(content) => {
            restrict(path, FILE_MODE)?;
            Ok(Some(content))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    let found = fs::metadata(path)?.permissions().mode() & 0o777;
    if found & !mode == 0 {
        return Ok(());
    }
    tracing::warn!(path = %path.display(), mode = format!("{found:o}"), "was open to other users; closing it");
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
}
