//! Terraform as processes on this machine.
//!
//! Everything that a run needs is in one folder per Workspace, its environment begins empty, and it belongs to a
//! [`supervise`]d process group that ends with the runner. What a crash leaves in that folder is found when the next
//! session is opened. A poll of a Workspace in which nothing changed is one process of Terraform.
//!
//! This module must never know Kubernetes: it is given bytes and gives bytes back.

mod args;
mod aws_identity;
mod backend;
mod blame;
mod command;
mod detect;
mod diary;
mod digest;
mod environment;
mod failure;
mod init;
mod inspect;
mod install;
mod listen;
mod mirror;
mod open;
mod place;
mod prepare;
mod recover;
mod remains;
mod session;
mod source;
pub mod supervise;
mod tail;
mod variables;
mod workdir;

use std::{
    collections::HashSet,
    env, io,
    path::{Path, PathBuf},
    time::Duration,
};

use futures::future::BoxFuture;
use tokio::time::{Instant, sleep};

use crate::{
    engine::{About, Engine, Failure, Inputs, Link, Opened, Remains, StateFile},
    sandbox::{Reach, Sandbox, SandboxStatus},
};

pub use command::Supervisor;
pub use detect::{DetectError, OLDEST, find_program};
pub use environment::INHERITED;

use aws_identity::AwsIdentity;
use mirror::{Mirror, Operator};
use recover::StateFiles;
use workdir::WorkDir;

/// How Terraform is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder for everything that is kept on disk.
    pub root: PathBuf,
    /// How long Terraform may take to stop when it is asked to.
    pub grace: Duration,
    /// How supervisors are started.
    pub supervisor: Supervisor,
    /// Names of environment variables that runs take over from the runner.
    pub inherit: Vec<String>,
    /// Where providers are kept that Workspaces share; in `root`, if it is none. Runners on one machine may share it.
    pub plugin_cache: Option<PathBuf>,
    /// The settings of Terraform's command line, such as mirrors, for Workspaces that have none of their own.
    pub cli_config: Option<PathBuf>,
    /// How runs are confined.
    pub sandbox: Sandbox,
}

impl Options {
    /// What suits most, for a program that has [`supervise::main`] as a hidden command `supervise`.
    ///
    /// # Errors
    /// If this program does not know where it is.
    pub fn new(root: impl Into<PathBuf>) -> io::Result<Self> {
        // On Linux this is the program that runs, even if another version of it was installed meanwhile.
        let itself = PathBuf::from("/proc/self/exe");
        let program = if itself.exists() {
            itself
        } else {
            env::current_exe()?
        };
        Ok(Self {
            root: root.into(),
            grace: Duration::from_secs(60),
            supervisor: Supervisor {
                program,
                args: vec!["supervise".into()],
            },
            inherit: INHERITED.iter().map(|name| (*name).to_owned()).collect(),
            plugin_cache: None,
            cli_config: None,
            sandbox: Sandbox::disabled(),
        })
    }
}

/// Runs Terraform, or OpenTofu, as processes on this machine.
#[derive(Debug)]
pub struct TerraformEngine {
    about: About,
    program: PathBuf,
    root: PathBuf,
    grace: Duration,
    supervisor: Supervisor,
    inherited: Vec<(String, String)>,
    mirror: Mirror,
    cli_config: Option<PathBuf>,
    sandbox: Sandbox,
}

