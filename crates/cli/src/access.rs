//! Reaching a cluster: which one, as whom, and in which namespace.

mod client;

use std::path::{Path, PathBuf};

use anyhow::Context;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::data_dir;

/// Which cluster.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Connection {
    /// The kubeconfig [default: as kubectl finds it; else that of the service account; else that of `capt up`]
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,

    /// The context in the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// Which cluster, and where in it.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Access {
    #[command(flatten)]
    connection: Connection,

    /// The namespace [default: that of the context, else default]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

/// A cluster that can be talked to.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    /// The namespace that was named, else that of the service account or context, else `default`.
    pub(crate) namespace: String,
    pub(crate) url: String,
}

/// Nothing says which cluster to talk to.
#[derive(Debug, thiserror::Error)]
#[error("there is no cluster to talk to: no kubeconfig is set, and `capt up` left none in {}", place.display())]
pub(crate) struct NoCluster {
    place: PathBuf,
}

impl Access {
    /// The namespace, if one was named.
    pub(crate) fn named_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Connects. Nothing is sent yet.
    pub(crate) async fn connect(&self) -> anyhow::Result<Cluster> {
        let mut cluster = self.connection.connect().await?;
        if let Some(namespace) = &self.namespace {
            cluster.namespace.clone_from(namespace);
        }
        Ok(cluster)
    }
}

impl Connection {
    /// Connects. Nothing is sent yet.
    pub(crate) async fn connect(&self) -> anyhow::Result<Cluster> {
        let mut config = self.config().await?;
        // A watch may be quiet for long, and everything else has a deadline of its own.
        config.read_timeout = None;
        let namespace = config.default_namespace.clone();
        let url = config.cluster_url.to_string();
        let client = client::client(config).context("cannot use this kubeconfig")?;
        Ok(Cluster {
            client,
            namespace,
            url,
        })
    }

    async fn config(&self) -> anyhow::Result<Config> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        if let Some(path) = &self.kubeconfig {
            return read(path, &options).await;
        }
        let variable = std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
        let usual = std::env::home_dir().map(|home| home.join(".kube/config"));
        if variable.is_some() || usual.is_some_and(|path| path.exists()) {
            let config = Config::from_kubeconfig(&options).await;
            return config.context("cannot use the kubeconfig that kubectl would use");
        }
        if self.context.is_none()
            && let Ok(config) = Config::incluster()
        {
            return Ok(config);
        }
        let place = data_dir::default()?.join("kubeconfig");
        if !place.exists() {
            return Err(NoCluster { place }.into());
        }
        read(&place, &options).await
    }
}

async fn read(path: &Path, options: &KubeConfigOptions) -> anyhow::Result<Config> {
    let cannot = || format!("cannot use the kubeconfig {}", path.display());
    let kubeconfig = Kubeconfig::read_from(path).with_context(cannot)?;
    Config::from_custom_kubeconfig(kubeconfig, options)
        .await
        .with_context(cannot)
}
