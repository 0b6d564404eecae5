//! Writes the data files that the repository keeps but nobody edits.
//!
//! Each target fetches or computes its sources and hands back file contents; only this module touches the
//! repository, so that `--check` can compare instead of write.

mod crds;
mod examples;
mod go_tags;
mod modules;
mod openapi;
mod protobuf;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::workspace;

/// What can be generated.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Codegen {
    /// The built-in kinds' schemas and protobuf messages (crates/semantics/data). Needs Go, to fetch modules.
    Builtin {
        /// Write nothing; fail if the files in the repository differ.
        #[arg(long)]
        check: bool,
    },
    /// The CRDs of capt's kinds (deploy/crds).
    Crds {
        /// Write nothing; fail if the files in the repository differ.
        #[arg(long)]
        check: bool,
    },
    /// The Terraform modules in the examples, copied from terraform/.
    Examples {
        /// Write nothing; fail if the files in the repository differ.
        #[arg(long)]
        check: bool,
    },
}

/// File contents by path within the repository.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Runs one generator.
pub(crate) fn run(what: &Codegen) -> Result<()> {
    match what {
        Codegen::Builtin { check } => {
            let sources = modules::KubernetesModules::download()?;
            let data = Path::new("crates/semantics/data");
            let mut files = openapi::files(&sources, &data.join("openapi"))?;
            files.insert(data.join("protobuf.txt"), protobuf::table(&sources)?.into_bytes());
            if *check {
                compare(&files, "builtin")
            } else {
                write(&files)
            }
        }
        Codegen::Examples { check } => {
            let files = examples::files()?;
            if *check {
                compare(&files, "examples")
            } else {
                write(&files)
            }
        }
        Codegen::Crds { check } => {
            let files = crds::files()?;
            if *check {
                compare(&files, "crds")
            } else {
                write(&files)
            }
        }
    }
}

fn write(files: &Files) -> Result<()> {
    for (path, content) in files {
        let target = workspace::root().join(path);
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        std::fs::write(&target, content).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{:>8} bytes  {}", content.len(), path.display());
    }
    Ok(())
}

fn compare(files: &Files, target: &str) -> Result<()> {
    let stale: Vec<String> = files
        .iter()
        .filter(|(path, content)| std::fs::read(workspace::root().join(path)).ok().as_ref() != Some(content))
        .map(|(path, _)| path.display().to_string())
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    bail!("stale: {}; run `cargo xtask codegen {target}`", stale.join(", "))
}
