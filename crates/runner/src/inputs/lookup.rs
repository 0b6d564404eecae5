//! Where the objects that a Workspace names are read from.

use std::{collections::BTreeMap, env, fmt::Debug, io, path::Path, time::Duration};

use capt_api::{
    foreign::{ClusterProviderConfig, LegacyProviderConfig, ProviderConfig, providerconfig::TerraformConfig},
    marks,
};
use capt_core::tenancy::NamespaceSet;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::{io::AsyncReadExt as _, time::timeout};

use super::needs::{ConfigKind, ConfigRef};
use crate::api::{CallError, patiently};

/// How long to go on trying before the operation gives up.
const PATIENCE: Duration = Duration::from_secs(5);
/// No file with credentials is larger.
const MAX_FILE: u64 = 1 << 20;

/// What a Secret or a ConfigMap holds.
pub type Data = BTreeMap<String, Vec<u8>>;

/// A provider configuration, and who may use it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigFound {
    /// What it says.
    pub config: TerraformConfig,
    /// The namespaces that its administrator allows; all, if none are named.
    pub allowed_namespaces: Option<NamespaceSet>,
}

impl ConfigFound {
    /// Whether Workspaces of a namespace may use it.
    #[must_use]
    pub fn allows(&self, namespace: &str) -> bool {
        let allowed = self.allowed_namespaces.as_ref();
        allowed.is_none_or(|allowed| allowed.contains(namespace))
    }
}

/// Where objects are read from: an API, a cache, a map.
pub trait Lookup: Send + Sync {
    /// A Secret, or nothing if it is not there.
    fn get_secret<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Data>, CallError>>;

    /// A ConfigMap, or nothing if it is not there.
    fn get_config_map<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Data>, CallError>>;

    /// A provider configuration, or nothing if it is not there.
    fn get_provider_config<'a>(
        &'a self,
        config: &'a ConfigRef,
    ) -> BoxFuture<'a, Result<Option<ConfigFound>, CallError>>;

    /// An environment variable of the runner.
    fn get_environment(&self, name: &str) -> Option<String> {
        env::var(name).ok()
    }

    /// A file of the runner's machine.
    fn get_file<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Vec<u8>>> {
        Box::pin(read_file(path))
    }
}

/// Reads objects from an API.
#[derive(Clone)]
pub struct ApiLookup {
    client: Client,
}

impl ApiLookup {
    /// Reads from where this client leads.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl Lookup for ApiLookup {
    fn get_secret<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Data>, CallError>> {
        Box::pin(async move {
            let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
            let secret = patiently(PATIENCE, || api.get_opt(name)).await?;
            Ok(secret.map(secret_data))
        })
    }

    fn get_config_map<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Data>, CallError>> {
        Box::pin(async move {
            let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
            let map = patiently(PATIENCE, || api.get_opt(name)).await?;
            Ok(map.map(config_map_data))
        })
    }

    fn get_provider_config<'a>(
        &'a self,
        config: &'a ConfigRef,
    ) -> BoxFuture<'a, Result<Option<ConfigFound>, CallError>> {
        Box::pin(async move {
            let name = config.name.as_str();
            let client = self.client.clone();
            match config.kind {
                ConfigKind::Legacy => read::<LegacyProviderConfig>(&Api::all(client), name).await,
                ConfigKind::Cluster => read::<ClusterProviderConfig>(&Api::all(client), name).await,
                ConfigKind::Namespaced => {
                    let namespace = config.namespace.as_deref().unwrap_or_default();
                    read::<ProviderConfig>(&Api::namespaced(client, namespace), name).await
                }
            }
        })
    }
}

/// A provider configuration of one of the three kinds.
pub(crate) trait Configured: Clone + Debug + DeserializeOwned + Resource {
    /// What it says.
    fn content(&self) -> &TerraformConfig;

    /// What it says, and who may use it. Where tenants write it themselves, nobody is kept from it.
    fn found(&self) -> ConfigFound {
        let metadata = self.meta();
        let annotations = metadata
            .annotations
            .as_ref()
            .filter(|_| metadata.namespace.is_none());
        let allowed = annotations.and_then(|annotations| annotations.get(marks::ALLOWED_NAMESPACES));
        ConfigFound {
            config: self.content().clone(),
            allowed_namespaces: allowed.map(|list| NamespaceSet::parse(list)),
        }
    }
}

impl Configured for LegacyProviderConfig {
    fn content(&self) -> &TerraformConfig {
        &self.spec.config
    }
}

impl Configured for ClusterProviderConfig {
    fn content(&self) -> &TerraformConfig {
        &self.spec.config
    }
}

impl Configured for ProviderConfig {
    fn content(&self) -> &TerraformConfig {
        &self.spec.config
    }
}

async fn read<K: Configured>(api: &Api<K>, name: &str) -> Result<Option<ConfigFound>, CallError> {
    let found = patiently(PATIENCE, || api.get_opt(name)).await?;
    Ok(found.map(|found| found.found()))
}

/// What a Secret holds.
#[must_use]
pub fn secret_data(secret: Secret) -> Data {
    let data = secret.data.unwrap_or_default();
    data.into_iter().map(|(key, value)| (key, value.0)).collect()
}

/// What a ConfigMap holds.
#[must_use]
pub fn config_map_data(map: ConfigMap) -> Data {
    let text = map.data.unwrap_or_default();
    let binary = map.binary_data.unwrap_or_default();
    text.into_iter()
        .map(|(key, value)| (key, value.into_bytes()))
        .chain(binary.into_iter().map(|(key, value)| (key, value.0)))
        .collect()
}

async fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let reading = async {
        let mut content = Vec::new();
        let file = tokio::fs::File::open(path).await?;
        file.take(MAX_FILE + 1).read_to_end(&mut content).await?;
        if content.len() as u64 > MAX_FILE {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "it is larger than 1 MiB",
            ));
        }
        Ok(content)
    };
    // A pipe or a dead mount would never give an answer.
    timeout(PATIENCE, reading)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
