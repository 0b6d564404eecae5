//! Where the rules are played: the API, the controllers, and waiting for what should happen.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use capt_core::wta::snapshot::Runner;
use futures::StreamExt as _;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::runtime::watcher;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::provider_terraform;
use crate::realkube::{self, RealKube};
use crate::workspace;

/// How long anything may take. Terraform is slow when several of them share two processors.
const PATIENCE: Duration = Duration::from_secs(120);

/// A kind of object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
}

const fn kind(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind {
        group,
        version,
        kind,
        plural,
    }
}

const CAPT: &str = "infrastructure.cluster.x-k8s.io";
pub(super) const TEMPLATE: Kind = kind(CAPT, "v1beta1", "WorkspaceTemplate", "workspacetemplates");
pub(super) const APPLY: Kind = kind(
    CAPT,
    "v1beta1",
    "WorkspaceTemplateApply",
    "workspacetemplateapplies",
);
pub(super) const CLUSTER: Kind = kind(CAPT, "v1beta1", "CAPTCluster", "captclusters");
pub(super) const WORKSPACE: Kind = kind("tf.m.upbound.io", "v1beta1", "Workspace", "workspaces");
pub(super) const CLUSTER_WORKSPACE: Kind = kind("tf.upbound.io", "v1beta1", "Workspace", "workspaces");
pub(super) const CONFIG: Kind = kind("tf.m.upbound.io", "v1beta1", "ProviderConfig", "providerconfigs");
pub(super) const SECRET: Kind = kind("", "v1", "Secret", "secrets");
pub(super) const NAMESPACE: Kind = kind("", "v1", "Namespace", "namespaces");
pub(super) const CONFIG_MAP: Kind = kind("", "v1", "ConfigMap", "configmaps");
pub(super) const USAGE: Kind = kind(
    "tf.m.upbound.io",
    "v1beta1",
    "ProviderConfigUsage",
    "providerconfigusages",
);
pub(super) const CLUSTER_USAGE: Kind = kind(
    "tf.upbound.io",
    "v1beta1",
    "ProviderConfigUsage",
    "providerconfigusages",
);
pub(super) const LEASE: Kind = kind("coordination.k8s.io", "v1", "Lease", "leases");

