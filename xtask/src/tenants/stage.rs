//! Where the attacks are played: a real API with capt on it, a tenant who attacks, and others who work.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::accounts;
use super::kinds::{APPLY, CLUSTER_WORKSPACE, NAMESPACE, TEMPLATE};
use super::program::{Program, Start};
use super::tenant::{THING, Tenant};
use crate::e2e::account::{self, EVERYWHERE, Part, Place};
use crate::objects::Objects;
use crate::ours::{self, Profile};
use crate::provider_terraform;
use crate::realkube::{self, RealKube};

/// The name of the runner, as Workspaces are labelled with it.
pub(super) const RUNNER: &str = "capt";
/// The name of a runner that confines nothing, for those whom its operator trusts with everything.
pub(super) const OPEN_RUNNER: &str = "open";
/// The namespace that capt is installed in.
pub(super) const SYSTEM: &str = "capt-system";
/// The namespace of the tenant who attacks.
pub(super) const ATTACKER: &str = "a";
/// The namespace of the tenant who is attacked.
pub(super) const VICTIM: &str = "victim";
/// A namespace that the operator lends the identity of the processes to.
pub(super) const LISTED: &str = "listed";
/// The key id of the AWS identity of the processes.
pub(super) const PROCESS_KEY: &str = "AKIAPROCESS";
/// An environment variable of the runner, and its value.
pub(super) const RUNNER_SECRET: (&str, &str) = ("RUNNER_SECRET", "secret-in-the-environment-of-the-runner");
/// A value in a Secret of the victim.
pub(super) const VICTIM_SECRET: &str = "secret-of-the-victim";

/// How capt is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Installation {
    /// For all namespaces, and Workspaces are made in them.
    Namespaced,
    /// For all namespaces, and Workspaces of the whole cluster are made.
    ClusterScoped,
    /// For the namespace of the victim alone.
    OneNamespace,
}

impl Installation {
    /// Where it is installed, and for whom.
    pub(super) fn place(self) -> Place<'static> {
        match self {
            Self::Namespaced | Self::ClusterScoped => EVERYWHERE,
            Self::OneNamespace => Place {
                namespace: "capt-victim",
                tenants: &[VICTIM],
            },
        }
    }

    /// What the API server refuses it, in its words: no Role grants what is cluster-scoped.
    fn refused(self) -> &'static [&'static str] {
        match self {
            Self::Namespaced | Self::ClusterScoped => &[],
            Self::OneNamespace => &[".tf.upbound.io is forbidden: User "],
        }
    }
}

/// A real API with capt on it. What depends on what comes first, since fields are dropped in order.
pub(super) struct Stage {
    programs: Vec<Program>,
    pub(super) admin: Objects,
    /// The tenant who attacks.
    pub(super) attacker: Tenant,
    /// The tenant who is attacked.
    pub(super) victim: Tenant,
    /// A tenant that the operator trusts with the identity of the processes.
    pub(super) listed: Tenant,
    pub(super) installation: Installation,
    /// How often capt was started.
    starts: u32,
    engine: PathBuf,
    kube: RealKube,
}

impl Stage {
    /// Starts the API and capt, and makes the tenants.
    pub(super) async fn set(engine: &Path, installation: Installation) -> anyhow::Result<Self> {
        ours::build(Profile::Debug)?;
        let kube = RealKube::start(true).await?;
        let admin = Objects {
            client: realkube::client(&kube.kubeconfig()).await?,
        };
        install_kinds(&admin).await?;
        for name in [ATTACKER, VICTIM, LISTED] {
            let namespace = json!({"metadata": {"name": name}});
            admin.create(NAMESPACE, "", namespace).await?;
        }
        let mut stage = Self {
            programs: Vec::new(),
            attacker: Tenant::new(&accounts::attacker(&admin, &kube.kubeconfig()).await?, ATTACKER),
            victim: Tenant::new(&admin, VICTIM),
            listed: Tenant::new(&admin, LISTED),
            admin,
            installation,
            starts: 0,
            engine: engine.to_owned(),
            kube,
        };
        let value = json!({"k": VICTIM_SECRET});
        stage.victim.secret("private", value).await?;
        let private = stage.victim.read("private").await?;
        ensure!(private["k"] == VICTIM_SECRET, "the victim has {private:?}");
        accounts::check_attacker(&stage.attacker.objects).await?;
        stage.start().await?;
        Ok(stage)
    }

    /// Starts capt another way.
    pub(super) async fn restart(&mut self, installation: Installation) -> anyhow::Result<()> {
        self.check()?;
        for program in self.programs.drain(..) {
            program.stop().await?;
        }
        self.installation = installation;
        self.start().await
    }