impl TerraformEngine {
    /// The engine that this program is: a path, or a name to be looked up.
    ///
    /// # Errors
    /// If it is none, or too old.
    pub async fn detect(program: impl AsRef<Path>, options: Options) -> Result<Self, DetectError> {
        let (program, about) = detect::detect(program.as_ref()).await?;
        // Terraform runs elsewhere, so a path from here would mean something else there.
        let root = absolute(options.root);
        let mirror = options
            .plugin_cache
            .map_or_else(|| root.join("plugin-cache"), absolute);
        let cli_config = options.cli_config.map(absolute);
        let inherited: Vec<_> = options
            .inherit
            .into_iter()
            .filter_map(|name| env::var(&name).ok().map(|value| (name, value)))
            .collect();
        let confined = options.sandbox.status().restricts().then(|| {
            let trusted = inherited
                .iter()
                .filter(|(name, _): &&(String, String)| environment::NAMES_TRUSTED.contains(&name.as_str()))
                .flat_map(|(_, paths)| env::split_paths(paths));
            [program.clone()].into_iter().chain(trusted).collect()
        });
        let operator = Operator {
            cli_config: cli_config.clone(),
            inherited: inherited.clone(),
            confined,
            root: root.clone(),
        };
        Ok(Self {
            about,
            program,
            mirror: Mirror::new(mirror, operator),
            cli_config,
            root,
            grace: options.grace,
            supervisor: options.supervisor,
            inherited,
            sandbox: options.sandbox,
        })
    }

    /// What runs of a Workspace may use. None, if they are not confined.
    fn reach(&self, folder: &WorkDir, identity: &AwsIdentity) -> Option<Reach> {
        let mut read = self.mirror.readable()?;
        read.extend(identity.read.iter().cloned());
        // A variable may name a path that depends on where a process runs.
        read.retain(|path| path.is_absolute());
        Some(Reach {
            read,
            write: folder
                .of_runs()
                .chain(self.sandbox.allowed().iter().cloned())
                .collect(),
        })
    }

    /// What a session that was dropped started may still be ending.
    async fn until_idle(&self, folder: &WorkDir) {
        let until = Instant::now() + 2 * self.grace;
        while matches!(folder.try_run_lock(), Ok(None)) && Instant::now() < until {
            sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Engine for TerraformEngine {
    fn about(&self) -> About {
        self.about.clone()
    }

    fn sandbox(&self) -> Option<SandboxStatus> {
        Some(self.sandbox.status())
    }

    fn open(&self, inputs: Inputs, link: Link) -> BoxFuture<'_, Result<Opened, Failure>> {
        Box::pin(open::open(self, inputs, link))
    }

    fn left_behind(&self, uid: &str, workspace: &str) -> BoxFuture<'_, io::Result<Vec<StateFile>>> {
        let folder = WorkDir::of(&self.root, uid).filter(|_| workdir::is_uid(workspace));
        let workspace = workspace.to_owned();
        Box::pin(async move {
            let Some(folder) = folder else {
                return Ok(Vec::new());
            };
            self.until_idle(&folder).await;
            let reading = tokio::task::spawn_blocking(move || {
                let run_in = folder.kept().run_in;
                StateFiles::of(&folder, &workspace, &run_in).left_behind()
            });
            reading.await.unwrap_or_else(|error| Err(io::Error::other(error)))
        })
    }

    fn forget(&self, uid: &str) -> BoxFuture<'_, ()> {
        let folder = WorkDir::of(&self.root, uid);
        Box::pin(async move {
            let Some(folder) = folder else {
                return;
            };
            self.until_idle(&folder).await;
            let removing = tokio::task::spawn_blocking(move || folder.remove());
            if let Ok(Err(error)) = removing.await {
                tracing::warn!(%error, "cannot remove the folder of a Workspace that is gone");
            }
        })
    }

    fn remains(&self, living: &HashSet<String>) -> BoxFuture<'_, io::Result<Vec<Remains>>> {
        let (root, living) = (self.root.clone(), living.clone());
        Box::pin(async move {
            let reading = tokio::task::spawn_blocking(move || remains::remains(&root, &living));
            reading.await.unwrap_or_else(|error| Err(io::Error::other(error)))
        })
    }

    fn forget_idle(&self, uid: &str) -> BoxFuture<'_, bool> {
        let folder = WorkDir::of(&self.root, uid);
        Box::pin(async move {
            let Some(folder) = folder else {
                return false;
            };
            let removing = tokio::task::spawn_blocking(move || remains::remove_idle(&folder));
            removing.await.unwrap_or(false)
        })
    }
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}
