//! capt's controllers, `capt controller`, as a process of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};

use super::account;
use super::side::Terraform;
use crate::foreign::runner;
use crate::ours::{self, Profile};
use crate::realkube;

/// A running `capt controller`.
pub(super) struct Controllers {
    child: Child,
    log: PathBuf,
}

impl Controllers {
    /// Builds it and starts it.
    pub(super) fn start(kubeconfig: &Path, folder: &Path, terraform: Terraform) -> anyhow::Result<Self> {
        let log = folder.join("controllers.log");
        let output = File::create(&log)?;
        let mut command = Command::new(ours::build(Profile::Debug)?);
        command.arg("controller");
        if terraform == Terraform::Ours {
            command.args(["--runner", runner::NAME]);
        }
        let child = command
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("starting capt controller")?;
        Ok(Self { child, log })
    }

    /// Fails, with the end of its log, if it has ended by itself or wanted what it has no right to.
    pub(super) fn check_alive(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            None => account::check_rights(&self.log, &[]),
            Some(status) => bail!(
                "capt controller ended with {status}:\n{}",
                realkube::tail(&self.log)
            ),
        }
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        // What has ended already cannot be killed, and that is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
