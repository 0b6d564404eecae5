//! What is in a folder, and removing it.

use std::{
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
};

use rustix::{
    fs::{self, AtFlags, FileType, Mode},
    io::Errno,
};
use uuid::Uuid;

use super::{DIRECTORY, EntryKind, open::open_beneath};

/// The names in a folder, and what has them.
pub(super) fn entries(
    folder: impl AsFd,
) -> rustix::io::Result<impl Iterator<Item = rustix::io::Result<(OsString, EntryKind)>>> {
    let folder = folder.as_fd().try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    let all = fs::Dir::read_from(&folder)?;
    Ok(all.filter_map(move |entry| {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return Some(Err(error)),
        };
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            return None;
        }
        let kind = match entry.file_type() {
            // Not every file system says it here.
            FileType::Unknown => match fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => FileType::from_raw_mode(found.st_mode),
                Err(error) => return Some(Err(error)),
            },
            kind => kind,
        };
        Some(Ok((name.to_owned(), kind.into())))
    }))
}

/// Removes whatever has this name in a folder. A link is removed, and not what it leads to.
pub(super) fn remove_at(parent: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    let found = match fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        found => FileType::from_raw_mode(found?.st_mode),
    };
    match found {
        FileType::Directory => remove_tree(parent, name),
        _ => fs::unlinkat(parent, name, AtFlags::empty()),
    }
}

/// Folders are brought up to the top one after the other, so that however deep a run nests them, this needs no more stack
/// and no more open files.
fn remove_tree(parent: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    let open = |parent: &OwnedFd, name: &OsStr| {
        open_beneath(parent.as_fd(), name.as_ref(), DIRECTORY, Mode::empty())
    };
    let top = open(parent, name)?;
    loop {
        let mut is_empty = true;
        for entry in entries(&top)? {
            let (entry, kind) = entry?;
            is_empty = false;
            if kind != EntryKind::Folder {
                fs::unlinkat(&top, &entry, AtFlags::empty())?;
                continue;
            }
            let folder = open(&top, &entry)?;
            for inner in entries(&folder)? {
                match inner? {
                    (inner, EntryKind::Folder) => {
                        fs::renameat(&folder, &inner, &top, Uuid::new_v4().simple().to_string())?;
                    }
                    (inner, _) => fs::unlinkat(&folder, &inner, AtFlags::empty())?,
                }
            }
            match fs::unlinkat(&top, &entry, AtFlags::REMOVEDIR) {
                // A name may be left out while others are removed; the next round finds it.
                Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                done => done?,
            }
        }
        if is_empty {
            return fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
    }
}
