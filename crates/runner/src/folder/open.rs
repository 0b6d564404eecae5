//! Opening a path without a link in it.

use std::{
    os::fd::{BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::fs::{Mode, OFlags};

/// Opens a path below a folder. A link anywhere in it is an error, and so is a path that leads out.
#[cfg(target_os = "linux")]
pub(super) fn open_beneath(
    folder: BorrowedFd<'_>,
    inside: &Path,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(
        folder,
        inside,
        flags,
        mode,
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    )
}

/// Opens a path below a folder, through links that do not lead out of it.
#[cfg(target_os = "linux")]
pub(super) fn open_linked(
    folder: BorrowedFd<'_>,
    inside: &Path,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    use rustix::{
        fs::{ResolveFlags, openat2},
        io::Errno,
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(folder, inside, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Err(Errno::XDEV) => Err(Errno::NOENT),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) use walk as open_beneath;

/// Where the kernel cannot see to it that links stay inside, none is followed.
#[cfg(not(target_os = "linux"))]
pub(super) fn open_linked(
    folder: BorrowedFd<'_>,
    inside: &Path,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    walk(folder, inside, flags, Mode::empty())
}

/// The same for other systems: one name after the other, each of which must be no link.
#[cfg(any(test, not(target_os = "linux")))]
pub(super) fn walk(
    folder: BorrowedFd<'_>,
    inside: &Path,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    use std::path::Component;

    use rustix::{fs::openat, io::Errno};

    let close = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let between = OFlags::RDONLY | OFlags::DIRECTORY | close;
    let mut open: Option<OwnedFd> = None;
    let mut parts = inside.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(Errno::XDEV);
        };
        let (flags, mode) = match parts.peek() {
            Some(_) => (between, Mode::empty()),
            None => (flags | close, mode),
        };
        let next = match &open {
            Some(folder) => openat(folder, name, flags, mode)?,
            None => openat(folder, name, flags, mode)?,
        };
        open = Some(next);
    }
    open.ok_or(Errno::NOENT)
}
