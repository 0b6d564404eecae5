//! Files of a folder that runs of Terraform write to.
//!
//! A run may put anything there: a symbolic link to the state of another Workspace, a pipe that nothing writes to, a file
//! without an end. Here no path leads through a link or out of the folder, only regular files are read, and only so much
//! of them. What cannot be read in this way counts as not there: it is what its author made it.

mod open;
mod tree;
mod write;

use std::{
    ffi::OsString,
    fs::{File, TryLockError},
    io::{self, Read as _},
    os::fd::{AsFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{self as system, AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

use open::{open_beneath, open_linked};
use tree::entries;

/// Bytes of a file that are read at most, so that a run cannot fill the memory of the runner.
pub(crate) const MAX_FILE: u64 = 256 << 20;

const FILE_MODE: Mode = Mode::from_raw_mode(0o600);

/// A file is opened in this way. To open a pipe must not wait for its other end.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// A folder is opened in this way.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NONBLOCK);

/// A folder that runs write to. Its own path is trusted; all others are paths inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder(PathBuf);

/// Which kind of thing has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// What tells one version of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: (i64, i64),
    size: i64,
}

impl Folder {
    pub(crate) fn new(root: impl Into<PathBuf>) -> Self {
        Self(root.into())
    }

    /// The whole path of something inside, for other programs.
    pub(crate) fn path(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.0.join(inside)
    }

    /// The content of a regular file.
    ///
    /// # Errors
    /// If it is there and cannot be read, or is too large.
    pub(crate) fn read(&self, inside: impl AsRef<Path>) -> io::Result<Option<Vec<u8>>> {
        self.read_up_to(inside, MAX_FILE)
    }

    /// The same for a file of no more than so many bytes.
    ///
    /// # Errors
    /// If it is there and cannot be read, or is too large.
    pub(crate) fn read_up_to(&self, inside: impl AsRef<Path>, limit: u64) -> io::Result<Option<Vec<u8>>> {
        self.open(inside)?.map(|file| content(file, limit)).transpose()
    }

    /// A regular file, for reading.
    pub(crate) fn open(&self, inside: impl AsRef<Path>) -> io::Result<Option<File>> {
        let opened = self
            .root()
            .and_then(|root| open_beneath(root.as_fd(), inside.as_ref(), READ, Mode::empty()));
        regular(if_there(opened)?)
    }

    /// The content of a regular file below `base`. Links are followed as far as they stay below `base`, as modules that
    /// share files among their folders have them.
    pub(crate) fn read_linked(&self, base: &Path, inside: &Path) -> io::Result<Option<Vec<u8>>> {
        let opened = self
            .folder(base)
            .and_then(|base| open_linked(base.as_fd(), inside, READ));
        regular(if_there(opened)?)?
            .map(|file| content(file, MAX_FILE))
            .transpose()
    }

    /// What has this name; a link is not followed.
    pub(crate) fn kind(&self, inside: impl AsRef<Path>) -> io::Result<Option<EntryKind>> {
        let found = self.stat(inside.as_ref())?;
        Ok(found.map(|found| FileType::from_raw_mode(found.st_mode).into()))
    }

    /// The version of a regular file.
    pub(crate) fn stamp(&self, inside: impl AsRef<Path>) -> io::Result<Option<Stamp>> {
        let found = self.stat(inside.as_ref())?;
        let file = found.filter(|found| FileType::from_raw_mode(found.st_mode).is_file());
        Ok(file.map(|file| Stamp {
            modified: (file.st_mtime, file.st_mtime_nsec as i64),
            size: file.st_size,
        }))
    }

    /// Whether there is such a folder.
    pub(crate) fn has_folder(&self, inside: impl AsRef<Path>) -> io::Result<bool> {
        Ok(if_there(self.folder(inside.as_ref()))?.is_some())
    }

    /// The names in a folder; none if there is no such folder.
    pub(crate) fn list(&self, inside: impl AsRef<Path>) -> io::Result<Vec<(OsString, EntryKind)>> {
        let Some(folder) = if_there(self.folder(inside.as_ref()))? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for entry in entries(folder.as_fd())? {
            found.push(entry?);
        }
        Ok(found)
    }

    /// Where a symbolic link leads to.
    pub(crate) fn read_link(&self, inside: impl AsRef<Path>) -> io::Result<Option<PathBuf>> {
        use std::os::unix::ffi::OsStringExt as _;
        let Some((parent, name)) = if_there(self.parent(inside.as_ref()))? else {
            return Ok(None);
        };
        match system::readlinkat(&parent, &name, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()).into())),
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The lock on this file, which is made if it is not there. None if another holder has it.
    pub(crate) fn try_lock(&self, inside: impl AsRef<Path>) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK;
        let file = open_beneath(self.root()?.as_fd(), inside.as_ref(), flags, FILE_MODE)?;
        let file = File::from(file);
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn stat(&self, inside: &Path) -> io::Result<Option<system::Stat>> {
        let found = self
            .parent(inside)
            .and_then(|(parent, name)| system::statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW));
        if_there(found)
    }

    fn root(&self) -> rustix::io::Result<OwnedFd> {
        system::open(&self.0, DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    }

    fn folder(&self, inside: &Path) -> rustix::io::Result<OwnedFd> {
        let root = self.root()?;
        match inside.as_os_str().is_empty() {
            true => Ok(root),
            false => open_beneath(root.as_fd(), inside, DIRECTORY, Mode::empty()),
        }
    }

    /// The folder that something is in, and its name there.
    fn parent(&self, inside: &Path) -> rustix::io::Result<(OwnedFd, OsString)> {
        let name = inside.file_name().ok_or(Errno::INVAL)?;
        let parent = self.folder(inside.parent().unwrap_or(Path::new("")))?;
        Ok((parent, name.to_owned()))
    }
}

impl From<FileType> for EntryKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// Nothing, if there is no such thing, or only through a link.
fn if_there<T>(done: rustix::io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn regular(opened: Option<OwnedFd>) -> io::Result<Option<File>> {
    let Some(file) = opened.map(File::from) else {
        return Ok(None);
    };
    Ok(file.metadata()?.is_file().then_some(file))
}

fn content(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    match content.len() as u64 > limit {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(content),
    }
}

#[cfg(test)]
mod tests;
