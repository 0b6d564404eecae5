//! Providers that Workspaces share: a filesystem mirror that only the runner writes.
//!
//! | path | what |
//! |---|---|
//! | `mirror/` | the packages, as the engine expects them in an unpacked mirror; runs read it |
//! | `records/` | their checksums, and when they were last used |
//! | `filling/` | folders in which packages are installed, one for each provider |
//!
//! A run gets a package only if its lock file names it, or if it has no lock for the provider yet. Whatever cannot be had in
//! this way is left to the engine, which installs it for that run alone and tells what is wrong with it.

mod address;
mod fill;
mod links;
mod lockfile;
mod package;
mod records;
mod requirements;
mod settings;
mod turns;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use futures::future::try_join_all;
use parking_lot::Mutex;

use crate::{
    engine::{Failure, FailureKind},
    folder::{EntryKind, Folder},
    sandbox::{Reach, resolve},
};

use super::{
    command::Runs,
    failure,
    workdir::{WorkDir, make_folder},
};

pub(super) use address::{ProviderAddress, is_built_in};
pub(super) use lockfile::{LOCK_FILE, LockFile};
pub(super) use records::Folders;
pub(super) use requirements::{Requirements, Site, as_text, of_module};
pub(super) use settings::without_cache;

use lockfile::LockedProvider;
use settings::Settings;
use turns::Turns;

/// How long a version that was chosen counts as the newest.
const NEWEST_FOR: Duration = Duration::from_secs(5 * 60);
/// How long the runner waits before it tries another time to get what could not be had.
const MISSED_FOR: Duration = Duration::from_secs(30);

/// Folders in which an engine looks for providers if no configuration says where they come from.
const IMPLIED: [&str; 4] = [
    "/usr/local/share/terraform/plugins",
    "/usr/share/terraform/plugins",
    "/usr/local/share/opentofu/plugins",
    "/usr/share/opentofu/plugins",
];
/// The same inside of a module.
const IMPLIED_IN_MODULE: [&str; 2] = ["terraform.d", "terraform.d/plugins"];

/// Providers that Workspaces share. Cloning shares it.
#[derive(Clone, Debug)]
pub(super) struct Mirror {
    folders: Folders,
    operator: Arc<Operator>,
    turns: Turns<ProviderAddress>,
    answers: Arc<Mutex<BTreeMap<(ProviderAddress, Version), Answer>>>,
}

/// What the operator says of everything that runs.
#[derive(Clone, Debug)]
pub(super) struct Operator {
    /// The configuration of the command line.
    pub(super) cli_config: Option<PathBuf>,
    /// The environment.
    pub(super) inherited: Vec<(String, String)>,
    /// What all runs read beside the mirror and their own folders. None if they are not confined.
    pub(super) confined: Option<Vec<PathBuf>>,
    /// Where the working folders are.
    pub(super) root: PathBuf,
}

/// A provider that a run needs.
#[derive(Clone, Debug)]
struct Ask {
    provider: ProviderAddress,
    version: Version,
    /// What is locked of it.
    locked: Option<LockedProvider>,
    /// The configuration asks for it. Others may be needed for what exists.
    is_needed: bool,
}

/// Which version of a provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    /// The one that was chosen before.
    Locked(String),
    /// The newest one with these constraints.
    Asked(BTreeSet<String>),
}

/// What came of an attempt to get a provider.
#[derive(Clone, Debug)]
struct Answer {
    /// None if it could not be had.
    version: Option<String>,
    at: Instant,
}

/// What a run takes from the mirror.
pub(super) struct Provided {
    /// The providers, and the packages that are there of them.
    pub(super) lock: LockFile,
    /// The configuration of the command line with which the engine takes them from there.
    pub(super) settings: String,
}

impl Mirror {
    pub(super) fn new(base: PathBuf, operator: Operator) -> Self {
        Self {
            // Links to packages are compared with it.
            folders: Folders::new(resolve(&base).unwrap_or(base)),
            operator: Arc::new(operator),
            turns: Turns::default(),
            answers: Arc::default(),
        }
    }

    /// What every confined run reads beside its own folders, with the packages. None if runs are not confined.
    pub(super) fn readable(&self) -> Option<Vec<PathBuf>> {
        let mut read = self.operator.confined.clone()?;
        read.push(self.folders.packages());
        Some(read)
    }

