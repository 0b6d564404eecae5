//! Our own runner, `capt runner`, as a process of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::ours::{self, Profile};
use crate::realkube;

/// The name that Workspaces are labelled with for it.
pub(crate) const NAME: &str = "capt";
/// How long it may take to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// How it is started.
pub(crate) struct Options<'a> {
    pub(crate) kubeconfig: &'a Path,
    /// A folder for everything that it writes.
    pub(crate) folder: &'a Path,
    /// A folder that modules may write to, which is made.
    pub(crate) ledgers: &'a Path,
    /// The terraform or tofu that it runs.
    pub(crate) engine: &'a Path,
    pub(crate) parallelism: usize,
    pub(crate) poll_interval: Duration,
    pub(crate) profile: Profile,
}

/// A running `capt runner`.
pub(crate) struct Runner {
    child: Child,
    log: PathBuf,
}

impl Runner {
    /// Builds it and starts it.
    pub(crate) fn start(options: &Options<'_>) -> anyhow::Result<Self> {
        let binary = ours::build(options.profile)?;
        std::fs::create_dir_all(options.folder)?;
        std::fs::create_dir_all(options.ledgers)?;
        let log = options.folder.join("log");
        let output = File::create(&log)?;
        let child = Command::new(binary)
            .args(["runner", "--name", NAME])
            .arg("--work-dir")
            .arg(options.folder.join("work"))
            .arg("--sandbox-allow")
            .arg(options.ledgers)
            .arg("--engine-path")
            .arg(options.engine)
            .arg(format!("--parallelism={}", options.parallelism))
            .arg(format!("--poll-interval={}s", options.poll_interval.as_secs()))
            .env("KUBECONFIG", options.kubeconfig)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("starting capt runner")?;
        Ok(Self { child, log })
    }

    /// Where it writes what it does.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::TERM)?;
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                ensure!(
                    status.success(),
                    "capt runner ended with {status}:\n{}",
                    realkube::tail(&self.log)
                );
                return Ok(());
            }
            ensure!(
                Instant::now() < deadline,
                "capt runner did not stop in {PATIENCE:?}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // What has ended already cannot be killed, and that is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
