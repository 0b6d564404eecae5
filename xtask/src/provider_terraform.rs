//! Crossplane's provider-terraform, unmodified, on a real Kubernetes API.
//!
//! It keeps state in Secrets, runs the `terraform` it is given, and dies with its handle, together with everything
//! that it started.

use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::runtime::{conditions, wait::await_condition};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::peers;
use crate::realkube::{self, RealKube};

/// How long it may take until its kinds are served, or until it has ended after being asked to.
const PATIENCE: Duration = Duration::from_secs(30);
/// What its Secrets with state are called by in the end.
pub(crate) const STATE_SUFFIX: &str = "foreign";

/// How it is started.
#[derive(Clone)]
pub(crate) struct Options {
    /// The terraform or tofu that it runs.
    pub(crate) engine: PathBuf,
    /// It heeds `spec.managementPolicies`.
    pub(crate) management_policies: bool,
    /// How many Workspaces it works on at the same time.
    pub(crate) parallelism: usize,
    /// How often it looks at a Workspace that nothing happens to.
    pub(crate) poll_interval: Duration,
    /// Environment variables for it and for Terraform.
    pub(crate) env: Vec<(String, String)>,
}

impl Options {
    /// The usual ones, with a poll so seldom that nothing but events moves it.
    pub(crate) fn new(engine: PathBuf) -> Self {
        Self {
            engine,
            management_policies: true,
            parallelism: 8,
            poll_interval: Duration::from_secs(600),
            env: Vec::new(),
        }
    }

    /// Tells Terraform which API it runs on, as the service account of a pod would.
    pub(crate) fn run_on(mut self, kubeconfig: &Path) -> Self {
        let path = kubeconfig.display().to_string();
        self.env.push(("KUBE_CONFIG_PATH".to_owned(), path));
        self
    }
}

/// A running provider-terraform.
pub(crate) struct ProviderTerraform {
    folder: PathBuf,
    kubeconfig: PathBuf,
    options: Options,
    child: Option<Child>,
}

impl ProviderTerraform {
    /// Starts it on an API that has its kinds (see [`install`]).
    pub(crate) fn start(kube: &RealKube, options: Options) -> anyhow::Result<Self> {
        let mut provider = Self {
            folder: kube.folder().join("provider-terraform"),
            kubeconfig: kube.kubeconfig(),
            options,
            child: None,
        };
        fs::create_dir_all(provider.work().join("plugin-cache"))?;
        provider.start_again()?;
        Ok(provider)
    }

    /// Starts it after it was stopped or killed, with all that it left on its disk.
    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        ensure!(self.child.is_none(), "provider-terraform runs already");
        let log = OpenOptions::new().create(true).append(true).open(self.log())?;
        let mut command = Command::new(peers::binary("provider-terraform")?);
        // Whoever runs this may have settings for Terraform of his own.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TF_")) {
            command.env_remove(name);
        }
        command
            .arg(format!("--max-reconcile-rate={}", self.options.parallelism))
            .arg(format!("--poll={}s", self.options.poll_interval.as_secs()))
            .args(["--poll-jitter=0s", "--debug"])
            .arg(if self.options.management_policies {
                "--enable-management-policies"
            } else {
                "--no-enable-management-policies"
            })
            .env("KUBECONFIG", &self.kubeconfig)
            .env("XP_TF_DIR", self.work())
            .env("TF_PLUGIN_CACHE_DIR", self.work().join("plugin-cache"))
            .env("CHECKPOINT_DISABLE", "1")
            .env("PATH", self.search_path()?)
            .envs(self.options.env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0);
        self.child = Some(command.spawn().context("starting provider-terraform")?);
        Ok(())
    }

    /// Kills it and all that it runs in one blow, as a machine does that runs out of memory.
    pub(crate) fn crash(&mut self) -> anyhow::Result<()> {
        let child = self.child.as_mut().context("provider-terraform does not run")?;
        signal_group(child, Signal::KILL)?;
        child.wait()?;
        self.child = None;
        Ok(())
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        let child = self.child.as_mut().context("provider-terraform does not run")?;
        signal_group(child, Signal::TERM)?;
        let deadline = Instant::now() + PATIENCE;
        while child.try_wait()?.is_none() {
            ensure!(
                Instant::now() < deadline,
                "provider-terraform did not end in {PATIENCE:?}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.child = None;
        Ok(())
    }

    /// Fails, with the end of its log, if it has ended by itself.
    pub(crate) fn check_alive(&mut self) -> anyhow::Result<()> {
        if let Some(child) = &mut self.child
            && let Some(status) = child.try_wait()?
        {
            bail!(
                "provider-terraform ended with {status}:\n{}",
                realkube::tail(&self.log())
            );
        }
        Ok(())
    }

    /// How it is started the next time.
    pub(crate) fn options(&mut self) -> &mut Options {
        &mut self.options
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Where it writes what it does.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// It runs whatever `terraform` it finds first.
    fn search_path(&self) -> anyhow::Result<std::ffi::OsString> {
        let first = self.folder.join("bin");
        fs::create_dir_all(&first)?;
        let link = first.join("terraform");
        // Another engine than the last time may be wanted.
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&self.options.engine, &link)?;
        let rest = std::env::var_os("PATH").unwrap_or_default();
        Ok(std::env::join_paths(
            std::iter::once(first).chain(std::env::split_paths(&rest)),
        )?)
    }
}

impl Drop for ProviderTerraform {
    fn drop(&mut self) {
        if self.child.is_some() {
            // What has ended already cannot be killed, and that is as good.
            let _ = self.crash();
        }
        // It makes a second folder for credentials, at the same path below this one.
        if let Some(folder) = self
            .folder
            .parent()
            .and_then(|folder| folder.strip_prefix("/").ok())
        {
            let _ = fs::remove_dir_all(Path::new("/tmp").join(folder));
        }
    }
}

fn signal_group(child: &Child, signal: Signal) -> anyhow::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    Ok(kill_process_group(pid.context("an odd process id")?, signal)?)
}