    /// The folders that providers come from by a configuration of the operator's.
    pub(super) fn origins_in(&self, settings: &str) -> Vec<PathBuf> {
        Settings::parse(settings).map_or_else(Vec::new, |settings| self.origins(&settings))
    }

    /// The folders that the operator has providers in, unless a run would get working folders of others with them.
    fn origins(&self, settings: &Settings) -> Vec<PathBuf> {
        let root = resolve(&self.operator.root).unwrap_or_else(|| self.operator.root.clone());
        let base = self.folders.base();
        let origins = settings.folders().filter_map(|path| path.canonicalize().ok());
        origins
            .filter(|path| {
                let overlaps = |other: &Path| path.starts_with(other) || other.starts_with(path);
                !overlaps(&root) && !overlaps(base)
            })
            .collect()
    }

    /// What may be used by what fills the mirror: nothing of a Workspace. None if it is not confined.
    fn reach(&self, settings: &Settings, folder: &WorkDir) -> Option<Reach> {
        let mut read = self.readable()?;
        read.extend(self.origins(settings));
        read.retain(|path| path.is_absolute());
        Some(Reach {
            read,
            write: folder.of_runs().collect(),
        })
    }

    pub(super) fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Sees to it that the providers of a module are in the mirror. None if nothing of it can be taken from there.
    pub(super) async fn provide(
        &self,
        runs: &Runs,
        requirements: &Requirements,
        lock: &LockFile,
    ) -> Result<Option<Provided>, Failure> {
        let (this, folder, run_in) = (self.clone(), runs.folder.files.clone(), runs.run_in.clone());
        let Some(settings) = off_thread(move || this.settings(&folder, &run_in)).await else {
            return Ok(None);
        };
        let asks = asks(requirements, lock).into_iter();
        let provided = asks.map(|ask| self.provide_one(runs, &settings, ask));
        let provided: BTreeMap<_, _> = try_join_all(provided).await?.into_iter().flatten().collect();
        if provided.is_empty() {
            return Ok(None);
        }
        let settings = settings.for_run(&self.folders.packages(), provided.keys());
        let lock = LockFile(provided);
        Ok(Some(Provided { lock, settings }))
    }

    /// The operator's configuration, unless it or the module says that providers come from where the mirror would hide them.
    fn settings(&self, folder: &Folder, run_in: &Path) -> Option<Settings> {
        let made = make_folder(&self.folders.packages());
        let settings = made.and_then(|()| self.operator_settings());
        let settings = settings.inspect_err(|error| {
            tracing::warn!(%error, "the provider mirror cannot be used");
        });
        let settings = settings.ok()?;
        if settings.is_none() {
            tracing::warn!(
                "the provider mirror is not used, because the CLI configuration cannot be read as HCL"
            );
        }
        let has_own = || IMPLIED.iter().any(|path| Path::new(path).is_dir()) || has_plugins(folder, run_in);
        settings.filter(|settings| !(settings.is_implied() && has_own()))
    }

    fn operator_settings(&self) -> io::Result<Option<Settings>> {
        let path = self.operator.cli_config.as_ref();
        let text = path.map(std::fs::read_to_string).transpose()?;
        Ok(Settings::parse(&text.unwrap_or_default()))
    }

    /// The lock of a package that is in the mirror.
    async fn provide_one(
        &self,
        runs: &Runs,
        settings: &Settings,
        ask: Ask,
    ) -> Result<Option<(ProviderAddress, LockedProvider)>, Failure> {
        if let Known::Yes(locked) = self.known(&ask).await {
            return Ok(locked.map(|locked| (ask.provider, locked)));
        }
        if !ask.is_needed {
            return Ok(None);
        }
        let _turn = tokio::select! {
            turn = self.turns.take(&ask.provider) => turn,
            () = runs.cancel.cancelled() => return Err(failure::cancelled()),
        };
        // Another run may have waited for the same.
        if let Known::Yes(locked) = self.known(&ask).await {
            return Ok(locked.map(|locked| (ask.provider, locked)));
        }
        let version = match fill::fill(self, runs, settings, &ask).await {
            Ok(version) => Some(version),
            Err(failure) if failure.kind == FailureKind::Cancelled => return Err(failure),
            Err(failure) => {
                let (provider, reason) = (&ask.provider, &failure.message);
                tracing::info!(%provider, reason, "a provider did not get into the mirror");
                None
            }
        };
        self.answer(&ask, version);
        match self.known(&ask).await {
            Known::Yes(locked) => Ok(locked.map(|locked| (ask.provider, locked))),
            Known::No => Ok(None),
        }
    }

