//! How far runs of Terraform are confined on this machine.
//!
//! A module is a program: its provisioners and providers do whatever its author likes, with the rights of the runner. Linux
//! confines each run with Landlock to the programs of the system and to its own files. What a kernel cannot confine is
//! reported and never passed over in silence.

mod kernel;
mod modules;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    str::FromStr,
};

pub use kernel::hide_memory;
pub(crate) use kernel::restrict_thread;
pub use modules::LocalModules;
pub(crate) use modules::resolve;

/// The version of Landlock that confines files: since version 2 they can be moved between folders, since version 3 the
/// files of others cannot be emptied.
pub const LEAST_ABI: u32 = 3;

/// What a version of Landlock begins to restrict.
const SINCE: [(u32, &str); 3] = [
    (LEAST_ABI, "truncating files"),
    (6, "signals and abstract Unix sockets"),
    (9, "Unix sockets in the file system"),
];

/// Whether runs have to be confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// Nothing runs where the kernel cannot confine it.
    Required,
    /// As far as the kernel can.
    #[default]
    Auto,
    /// Not at all.
    Off,
}

impl SandboxMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Required, Self::Auto, Self::Off];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Auto => "auto",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for SandboxMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SandboxMode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == word);
        found.ok_or_else(|| "it is none of required, auto, off".to_owned())
    }
}

/// How far runs are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxStatus {
    /// Not at all, by option.
    Disabled,
    /// The kernel has no Landlock, or a version that leaves other files open. What it can restrict is restricted.
    Unsupported {
        /// The version of Landlock; 0 for none.
        abi: u32,
    },
    /// To their own files.
    Confined {
        /// The version of Landlock.
        abi: u32,
    },
}

impl SandboxStatus {
    /// What becomes of a mode on a kernel with this version of Landlock.
    ///
    /// # Errors
    /// If the kernel cannot do what is required.
    pub fn decide(mode: SandboxMode, abi: u32) -> Result<Self, SandboxError> {
        match mode {
            SandboxMode::Off => Ok(Self::Disabled),
            _ if abi >= LEAST_ABI => Ok(Self::Confined { abi }),
            SandboxMode::Auto => Ok(Self::Unsupported { abi }),
            SandboxMode::Required => Err(SandboxError::Unsupported { abi }),
        }
    }

    /// Whether there is anything that restricts runs.
    pub(crate) fn restricts(self) -> bool {
        match self {
            Self::Disabled | Self::Unsupported { abi: 0 } => false,
            Self::Unsupported { .. } | Self::Confined { .. } => true,
        }
    }
}

impl fmt::Display for SandboxStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Disabled => f.write_str(
                "Runs of Terraform read and write whatever the runner can: the sandbox is off (--sandbox off)",
            ),
            Self::Unsupported { abi: 0 } => f.write_str(
                "Runs of Terraform read and write whatever the runner can: the kernel has no Landlock. Run on Linux 6.2 or \
                 newer with Landlock enabled",
            ),
            Self::Unsupported { abi } => write!(
                f,
                "Landlock ABI {abi} confines runs of Terraform only in part; not restricted: {}. Run on Linux 6.2 or newer",
                unrestricted(abi)
            ),
            Self::Confined { abi } => write!(
                f,
                "Landlock ABI {abi} confines runs of Terraform to their own files; not restricted: {}",
                unrestricted(abi)
            ),
        }
    }
}

/// What this version of Landlock leaves open.
fn unrestricted(abi: u32) -> String {
    let missing = SINCE.iter().filter(|(since, _)| abi < *since);
    let mut all: Vec<&str> = missing.map(|(_, what)| *what).collect();
    all.push("the network");
    all.join(", ")
}

/// Why there is no sandbox as it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel cannot confine runs.
    #[error(
        "--sandbox required needs Landlock ABI {LEAST_ABI}, and the kernel has {}; run on Linux 6.2 or newer with Landlock \
         enabled, or choose --sandbox auto",
        match abi { 0 => "no Landlock".to_owned(), abi => format!("ABI {abi}") }
    )]
    Unsupported {
        /// The version of Landlock that it has; 0 for none.
        abi: u32,
    },
    /// A path cannot be allowed.
    #[error("--sandbox-allow {} cannot be used", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: io::Error,
    },
    /// A path would let a run at the files of others.
    #[error(
        "--sandbox-allow {} would give every run the working folders of all others in {}; name a folder beside it",
        path.display(),
        root.display()
    )]
    WorkingFolder {
        /// The path.
        path: PathBuf,
        /// Where the working folders are.
        root: PathBuf,
    },
}

/// How runs are confined, and what all of them may read and write.
#[derive(Clone, Debug)]
pub struct Sandbox {
    status: SandboxStatus,
    allowed: Vec<PathBuf>,
}

impl Sandbox {
    /// None.
    #[must_use]
    pub fn disabled() -> Self {
        Self {
            status: SandboxStatus::Disabled,
            allowed: Vec::new(),
        }
    }

    /// That of this mode on this machine, with paths that runs may read and write. Working folders are in `root`.
    ///
    /// # Errors
    /// If the kernel cannot do what is required, or if a path is not there or gives away the working folders.
    pub fn new(mode: SandboxMode, allowed: &[PathBuf], root: &Path) -> Result<Self, SandboxError> {
        let abi = if mode == SandboxMode::Off {
            0
        } else {
            kernel::abi()
        };
        Ok(Self {
            status: SandboxStatus::decide(mode, abi)?,
            allowed: resolve_all(allowed, root)?,
        })
    }

    /// How far runs are confined.
    #[must_use]
    pub fn status(&self) -> SandboxStatus {
        self.status
    }

    /// The paths that all runs may read and write.
    pub(crate) fn allowed(&self) -> &[PathBuf] {
        &self.allowed
    }

    /// Where modules may come from on this machine.
    #[must_use]
    pub fn local_modules(&self) -> LocalModules {
        match self.status {
            SandboxStatus::Disabled => LocalModules::Any,
            _ => LocalModules::Below(self.allowed.clone()),
        }
    }
}

fn resolve_all(allowed: &[PathBuf], root: &Path) -> Result<Vec<PathBuf>, SandboxError> {
    // The folder may not be there yet.
    let root = modules::resolve(root).unwrap_or_else(|| root.to_owned());
    let resolve = |path: &PathBuf| {
        let resolved = path.canonicalize().map_err(|source| SandboxError::Path {
            path: path.clone(),
            source,
        })?;
        match resolved.starts_with(&root) || root.starts_with(&resolved) {
            true => Err(SandboxError::WorkingFolder {
                path: path.clone(),
                root: root.clone(),
            }),
            false => Ok(resolved),
        }
    };
    let all = allowed.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
    // One inside another would be reached through a folder that runs write to, and they could put a link in its place.
    let is_inside_another = |path: &PathBuf| all.iter().any(|other| other != path && path.starts_with(other));
    Ok(all
        .iter()
        .filter(|path| !is_inside_another(path))
        .cloned()
        .collect())
}

/// What a confined program may use beside the programs of the system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// What it may read and execute. What is not there is left out.
    pub(crate) read: Vec<PathBuf>,
    /// What it may also write. What is not there is left out.
    pub(crate) write: Vec<PathBuf>,
}

#[cfg(test)]
mod tests;