impl Kind {
    fn resource(self) -> ApiResource {
        let Self { group, version, .. } = self;
        ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: self.api_version(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }

    /// Group and version.
    pub(super) fn api_version(self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Its name in `kind`.
    pub(super) fn name(self) -> &'static str {
        self.kind
    }
}

/// A real API with capt's controllers on it.
pub(super) struct Stage {
    pub(super) client: kube::Client,
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
            client,
            kubeconfig: kube.kubeconfig(),
            folder,
            controllers: Mutex::new(None),
        };
        stage.run_controllers(Runner::Foreign).await?;
        Ok(stage)
    }

    /// Starts the controllers, in place of those that run, and tells them who runs Terraform.
    pub(super) async fn run_controllers(&self, runner: Runner) -> anyhow::Result<()> {
        let mut running = self.controllers.lock().await;
        stop(running.take()).await?;
        let file = kube::config::Kubeconfig::read_from(&self.kubeconfig)?;
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(file, &options).await?;
        let client = kube::Client::try_from(config)?;
        let options = capt_controllers::Options::new(Arc::new(Timestamp::now), runner);
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

    /// The objects of a kind, in a namespace or in none.
    pub(super) fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        let resource = kind.resource();
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        }
    }

    /// Makes an object.
    pub(super) async fn create(
        &self,
        kind: Kind,
        namespace: &str,
        mut object: Value,
    ) -> anyhow::Result<Value> {
        object["apiVersion"] = json!(kind.api_version());
        object["kind"] = json!(kind.name());
        let object: DynamicObject = serde_json::from_value(object)?;
        let made = self
            .api(kind, namespace)
            .create(&PostParams::default(), &object)
            .await;
        Ok(serde_json::to_value(
            made.with_context(|| format!("making a {}", kind.name()))?,
        )?)
    }

    /// Changes an object by a merge patch.
    pub(super) async fn change(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        patch: Value,
    ) -> anyhow::Result<()> {
        self.api(kind, namespace)
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .with_context(|| format!("changing the {} {name}", kind.name()))?;
        Ok(())
    }

    /// Asks for the deletion of an object, as somebody else would.
    pub(super) async fn delete(&self, kind: Kind, namespace: &str, name: &str) -> anyhow::Result<()> {
        self.delete_with(kind, namespace, name, &DeleteParams::background())
            .await
    }

    /// Like [`Self::delete`], with parameters.
    pub(super) async fn delete_with(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        parameters: &DeleteParams,
    ) -> anyhow::Result<()> {
        self.api(kind, namespace)
            .delete(name, parameters)
            .await
            .with_context(|| format!("deleting the {} {name}", kind.name()))?;
        Ok(())
    }

    /// An object, if it exists.
    pub(super) async fn get(&self, kind: Kind, namespace: &str, name: &str) -> anyhow::Result<Option<Value>> {
        let found = self.api(kind, namespace).get_opt(name).await?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    /// All objects of a kind in a namespace.
    pub(super) async fn list(&self, kind: Kind, namespace: &str) -> anyhow::Result<Vec<Value>> {
        let found = self
            .api(kind, namespace)
            .list(&kube::api::ListParams::default())
            .await?;
        found
            .items
            .into_iter()
            .map(|object| Ok(serde_json::to_value(object)?))
            .collect()
    }

    /// Waits until something is true of an object, and gives that object.
    pub(super) async fn until(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let found = self
            .until_seen(kind, namespace, name, what, |object| object.is_some_and(&is_so))
            .await?;
        found.with_context(|| format!("the {} {name} is gone", kind.name()))
    }

    /// Waits until an object is gone.
    pub(super) async fn until_gone(&self, kind: Kind, namespace: &str, name: &str) -> anyhow::Result<()> {
        self.until_seen(kind, namespace, name, "it is gone", |object| object.is_none())
            .await?;
        Ok(())
    }

    /// Waits until something is true of an object or of its absence.
    pub(super) async fn until_seen(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        what: &str,
        is_so: impl Fn(Option<&Value>) -> bool,
    ) -> anyhow::Result<Option<Value>> {
        let mut last = None;
        let watching = async {
            let mut seen = pin!(watcher::watch_object(self.api(kind, namespace), name));
            while let Some(object) = seen.next().await {
                // A broken watch is taken up again by itself.
                let Ok(object) = object else { continue };
                last = object.map(serde_json::to_value).transpose()?;
                if is_so(last.as_ref()) {
                    return Ok(());
                }
            }
            bail!("the watch ended")
        };
        match tokio::time::timeout(PATIENCE, watching).await {
            Ok(result) => {
                result?;
                Ok(last)
            }
            Err(_) => bail!(
                "{} {namespace}/{name}: after {PATIENCE:?} it is still not so that {what}; it is {}",
                kind.name(),
                last.as_ref().map_or_else(|| "not there".to_owned(), summary)
            ),
        }
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

/// The condition of a type.
pub(super) fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == type_)
}

/// Whether a condition has this status and reason, written as `False/NoDurableState`.
pub(super) fn says(object: &Value, type_: &str, what: &str) -> bool {
    condition(object, type_).is_some_and(|condition| {
        let text = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text("status"), text("reason")) == what
    })
}

/// An object as it is told in a failure.
fn summary(object: &Value) -> String {
    let status = &object["status"];
    let conditions: Vec<String> = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|condition| {
            let text = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
            let message: String = text("message").chars().take(300).collect();
            format!("{}={}/{} {message}", text("type"), text("status"), text("reason"))
        })
        .collect();
    let mut rest = status.clone();
    if let Some(fields) = rest.as_object_mut() {
        fields.remove("conditions");
    }
    format!(
        "generation {}, deleted {}, annotations {}, finalizers {}, policies {}, conditions [{}], {rest}",
        object["metadata"]["generation"],
        object["metadata"]["deletionTimestamp"],
        object["metadata"]["annotations"],
        object["metadata"]["finalizers"],
        object["spec"]["managementPolicies"],
        conditions.join("; ")
    )
}
