//! `capt controller` and `capt runner` with simulated Terraform, as processes of their own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};

use crate::realkube;

/// The name that Workspaces are labelled with.
const RUNNER: &str = "bench";

/// Who makes clusters of what people write.
pub(super) enum Workers {
    /// They are in the process of the server.
    Inside,
    /// Processes of their own.
    Apart { controllers: Program, runner: Program },
}

impl Workers {
    /// Fails, with the end of its log, if one of them has ended by itself.
    pub(super) fn check_alive(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Inside => Ok(()),
            Self::Apart { controllers, runner } => {
                controllers.check_alive()?;
                runner.check_alive()
            }
        }
    }
}

/// What is started, and for which server.
pub(super) struct Place<'a> {
    pub(super) binary: &'a Path,
    pub(super) kubeconfig: &'a Path,
    /// A folder for everything that is written.
    pub(super) folder: &'a Path,
}

/// A running program; it ends with its handle.
pub(super) struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    /// The controllers.
    pub(super) fn controllers(place: &Place<'_>, concurrency: usize) -> anyhow::Result<Self> {
        let concurrency = format!("--concurrency={concurrency}");
        let arguments = ["controller", "--runner", RUNNER, &concurrency];
        Self::start(place, "controllers", &arguments)
    }

    /// The runner. It looks at nothing again by itself.
    pub(super) fn runner(place: &Place<'_>, parallelism: usize) -> anyhow::Result<Self> {
        let work = place.folder.join("runner");
        let work = format!("--work-dir={}", work.display());
        let parallelism = format!("--parallelism={parallelism}");
        let arguments = [
            "runner",
            "--name",
            RUNNER,
            "--engine=simulated",
            "--poll-interval=0",
            &work,
            &parallelism,
        ];
        Self::start(place, "runner", &arguments)
    }

    fn start(place: &Place<'_>, name: &str, arguments: &[&str]) -> anyhow::Result<Self> {
        let log = place.folder.join(format!("{name}.log"));
        let output = File::create(&log)?;
        let child = Command::new(place.binary)
            .args(arguments)
            .env("KUBECONFIG", place.kubeconfig)
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("starting capt {name}"))?;
        Ok(Self { child, log })
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Fails, with the end of its log, if it has ended by itself.
    fn check_alive(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("capt ended with {status}:\n{}", realkube::tail(&self.log)),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // What has ended already cannot be killed, and that is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