/// Its CRDs, as files.
pub(crate) fn crds() -> anyhow::Result<Vec<PathBuf>> {
    let folder = peers::sources("provider-terraform")?.join("package/crds");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .with_context(|| format!("reading {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<_>>()?;
    files.sort();
    ensure!(!files.is_empty(), "there is no CRD in {}", folder.display());
    Ok(files)
}

/// Gives an API its kinds, and configurations called `default` that keep state in Secrets.
pub(crate) async fn install(kube: &RealKube) -> anyhow::Result<()> {
    let client = realkube::client(&kube.kubeconfig()).await?;
    for file in crds()? {
        install_crd(&client, &file).await?;
    }
    for (group, kind) in [
        ("tf.upbound.io", "ProviderConfig"),
        ("tf.m.upbound.io", "ClusterProviderConfig"),
    ] {
        let backend = backend(&kube.kubeconfig(), "default", STATE_SUFFIX);
        apply_config(&client, group, kind, "default", &backend).await?;
    }
    Ok(())
}

/// A backend that keeps state in Secrets of the API that a kubeconfig leads to.
pub(crate) fn backend(kubeconfig: &Path, namespace: &str, suffix: &str) -> String {
    let path = kubeconfig.display();
    backend_with(&format!("    config_path   = \"{path}\"\n"), namespace, suffix)
}

/// A backend that keeps state in Secrets of the API that Terraform runs on (see [`Options::run_on`]).
pub(crate) fn backend_beside(namespace: &str, suffix: &str) -> String {
    backend_with("", namespace, suffix)
}

fn backend_with(more: &str, namespace: &str, suffix: &str) -> String {
    format!(
        "terraform {{\n  backend \"kubernetes\" {{\n    secret_suffix = \"{suffix}\"\n    namespace     = \
         \"{namespace}\"\n{more}  }}\n}}\n"
    )
}

/// Writes a provider configuration for all namespaces.
pub(crate) async fn apply_config(
    client: &kube::Client,
    group: &str,
    kind: &str,
    name: &str,
    configuration: &str,
) -> anyhow::Result<()> {
    let resource = ApiResource {
        group: group.to_owned(),
        version: "v1beta1".to_owned(),
        api_version: format!("{group}/v1beta1"),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
    };
    let object = json!({
        "apiVersion": resource.api_version, "kind": kind, "metadata": {"name": name},
        "spec": {"credentials": [], "configuration": configuration},
    });
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    api.patch(name, &PatchParams::apply("xtask").force(), &Patch::Apply(&object))
        .await
        .with_context(|| format!("writing the {kind} {name}"))?;
    Ok(())
}

/// Installs a CRD from a file and waits until it is served.
pub(crate) async fn install_crd(client: &kube::Client, file: &Path) -> anyhow::Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let document: Value =
        serde_saphyr::from_str(&text).with_context(|| format!("reading {}", file.display()))?;
    apply_crd(client, &document).await
}

/// Installs a CRD and waits until it is served.
pub(crate) async fn apply_crd(client: &kube::Client, document: &Value) -> anyhow::Result<()> {
    let name = document["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    api.patch(
        &name,
        &PatchParams::apply("xtask").force(),
        &Patch::Apply(document),
    )
    .await
    .with_context(|| format!("installing {name}"))?;
    tokio::time::timeout(
        PATIENCE,
        await_condition(api, &name, conditions::is_crd_established()),
    )
    .await
    .with_context(|| format!("{name} is not served after {PATIENCE:?}"))??;
    Ok(())
}
