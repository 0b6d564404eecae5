//! Changing what is in a folder.

use std::{
    fs::File,
    io::{self, Write as _},
    os::fd::AsFd as _,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{self, AtFlags, Mode, OFlags},
    io::Errno,
};
use uuid::Uuid;

use super::{DIRECTORY, EntryKind, FILE_MODE, Folder, if_there, open::open_beneath, tree::remove_at};

const FOLDER_MODE: Mode = Mode::from_raw_mode(0o700);

/// What makes a file of a name that nothing has.
const CREATE: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL);

impl Folder {
    /// Makes a folder and those above it. A file or a link in the way is removed.
    pub(crate) fn make(&self, inside: impl AsRef<Path>) -> io::Result<()> {
        let mut folder = self.root()?;
        for part in inside.as_ref().components() {
            let Component::Normal(part) = part else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let open = || open_beneath(folder.as_fd(), part.as_ref(), DIRECTORY, Mode::empty());
            let made = match open() {
                Err(Errno::NOENT) => None,
                Err(Errno::LOOP | Errno::NOTDIR) => {
                    fs::unlinkat(&folder, part, AtFlags::empty())?;
                    None
                }
                opened => Some(opened?),
            };
            folder = match made {
                Some(made) => made,
                None => {
                    match fs::mkdirat(&folder, part, FOLDER_MODE) {
                        // Another process or thread made it meanwhile.
                        Err(Errno::EXIST) => {}
                        made => made?,
                    }
                    open()?
                }
            };
        }
        Ok(())
    }

    /// Replaces a file at once or not at all. It may be lost if the machine fails right after.
    pub(crate) fn write(&self, inside: impl AsRef<Path>, content: &[u8]) -> io::Result<()> {
        self.replace(inside.as_ref(), content, |_| Ok(()))
    }

    /// The same for a file that must survive a failure of the machine.
    pub(crate) fn write_durably(&self, inside: impl AsRef<Path>, content: &[u8]) -> io::Result<()> {
        self.replace(inside.as_ref(), content, File::sync_all)
    }

    /// Replaces a file if it is not the same already.
    pub(crate) fn write_if_changed(&self, inside: impl AsRef<Path>, content: &[u8]) -> io::Result<()> {
        let inside = inside.as_ref();
        // A file of another size is another file.
        let size = self.stamp(inside)?.map(|stamp| stamp.size);
        let is_same_size = size.and_then(|size| usize::try_from(size).ok()) == Some(content.len());
        if is_same_size && self.read(inside)?.as_deref() == Some(content) {
            return Ok(());
        }
        self.write(inside, content)
    }

    /// Removes whatever has this name, with everything in it.
    pub(crate) fn remove(&self, inside: impl AsRef<Path>) -> io::Result<()> {
        let Some((parent, name)) = if_there(self.parent(inside.as_ref()))? else {
            return Ok(());
        };
        Ok(remove_at(&parent, &name)?)
    }

    /// Gives something another name, and replaces what has that name.
    ///
    /// # Errors
    /// `NotFound`, if there is nothing of the old name.
    pub(crate) fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let (source, name) = self.parent(from.as_ref())?;
        let (target, new_name) = self.parent(to.as_ref())?;
        match fs::renameat(&source, &name, &target, &new_name) {
            Err(Errno::ISDIR | Errno::NOTDIR | Errno::NOTEMPTY | Errno::EXIST) => {
                remove_at(&target, &new_name)?;
                Ok(fs::renameat(&source, &name, &target, &new_name)?)
            }
            done => Ok(done?),
        }
    }

    /// Makes a symbolic link, in the place of whatever has its name.
    pub(crate) fn link(&self, target: &Path, inside: impl AsRef<Path>) -> io::Result<()> {
        let inside = inside.as_ref();
        if self.read_link(inside)?.as_deref() == Some(target) {
            return Ok(());
        }
        let (parent, name) = self.parent(inside)?;
        remove_at(&parent, &name)?;
        Ok(fs::symlinkat(target, &parent, &name)?)
    }

    /// Copies a folder of another one to here, with everything in it. Links are copied and not followed.
    pub(crate) fn copy_from(&self, other: &Self, from: &Path, to: &Path) -> io::Result<()> {
        let mut open = vec![PathBuf::new()];
        while let Some(inside) = open.pop() {
            self.make(to.join(&inside))?;
            for (name, kind) in other.list(from.join(&inside))? {
                let inside = inside.join(name);
                let (source, target) = (from.join(&inside), to.join(&inside));
                match kind {
                    EntryKind::Folder => open.push(inside),
                    EntryKind::Link => {
                        if let Some(leads_to) = other.read_link(&source)? {
                            self.link(&leads_to, &target)?;
                        }
                    }
                    EntryKind::File => {
                        if let Some(mut file) = other.open(&source)? {
                            self.copy_file(&mut file, &target)?;
                        }
                    }
                    EntryKind::Other => {}
                }
            }
        }
        Ok(())
    }

    fn copy_file(&self, from: &mut File, to: &Path) -> io::Result<()> {
        let mode = Mode::from_raw_mode(fs::fstat(&*from)?.st_mode & 0o700) | FILE_MODE;
        let target = open_beneath(self.root()?.as_fd(), to, CREATE, mode)?;
        io::copy(from, &mut File::from(target)).map(drop)
    }

    fn replace(
        &self,
        inside: &Path,
        content: &[u8],
        settle: impl Fn(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(folder) = inside.parent() {
            self.make(folder)?;
        }
        let temporary = inside.with_file_name(format!(".capt-{}", Uuid::new_v4().simple()));
        let file = open_beneath(self.root()?.as_fd(), &temporary, CREATE, FILE_MODE)?;
        let mut file = File::from(file);
        let written = file.write_all(content).and_then(|()| settle(&file));
        let done = written.and_then(|()| self.rename(&temporary, inside));
        if done.is_err() {
            let _ = self.remove(&temporary);
        }
        done
    }
}
