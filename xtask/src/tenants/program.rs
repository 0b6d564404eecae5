//! `capt controller` and `capt runner` as processes.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::e2e::account;
use crate::ours::{self, Profile};
use crate::realkube;

/// How long a process may take to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a process is started.
pub(super) struct Start<'a> {
    /// What its log is called.
    pub(super) name: String,
    /// As whom it reaches the API.
    pub(super) kubeconfig: &'a Path,
    /// Its home, and where its log is.
    pub(super) folder: &'a Path,
    pub(super) arguments: Vec<String>,
    /// All of its environment, beside what finds programs, its home and the API.
    pub(super) environment: Vec<(String, String)>,
    /// What the API server may refuse, in its words.
    pub(super) expected: &'static [&'static str],
}

/// A running `capt`.
pub(super) struct Program {
    name: String,
    child: Child,
    log: PathBuf,
    expected: &'static [&'static str],
}

impl Program {
    /// Starts one. It inherits nothing of the environment that might be an identity.
    pub(super) fn start(start: Start<'_>) -> anyhow::Result<Self> {
        let log = start.folder.join(format!("{}.log", start.name));
        let output = OpenOptions::new().create(true).append(true).open(&log)?;
        let child = Command::new(ours::binary(Profile::Debug))
            .args(&start.arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", start.folder)
            .env("KUBECONFIG", start.kubeconfig)
            .envs(start.environment)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("starting {}", start.name))?;
        Ok(Self {
            name: start.name,
            child,
            log,
            expected: start.expected,
        })
    }

    /// Fails if it has ended by itself, or was refused what it asked the API for and needs.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            None => account::check_rights(&self.log, self.expected),
            Some(status) => bail!(
                "{} ended with {status}:\n{}",
                self.name,
                realkube::tail(&self.log)
            ),
        }
    }

    /// Asks it to stop, and waits until it has.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::TERM)?;
        }
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait()?.is_none() {
            ensure!(
                Instant::now() < deadline,
                "{} did not stop in {PATIENCE:?}",
                self.name
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A process that has ended already cannot be killed, and that is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
