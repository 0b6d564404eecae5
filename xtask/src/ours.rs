//! Our own server, `capt up`, as a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::{realkube, workspace};

/// How long the server may take to get ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which build of the server to run.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Profile {
    Debug,
    Release,
}

/// Where the server keeps its objects.
#[derive(Clone, Copy)]
pub(crate) enum Storage {
    Memory,
    Disk,
}

/// Who else is in the process of the server.
#[derive(Clone, Copy)]
pub(crate) enum Company {
    /// Nobody: it serves the API and nothing else.
    Nobody,
    /// The controllers, and a runner that simulates so many operations of Terraform at once and looks at nothing again by
    /// itself.
    Simulation { parallelism: usize },
}

/// A running server; dropping it ends the process and removes its files.
pub(crate) struct Ours {
    folder: tempfile::TempDir,
    child: Child,
    /// How long the server took from its start until it was ready.
    pub(crate) ready_after: Duration,
}

/// Builds the `capt` binary and gives its path.
pub(crate) fn build(profile: Profile) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(workspace::root())
        .args(["build", "--quiet", "--package", "capt-cli"]);
    if profile == Profile::Release {
        command.arg("--release");
    }
    let status = command.status().context("running cargo build")?;
    ensure!(status.success(), "`cargo build --package capt-cli` failed");
    Ok(binary(profile))
}

/// Where the `capt` binary is once it is built.
pub(crate) fn binary(profile: Profile) -> PathBuf {
    let folder = if profile == Profile::Release {
        "release"
    } else {
        "debug"
    };
    workspace::target().join(folder).join("capt")
}

impl Ours {
    /// Starts the server on a free port and waits until it is ready.
    pub(crate) async fn start(binary: &Path, storage: Storage, company: Company) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("capt").tempdir()?;
        let mut command = Command::new(binary);
        command
            .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(folder.path().join("data"));
        match company {
            Company::Nobody => command.arg("--api-only"),
            Company::Simulation { parallelism } => command
                .args(["--engine=simulated", "--poll-interval=0"])
                .arg(format!("--parallelism={parallelism}"))
                .env("RUST_LOG", "warn"),
        };
        command.arg("--kubeconfig").arg(folder.path().join("kubeconfig"));
        if let Storage::Memory = storage {
            command.arg("--in-memory");
        }
        let log = std::fs::File::create(folder.path().join("log"))?;
        let started = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", binary.display()))?;
        let mut ours = Self {
            folder,
            child,
            ready_after: Duration::ZERO,
        };
        ours.wait_until_ready(started + PATIENCE).await?;
        ours.ready_after = started.elapsed();
        Ok(ours)
    }

    /// The kubeconfig of an administrator.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// A scratch folder that goes away with the server.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process id, to measure it.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    async fn wait_until_ready(&mut self, deadline: Instant) -> anyhow::Result<()> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                bail!("`capt up` ended with {status}:\n{log}");
            }
            if self.answers().await {
                return Ok(());
            }
            ensure!(
                Instant::now() < deadline,
                "`capt up` was not ready in {PATIENCE:?}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn answers(&self) -> bool {
        if !self.kubeconfig().is_file() {
            return false;
        }
        let Ok(client) = realkube::client(&self.kubeconfig()).await else {
            return false;
        };
        let Ok(request) = http::Request::get("/readyz").body(Vec::new()) else {
            return false;
        };
        client.request_text(request).await.is_ok()
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
