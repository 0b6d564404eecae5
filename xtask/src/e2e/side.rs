//! One management cluster: a real Kubernetes API with the real core of Cluster API, and capt on it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::account::{self, EVERYWHERE, Part};
use super::controllers::Controllers;
use crate::cluster_api::CoreManager;
use crate::foreign::ledger::Ledger;
use crate::foreign::runner::{self, Runner};
use crate::objects::Objects;
use crate::ours::Profile;
use crate::provider_terraform::{self, ProviderTerraform};
use crate::realkube::{self, RealKube};

/// Who runs Terraform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Terraform {
    /// `capt runner`.
    Ours,
    /// Crossplane's provider-terraform.
    Foreign,
}

impl Terraform {
    /// What it is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ours => "our runner",
            Self::Foreign => "provider-terraform",
        }
    }
}

/// How an API server is reached that plays a workload cluster.
pub(super) struct Access {
    pub(super) server: String,
    pub(super) authority: String,
    pub(super) token: String,
}

/// A management cluster. What depends on what comes first, since fields are dropped in order.
pub(super) struct Side {
    controllers: Controllers,
    runner: Option<Runner>,
    provider: Option<ProviderTerraform>,
    core: CoreManager,
    pub(super) objects: Objects,
    pub(super) access: Access,
    pub(super) terraform: Terraform,
    kube: RealKube,
}

impl Side {
    /// Starts everything, capt with the rights that it is installed with, and waits until Cluster API is ready.
    pub(super) async fn start(engine: &Path, terraform: Terraform) -> anyhow::Result<Self> {
        let kube = RealKube::start(true).await?;
        let objects = Objects {
            client: realkube::client(&kube.kubeconfig()).await?,
        };
        for crd in capt_api::crds() {
            provider_terraform::apply_crd(&objects.client, &serde_json::to_value(crd)?).await?;
        }
        for file in provider_terraform::crds()? {
            provider_terraform::install_crd(&objects.client, &file).await?;
        }
        let core = CoreManager::start(&kube, &objects).await?;
        let (mut runner, mut provider) = (None, None);
        match terraform {
            Terraform::Ours => {
                let kubeconfig =
                    account::install(&objects, &kube.kubeconfig(), Part::Runner, EVERYWHERE).await?;
                runner = Some(Runner::start(&runner::Options {
                    kubeconfig: &kubeconfig,
                    folder: &kube.folder().join("runner"),
                    ledgers: &Ledger::folder(kube.folder()),
                    engine,
                    parallelism: 4,
                    poll_interval: Duration::from_secs(600),
                    profile: Profile::Debug,
                })?);
            }
            Terraform::Foreign => {
                let options = provider_terraform::Options::new(engine.to_owned()).run_on(&kube.kubeconfig());
                provider = Some(ProviderTerraform::start(&kube, options)?);
            }
        }
        let kubeconfig = account::install(&objects, &kube.kubeconfig(), Part::Controller, EVERYWHERE).await?;
        Ok(Self {
            controllers: Controllers::start(&kubeconfig, kube.folder(), terraform)?,
            runner,
            provider,
            core,
            objects,
            access: Access::read(&kube.kubeconfig())?,
            terraform,
            kube,
        })
    }

    /// The kubeconfig of an administrator.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.kube.kubeconfig()
    }

    /// A folder for files.
    pub(super) fn folder(&self) -> &Path {
        self.kube.folder()
    }

    /// Fails if something has ended that should run.
    pub(super) fn check_alive(&mut self) -> anyhow::Result<()> {
        self.core.check_alive()?;
        if let Some(provider) = &mut self.provider {
            provider.check_alive()?;
        }
        if let Some(runner) = &self.runner {
            account::check_rights(runner.log(), &[])?;
        }
        self.controllers.check_alive()
    }
}

impl Access {
    /// Reads the kubeconfig, which is JSON.
    fn read(kubeconfig: &Path) -> anyhow::Result<Self> {
        let file: Value = serde_json::from_slice(&std::fs::read(kubeconfig)?)?;
        let text = |pointer: &str| {
            let found = file.pointer(pointer).and_then(Value::as_str);
            found.with_context(|| format!("the kubeconfig has no {pointer}"))
        };
        let authority = std::fs::read(text("/clusters/0/cluster/certificate-authority")?)?;
        Ok(Self {
            server: text("/clusters/0/cluster/server")?.to_owned(),
            authority: STANDARD.encode(authority),
            token: text("/users/0/user/token")?.to_owned(),
        })
    }
}
