//! Where `capt up` keeps its files.

use std::path::{Path, PathBuf};

use anyhow::Context;
use apiary::Storage;
use tempfile::TempDir;

use crate::data_dir;

/// Where things are kept.
#[derive(Clone)]
pub(super) struct Place {
    dir: PathBuf,
    kubeconfig: PathBuf,
}

impl Place {
    /// Decides from what the user asked for. A directory that nobody asked for by name and that is to hold
    /// nothing for long comes with a guard, which removes it when it is dropped.
    pub(super) fn choose(
        data_dir: Option<&Path>,
        kubeconfig: Option<&Path>,
        in_memory: bool,
    ) -> anyhow::Result<(Self, Option<TempDir>)> {
        let (dir, temporary) = match data_dir {
            Some(dir) => (dir.to_owned(), None),
            None if in_memory => {
                let temporary = tempfile::Builder::new().prefix("capt-").tempdir();
                let temporary = temporary.context("cannot make a temporary directory")?;
                (temporary.path().to_owned(), Some(temporary))
            }
            None => (data_dir::default()?, None),
        };
        let dir = absolute(&dir)?;
        let kubeconfig = match kubeconfig {
            Some(path) => absolute(path)?,
            None => dir.join("kubeconfig"),
        };
        Ok((Self { dir, kubeconfig }, temporary))
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where Terraform works.
    pub(super) fn terraform(&self) -> PathBuf {
        self.dir.join("terraform")
    }

    pub(super) fn storage(&self, in_memory: bool) -> Storage {
        match in_memory {
            true => Storage::Memory,
            false => Storage::Redb(self.dir.join("objects.redb")),
        }
    }
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot tell where {} is", path.display()))
}
