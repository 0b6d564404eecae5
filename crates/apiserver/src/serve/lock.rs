//! One process per data directory.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use super::{
    exposure::{Exposure, exposure_of},
    private_file::{make_private_dir, open_unlinked},
};

/// The right to use a data directory, held until it is dropped or the process dies, however it dies.
#[derive(Debug)]
pub struct DataDirLock {
    /// The kernel keeps the lock for as long as this stays open.
    _file: File,
}

/// Why a data directory could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process works there.
    #[error("the data directory {} is in use by {}", dir.display(), holder(*pid))]
    Taken {
        /// The directory.
        dir: PathBuf,
        /// The process that holds it, if it has said so.
        pid: Option<u32>,
    },
    /// Others may change what is in the directory.
    #[error("the data directory {} is not this user's alone", dir.display())]
    Exposed {
        /// The directory.
        dir: PathBuf,
        /// How, and what to do.
        source: Exposure,
    },
    /// The directory cannot be made or written to.
    #[error("cannot use the data directory {}", dir.display())]
    Unusable {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl DataDirLock {
    /// Takes `dir`, which is made (for its owner alone) if it does not exist.
    pub fn take(dir: &Path) -> Result<Self, LockError> {
        let unusable = |source| LockError::Unusable {
            dir: dir.to_owned(),
            source,
        };
        if !dir.is_dir() {
            make_private_dir(dir).map_err(unusable)?;
        }
        if let Some(source) = exposure_of(dir).map_err(unusable)? {
            return Err(LockError::Exposed {
                dir: dir.to_owned(),
                source,
            });
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = open_unlinked(&mut options, &dir.join("lock")).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Taken {
                    dir: dir.to_owned(),
                    pid: read_pid(&mut file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        write_pid(&mut file).map_err(unusable)?;
        Ok(Self { _file: file })
    }
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn holder(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_learns_who_holds_it_and_gets_it_afterwards() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("data");
        let first = DataDirLock::take(&dir).unwrap();

        let error = DataDirLock::take(&dir).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the data directory {} is in use by process {}",
                dir.display(),
                std::process::id()
            )
        );

        drop(first);
        DataDirLock::take(&dir).unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        std::fs::write(&file, "").unwrap();

        let error = DataDirLock::take(&file.join("data")).unwrap_err();
        assert!(matches!(error, LockError::Unusable { .. }), "{error:?}");
        assert!(error.to_string().contains("file/data"), "{error}");
    }

    #[test]
    fn a_directory_that_others_may_write_in_is_refused_until_it_is_closed() {
        use std::{fs::Permissions, os::unix::fs::PermissionsExt};

        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("data");
        drop(DataDirLock::take(&dir).unwrap());
        for mode in [0o770, 0o707, 0o777] {
            std::fs::set_permissions(&dir, Permissions::from_mode(mode)).unwrap();
            let error = DataDirLock::take(&dir).unwrap_err();
            let LockError::Exposed { source, .. } = &error else {
                panic!("{mode:o}: {error:?}");
            };
            let remedy = format!("chmod go-w {}", dir.canonicalize().unwrap().display());
            assert!(source.to_string().ends_with(&remedy), "{source}");
        }
        std::fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        DataDirLock::take(&dir).unwrap();
    }

    #[test]
    fn a_link_in_the_place_of_the_lock_leads_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let (dir, victim) = (root.path().join("data"), root.path().join("victim"));
        drop(DataDirLock::take(&dir).unwrap());
        std::fs::write(&victim, "theirs").unwrap();
        std::fs::remove_file(dir.join("lock")).unwrap();
        std::os::unix::fs::symlink(&victim, dir.join("lock")).unwrap();
        let error = DataDirLock::take(&dir).unwrap_err();
        assert!(matches!(error, LockError::Unusable { .. }), "{error:?}");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "theirs");
    }
}
