//! What really happened: modules write a line for everything that they make and destroy.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

/// A file that a module writes to.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// An empty one.
    pub(crate) fn new(folder: &Path, name: &str) -> anyhow::Result<Self> {
        // A folder of their own is what a confined run is let at.
        let folder = Self::folder(folder);
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{name}.ledger"));
        fs::write(&path, "").with_context(|| format!("writing {}", path.display()))?;
        Ok(Self { path })
    }

    /// Where all of them are that are made in a folder.
    pub(crate) fn folder(folder: &Path) -> PathBuf {
        folder.join("ledgers")
    }

    /// Where it is.
    pub(crate) fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// What was made, oldest first.
    pub(crate) fn made(&self) -> anyhow::Result<Vec<String>> {
        self.lines("made ")
    }

    /// What was destroyed, oldest first.
    pub(crate) fn gone(&self) -> anyhow::Result<Vec<String>> {
        self.lines("gone ")
    }

    /// Fails unless exactly one thing was ever made, and it is still there.
    pub(crate) fn holds_one(&self) -> anyhow::Result<()> {
        let (made, gone) = (self.made()?, self.gone()?);
        ensure!(
            made.len() == 1 && gone.is_empty(),
            "one thing should have been made and none destroyed; made: {made:?}, destroyed: {gone:?}"
        );
        Ok(())
    }

    fn lines(&self, beginning: &str) -> anyhow::Result<Vec<String>> {
        let text =
            fs::read_to_string(&self.path).with_context(|| format!("reading {}", self.path.display()))?;
        Ok(text
            .lines()
            .filter_map(|line| line.strip_prefix(beginning))
            .map(str::to_owned)
            .collect())
    }
}
