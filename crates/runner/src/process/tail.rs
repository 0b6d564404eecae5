//! Reading a file that another process is writing.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use capt_terraform::stream::LineSplitter;

use crate::folder::Folder;

/// The lines of a file as they come. The file need not be there yet.
pub(super) struct Tail {
    folder: Folder,
    path: PathBuf,
    file: Option<File>,
    lines: LineSplitter,
    buffer: Vec<u8>,
}

impl Tail {
    pub(super) fn new(folder: &Folder, path: &Path) -> Self {
        Self {
            folder: folder.clone(),
            path: path.to_owned(),
            file: None,
            lines: LineSplitter::default(),
            buffer: vec![0; 64 << 10],
        }
    }

    /// Calls `line` for each line that was completed since the last call.
    pub(super) fn pull(&mut self, mut line: impl FnMut(&[u8])) -> io::Result<()> {
        if self.file.is_none() {
            self.file = self.folder.open(&self.path)?;
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        loop {
            let count = file.read(&mut self.buffer)?;
            if count == 0 {
                return Ok(());
            }
            self.lines.push(&self.buffer[..count], &mut line);
        }
    }

    /// The same when nothing will be added any more, so that a line without an end is one too.
    pub(super) fn finish(mut self, mut line: impl FnMut(&[u8])) -> io::Result<()> {
        self.pull(&mut line)?;
        self.lines.finish(line);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _};

    use super::*;

    #[test]
    fn follows_a_file_as_it_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut tail = Tail::new(&Folder::new(folder.path()), Path::new("out"));
        let mut seen = Vec::new();
        let mut note = |line: &[u8]| seen.push(String::from_utf8_lossy(line).into_owned());
        tail.pull(&mut note).unwrap();
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(b"one\ntw").unwrap();
        tail.pull(&mut note).unwrap();
        file.write_all(b"o\nthree").unwrap();
        tail.pull(&mut note).unwrap();
        tail.finish(&mut note).unwrap();
        assert_eq!(seen, ["one", "two", "three"]);
    }
}