    async fn start(&mut self) -> anyhow::Result<()> {
        self.starts += 1;
        let place = self.installation.place();
        let controller = self.install(Part::Controller).await?;
        let runner = self.install(Part::Runner).await?;
        let scope: Vec<String> = place
            .tenants
            .iter()
            .map(|tenant| format!("--namespace={tenant}"))
            .collect();
        let mut arguments = arguments(&["controller", "--runner", RUNNER, "--own-credentials", LISTED]);
        if self.is_cluster_scoped() {
            arguments.extend(["--workspace-api".to_owned(), CLUSTER_WORKSPACE.group().to_owned()]);
        }
        arguments.extend_from_slice(&scope);
        self.run("controller", &controller, arguments)?;
        let mut arguments = self.runner(RUNNER, "required", "work");
        arguments.extend_from_slice(&scope);
        self.run("runner", &runner, arguments)?;
        if place.tenants.is_empty() {
            let arguments = self.runner(OPEN_RUNNER, "off", "open-work");
            self.run("open-runner", &runner, arguments)?;
        }
        Ok(())
    }

    async fn install(&self, part: Part) -> anyhow::Result<PathBuf> {
        account::install(&self.admin, &self.kubeconfig(), part, self.installation.place()).await
    }

    fn run(&mut self, name: &str, kubeconfig: &Path, arguments: Vec<String>) -> anyhow::Result<()> {
        self.programs.push(Program::start(Start {
            name: format!("{name}-{}", self.starts),
            kubeconfig,
            folder: self.kube.folder(),
            arguments,
            environment: environment(),
            expected: self.installation.refused(),
        })?);
        Ok(())
    }

    /// The arguments of a runner.
    fn runner(&self, name: &str, sandbox: &str, work_dir: &str) -> Vec<String> {
        let mut arguments = arguments(&["runner", "--name", name, "--sandbox", sandbox]);
        let own = format!("--own-credentials={LISTED}");
        let work_dir = self.kube.folder().join(work_dir).display().to_string();
        let engine = self.engine.display().to_string();
        arguments.extend([own, "--work-dir".to_owned(), work_dir]);
        arguments.extend(["--engine-path".to_owned(), engine]);
        arguments
    }

    /// Installs the kinds of capt and those that it uses, where one is missing.
    pub(super) async fn install_kinds(&self) -> anyhow::Result<()> {
        install_kinds(&self.admin).await
    }

    /// Fails if something has ended that should run, or was refused what it asked the API for.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        self.programs.iter_mut().try_for_each(Program::check)
    }

    /// A folder for files.
    pub(super) fn folder(&self) -> &Path {
        self.kube.folder()
    }

    /// Where the runner works.
    pub(super) fn work_dir(&self) -> PathBuf {
        self.kube.folder().join("work")
    }

    /// What the runner reaches the API with.
    pub(super) fn runner_kubeconfig(&self) -> PathBuf {
        self.kube
            .folder()
            .join(format!("{SYSTEM}-capt-runner.kubeconfig"))
    }

    /// The token in it.
    pub(super) fn runner_token(&self) -> anyhow::Result<String> {
        let file: Value = serde_json::from_slice(&std::fs::read(self.runner_kubeconfig())?)?;
        let token = file["users"][0]["user"]["token"].as_str();
        Ok(token
            .context("the kubeconfig of the runner has no token")?
            .to_owned())
    }

    /// The address of the API.
    pub(super) fn server(&self) -> anyhow::Result<String> {
        let file: Value = serde_json::from_slice(&std::fs::read(self.kubeconfig())?)?;
        let server = file["clusters"][0]["cluster"]["server"].as_str();
        Ok(server.context("the kubeconfig has no server")?.to_owned())
    }

    /// What an administrator reaches the API with.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.kube.kubeconfig()
    }

    /// Whether the controllers make Workspaces of the whole cluster.
    pub(super) fn is_cluster_scoped(&self) -> bool {
        self.installation == Installation::ClusterScoped
    }

    /// Makes and destroys something of the attacker's own, as it may. What was asked for before and is still to come of it
    /// comes before the end of that: the clock by which nothing happens.
    pub(super) async fn let_time_pass(&self, name: &str) -> anyhow::Result<()> {
        let attacker = &self.attacker;
        attacker.template(name, THING, json!({})).await?;
        attacker.apply(name, name, json!({})).await?;
        attacker.until_applied(name).await?;
        attacker.delete(APPLY, name).await?;
        attacker.until_gone(APPLY, name).await?;
        attacker.delete(TEMPLATE, name).await
    }
}

/// The environment of each part of capt: an AWS identity, and a secret.
fn environment() -> Vec<(String, String)> {
    [
        ("AWS_ACCESS_KEY_ID", PROCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", "process"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        RUNNER_SECRET,
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

fn arguments(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Installs the kinds of capt and those that it uses, as `capt manifests` prints them.
async fn install_kinds(admin: &Objects) -> anyhow::Result<()> {
    let output = std::process::Command::new(ours::binary(Profile::Debug))
        .args(["manifests", "crds", "--foreign"])
        .output()
        .context("running capt manifests")?;
    ensure!(output.status.success(), "capt manifests crds failed");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&String::from_utf8(output.stdout)?)?;
    for document in documents {
        provider_terraform::apply_crd(&admin.client, &document).await?;
    }
    Ok(())
}
