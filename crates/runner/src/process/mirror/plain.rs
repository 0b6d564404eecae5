//! Reading files where runs can put anything.

use std::{
    fs::OpenOptions,
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;

/// The content of a file. None if there is no file, and an error if there is a link or anything else in its place, or more
/// than `limit` bytes.
pub(in crate::process) fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    let file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"));
    }
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    match content.len() as u64 > limit {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large")),
        false => Ok(Some(content)),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, process::Command};

    use super::*;

    #[test]
    fn only_plain_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "text").unwrap();
        symlink(path("file"), path("link")).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(path("pipe"))
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(read(&path("file"), 4).unwrap(), Some(b"text".to_vec()));
        assert_eq!(read(&path("none"), 4).unwrap(), None);
        assert!(read(&path("file"), 3).is_err());
        for name in ["link", "pipe", "."] {
            assert!(read(&path(name), 4).is_err(), "{name}");
        }
    }
}
