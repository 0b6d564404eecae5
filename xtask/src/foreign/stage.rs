//! Where the rules are played: the API, and the controllers on it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use capt_core::{render::WorkspaceGroup, wta::snapshot::Runner};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::objects::{Objects, PATIENCE, condition};
use crate::provider_terraform;
use crate::realkube::{self, RealKube};
use crate::workspace;

/// A real API with capt's controllers on it.
pub(super) struct Stage {
    pub(super) objects: Objects,
    pub(super) kubeconfig: PathBuf,
    /// A folder for files.
    pub(super) folder: PathBuf,
    controllers: Mutex<Option<Controllers>>,
}

/// Controllers that run.
struct Controllers {
    stop: CancellationToken,
    task: JoinHandle<Result<(), capt_controllers::Error>>,
}

impl Stage {
    /// Installs capt's kinds and starts its controllers.
    pub(super) async fn set(kube: &RealKube) -> anyhow::Result<Self> {
        let client = realkube::client(&kube.kubeconfig()).await?;
        let mut crds: Vec<_> = std::fs::read_dir(workspace::root().join("deploy/crds"))?
            .map(|entry| Ok(entry?.path()))
            .collect::<anyhow::Result<_>>()?;
        crds.sort();
        for file in crds {
            // Workspaces have the real kinds here.
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if name.ends_with(".yaml") && !name.contains("upbound") {
                provider_terraform::install_crd(&client, &file).await?;
            }
        }
        let folder = kube.folder().join("stage");
        std::fs::create_dir_all(&folder)?;
        let stage = Self {
            objects: Objects { client },
            kubeconfig: kube.kubeconfig(),
            folder,
            controllers: Mutex::new(None),
        };
        stage.run_controllers(Runner::Foreign).await?;
        Ok(stage)
    }

    /// Starts the controllers, in place of those that run, and tells them who runs Terraform.
    pub(super) async fn run_controllers(&self, runner: Runner) -> anyhow::Result<()> {
        self.run_controllers_for(runner, None).await
    }

    /// The same, with new Workspaces of a group.
    pub(super) async fn run_controllers_for(
        &self,
        runner: Runner,
        workspace_api: Option<WorkspaceGroup>,
    ) -> anyhow::Result<()> {
        let mut running = self.controllers.lock().await;
        stop(running.take()).await?;
        let file = kube::config::Kubeconfig::read_from(&self.kubeconfig)?;
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(file, &options).await?;
        let client = kube::Client::try_from(config)?;
        let options = capt_controllers::Options {
            workspace_api,
            ..capt_controllers::Options::new(Arc::new(Timestamp::now), runner)
        };
        let stop = CancellationToken::new();
        let task = tokio::spawn(capt_controllers::run(client, options, stop.clone()));
        *running = Some(Controllers { stop, task });
        Ok(())
    }

    /// Stops the controllers. They act in every namespace, so that no others can be tried on this API beside them.
    pub(super) async fn stop_controllers(&self) -> anyhow::Result<()> {
        stop(self.controllers.lock().await.take()).await
    }

    /// Why the controllers ended, if they did.
    pub(super) async fn ended(&self) -> Option<String> {
        let mut running = self.controllers.lock().await;
        if !running.as_ref()?.task.is_finished() {
            return None;
        }
        Some(match running.take()?.task.await {
            Ok(Ok(())) => "without a reason".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        })
    }
}

async fn stop(controllers: Option<Controllers>) -> anyhow::Result<()> {
    if let Some(Controllers { stop, task }) = controllers {
        stop.cancel();
        task.await??;
    }
    Ok(())
}

/// Waits until something outside the API is true.
pub(super) async fn until_true(what: &str, is_so: impl Fn() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_so()? {
        if tokio::time::Instant::now() >= deadline {
            bail!("after {PATIENCE:?} it is still not so that {what}");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Whether a condition has this status and reason, written as `False/NoDurableState`.
pub(super) fn says(object: &Value, type_: &str, what: &str) -> bool {
    condition(object, type_).is_some_and(|condition| {
        let text = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text("status"), text("reason")) == what
    })
}
