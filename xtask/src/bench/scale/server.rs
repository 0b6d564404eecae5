//! The server that is put under load: ours or a real one, fresh, with capt's kinds on it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bench::{connection::Target, processes};
use crate::ours::{Company, Ours, Storage};
use crate::realkube::{self, RealKube};
use crate::{peers, provider_terraform};

/// Which server, and where the controllers and the runner are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Which {
    /// `capt up`, durable on disk: everything is one process, as people run it.
    Embedded,
    /// `capt up --api-only`, durable on disk, with `capt controller` and `capt runner` beside it.
    Apart,
    /// kube-apiserver on etcd, with `capt controller` and `capt runner` beside it.
    Real,
}

impl Which {
    /// Builds what it needs.
    pub(super) fn prepare(self) -> anyhow::Result<()> {
        match self {
            Self::Embedded | Self::Apart => Ok(()),
            Self::Real => peers::ensure_built(&["etcd", "kube-apiserver"]),
        }
    }
}

/// A running server.
pub(super) enum Server {
    Ours(Ours),
    Real(RealKube),
}

impl Server {
    /// Starts one that has never been used. If it is ours, these are in its process.
    pub(super) async fn start(which: Which, binary: &Path, company: Company) -> anyhow::Result<Self> {
        Ok(match which {
            Which::Embedded | Which::Apart => Self::Ours(Ours::start(binary, Storage::Disk, company).await?),
            Which::Real => {
                let kube = RealKube::start(false).await?;
                let client = realkube::client(&kube.kubeconfig()).await?;
                for crd in capt_api::crds().into_iter().chain(capt_api::foreign::crds()) {
                    provider_terraform::apply_crd(&client, &serde_json::to_value(crd)?).await?;
                }
                Self::Real(kube)
            }
        })
    }

    /// The processes that it consists of.
    pub(super) fn pids(&self) -> Vec<u32> {
        match self {
            Self::Ours(ours) => vec![ours.pid()],
            Self::Real(kube) => kube.pids(),
        }
    }

    /// The time on a processor of everything that it consists of.
    pub(super) fn cpu(&self) -> Duration {
        self.pids().into_iter().map(processes::cpu).sum()
    }

    /// The kubeconfig of an administrator.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        match self {
            Self::Ours(ours) => ours.kubeconfig(),
            Self::Real(kube) => kube.kubeconfig(),
        }
    }

    /// A scratch folder that goes away with the server.
    pub(super) fn folder(&self) -> &Path {
        match self {
            Self::Ours(ours) => ours.folder(),
            Self::Real(kube) => kube.folder(),
        }
    }

    /// Where it is.
    pub(super) async fn target(&self) -> anyhow::Result<Target> {
        Target::read(&self.kubeconfig()).await
    }
}
