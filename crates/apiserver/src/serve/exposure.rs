//! Whether other users may change what a directory holds.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Write permission of the group and of everybody else.
const OTHERS_WRITE: u32 = 0o022;
/// Write permission of everybody else.
const WORLD_WRITE: u32 = 0o002;
/// In a directory with this bit, only its owner renames or removes an entry.
const STICKY: u32 = 0o1000;

/// How others may change what a directory holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exposure {
    /// It belongs to another user.
    #[error("it belongs to the user {owner}. Take it over with its content: chown -R {user} {}", dir.display())]
    Owner {
        /// The directory.
        dir: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user of this process.
        user: u32,
    },
    /// Others may write in it.
    #[error("other users may write in it (mode {mode:o}). Close it: chmod go-w {}", dir.display())]
    Writable {
        /// The directory.
        dir: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Others may put another directory in its place.
    #[error("other users may replace it, because they may write in {} (mode {mode:o}). Close that: chmod o-w {0}", parent.display())]
    Replaceable {
        /// A directory above it.
        parent: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

/// What counts of a directory.
#[derive(Clone, Copy, Debug)]
struct DirectoryFacts {
    owner: u32,
    mode: u32,
    /// The file system that it is on.
    device: u64,
}

impl DirectoryFacts {
    fn of(dir: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(dir)?;
        Ok(Self {
            owner: metadata.uid(),
            mode: metadata.mode() & 0o7777,
            device: metadata.dev(),
        })
    }
}

/// How other users than that of this process may change what a directory holds, if they may.
pub(super) fn exposure_of(dir: &Path) -> io::Result<Option<Exposure>> {
    let dir = fs::canonicalize(dir)?;
    let mut path = Vec::new();
    for part in dir.ancestors() {
        path.push((part.to_owned(), DirectoryFacts::of(part)?));
    }
    Ok(judge(&path, rustix::process::geteuid().as_raw()))
}

/// The same from facts: of the directory, then of each one above it.
fn judge(path: &[(PathBuf, DirectoryFacts)], user: u32) -> Option<Exposure> {
    let ((dir, facts), above) = path.split_first()?;
    let DirectoryFacts { owner, mode, .. } = *facts;
    if owner != user {
        return Some(Exposure::Owner {
            dir: dir.clone(),
            owner,
            user,
        });
    }
    if mode & OTHERS_WRITE != 0 {
        return Some(Exposure::Writable {
            dir: dir.clone(),
            mode,
        });
    }
    let is_open = |(place, (_, facts)): &(usize, &(PathBuf, DirectoryFacts))| {
        // A volume of a pod is open to every user, and only the pod reaches it.
        let is_volume = above
            .get(place + 1)
            .is_some_and(|(_, next)| next.device != facts.device);
        facts.mode & WORLD_WRITE != 0 && facts.mode & STICKY == 0 && !is_volume
    };
    let (_, (parent, facts)) = above.iter().enumerate().find(is_open)?;
    Some(Exposure::Replaceable {
        parent: parent.clone(),
        mode: facts.mode,
    })
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;

    const ME: u32 = 1000;

    /// Directories from the inside out: owner, mode, device.
    fn path(parts: &[(u32, u32, u64)]) -> Vec<(PathBuf, DirectoryFacts)> {
        let facts = parts.iter().map(|(owner, mode, device)| DirectoryFacts {
            owner: *owner,
            mode: *mode,
            device: *device,
        });
        let named = facts.enumerate();
        named
            .map(|(depth, facts)| (PathBuf::from(format!("/{depth}")), facts))
            .collect()
    }

    #[test]
    fn only_the_user_may_change_what_a_directory_holds() {
        let root = (0, 0o755, 1);
        for (parts, expected) in [
            (vec![(ME, 0o700, 1), root], None),
            (vec![(ME, 0o755, 1), root], None),
            (vec![(ME, 0o775, 1), root], Some("chmod go-w /0")),
            (vec![(ME, 0o702, 1), root], Some("chmod go-w /0")),
            (vec![(ME, 0o1777, 1), root], Some("chmod go-w /0")),
            (vec![(1001, 0o700, 1), root], Some("chown -R 1000 /0")),
            (vec![(0, 0o755, 1), root], Some("chown -R 1000 /0")),
            // As in /tmp.
            (vec![(ME, 0o700, 1), (0, 0o1777, 1), root], None),
            (vec![(ME, 0o700, 1), (0, 0o777, 1), root], Some("chmod o-w /1")),
            (
                vec![(ME, 0o700, 1), (ME, 0o700, 1), (0, 0o777, 1), root],
                Some("chmod o-w /2"),
            ),
            // Many systems give each user a group of their own.
            (vec![(ME, 0o700, 1), (ME, 0o775, 1), root], None),
            // As in a volume of a pod.
            (vec![(ME, 0o700, 2), (0, 0o777, 2), root], None),
            (
                vec![(ME, 0o700, 2), (0, 0o777, 2), (0, 0o777, 1), root],
                Some("chmod o-w /2"),
            ),
        ] {
            let message = judge(&path(&parts), ME).map(|exposure| exposure.to_string());
            let is_expected = match (&message, expected) {
                (None, None) => true,
                (Some(message), Some(remedy)) => message.ends_with(remedy),
                _ => false,
            };
            assert!(is_expected, "{parts:?}: {message:?}, expected {expected:?}");
        }
    }

    #[test]
    fn a_directory_on_the_disk_is_judged_through_links() {
        let root = tempfile::tempdir().unwrap();
        let (dir, link) = (root.path().join("data"), root.path().join("link"));
        fs::create_dir(&dir).unwrap();
        std::os::unix::fs::symlink(&dir, &link).unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
        assert_eq!(exposure_of(&link).unwrap(), None);
        fs::set_permissions(&dir, Permissions::from_mode(0o777)).unwrap();
        let found = exposure_of(&link).unwrap();
        assert!(
            matches!(found, Some(Exposure::Writable { mode: 0o777, .. })),
            "{found:?}"
        );
    }
}