    async fn known(&self, ask: &Ask) -> Known {
        let (this, ask) = (self.clone(), ask.clone());
        off_thread(move || {
            this.known_now(&ask).unwrap_or_else(|error| {
                tracing::warn!(%error, provider = %ask.provider, "the provider mirror cannot be read");
                Known::Yes(None)
            })
        })
        .await
    }

    fn known_now(&self, ask: &Ask) -> io::Result<Known> {
        let key = (ask.provider.clone(), ask.version.clone());
        let answer = self
            .answers
            .lock()
            .get(&key)
            .filter(|answer| answer.counts())
            .cloned();
        let is_missed = answer.as_ref().is_some_and(|answer| answer.version.is_none());
        let version = match &ask.version {
            Version::Locked(version) => Some(version.clone()),
            Version::Asked(_) => answer.and_then(|answer| answer.version),
        };
        let Some(version) = version else {
            return Ok(if is_missed { Known::Yes(None) } else { Known::No });
        };
        let held = self.folders.held(&ask.provider, &version)?;
        Ok(match held {
            None if is_missed => Known::Yes(None),
            None => Known::No,
            Some(record) => {
                self.folders.touch(&ask.provider, &version, SystemTime::now());
                let locked = ask.locked.as_ref();
                let is_named = locked.is_none_or(|locked| record.is_named_by(locked));
                Known::Yes(is_named.then(|| record.lock(&version, locked)))
            }
        })
    }

    fn answer(&self, ask: &Ask, version: Option<String>) {
        let mut answers = self.answers.lock();
        answers.retain(|_, answer| answer.counts());
        let answer = Answer {
            version,
            at: Instant::now(),
        };
        answers.insert((ask.provider.clone(), ask.version.clone()), answer);
    }
}

/// Whether it is known what a run can take from the mirror.
#[derive(Default)]
enum Known {
    Yes(Option<LockedProvider>),
    #[default]
    No,
}

impl Answer {
    fn counts(&self) -> bool {
        let lasts = match self.version {
            Some(_) => NEWEST_FOR,
            None => MISSED_FOR,
        };
        self.at.elapsed() < lasts
    }
}

/// What is needed by the configuration, or may be needed for what exists.
fn asks(requirements: &Requirements, lock: &LockFile) -> Vec<Ask> {
    let needed = requirements.iter().map(|(provider, constraints)| {
        let locked = lock.0.get(provider).cloned();
        Ask {
            provider: provider.clone(),
            version: match &locked {
                Some(locked) => Version::Locked(locked.version.clone()),
                None => Version::Asked(constraints.clone()),
            },
            locked,
            is_needed: true,
        }
    });
    let others = lock
        .0
        .iter()
        .filter(|(provider, _)| !requirements.contains_key(provider));
    let others = others.map(|(provider, locked)| Ask {
        provider: provider.clone(),
        version: Version::Locked(locked.version.clone()),
        locked: Some(locked.clone()),
        is_needed: false,
    });
    needed.chain(others).collect()
}

/// Does something that blocks where it keeps nothing else from working.
async fn off_thread<T: Default + Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap_or_default()
}

/// Whether a module may have providers in its own folder. Where a link leads to is for the engine to find out.
fn has_plugins(folder: &Folder, run_in: &Path) -> bool {
    let [above, plugins] = IMPLIED_IN_MODULE.map(|inside| folder.kind(run_in.join(inside)));
    !matches!(plugins, Ok(None)) || !matches!(above, Ok(None | Some(EntryKind::Folder)))
}

/// Looks at what is installed for a run.
pub(super) fn is_installed(folder: &Folder, folders: &Folders) -> io::Result<bool> {
    links::check(folder, folders, SystemTime::now())
}
