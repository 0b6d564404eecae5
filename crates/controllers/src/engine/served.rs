//! Kinds that may not be there, or may come and go while we run.
//!
//! Their definitions are watched. A kind that is defined is asked for once and then watched itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::Arc,
    time::Duration,
};

use kube::{
    Api, Client, Resource,
    core::{ApiResource, DynamicResourceScope, GroupVersionKind},
    runtime::watcher,
};
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::{
    call::{CallError, within_deadline},
    key::ObjectKey,
    table::Table,
    watch::{Read, keep_up},
};

/// A definition is there somewhat sooner than what it defines.
const TRIES: u32 = 6;
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// A kind that may not be there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CustomKind {
    /// API group.
    pub(crate) group: &'static str,
    /// Versions that we can read, the best one first.
    pub(crate) versions: &'static [&'static str],
    /// Kind.
    pub(crate) kind: &'static str,
    /// How it is called in addresses.
    pub(crate) plural: &'static str,
    /// Its objects are in namespaces.
    pub(crate) is_namespaced: bool,
}

/// The definition of a kind, as far as it is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Definition {
    /// Its version.
    pub(crate) version: String,
    /// Its labels.
    pub(crate) labels: BTreeMap<String, String>,
    /// The names of its annotations.
    pub(crate) annotations: BTreeSet<String>,
}

/// The definitions that there are.
pub(crate) type Definitions = Table<Definition>;

impl CustomKind {
    /// The name of its definition.
    pub(crate) fn definition(&self) -> ObjectKey {
        ObjectKey::cluster_scoped(&format!("{}.{}", self.plural, self.group))
    }

    /// The best version of it, whether it is served or not.
    pub(crate) fn newest(&self) -> ApiResource {
        let version = self.versions.first().copied().unwrap_or_default();
        ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk(self.group, version, self.kind),
            self.plural,
        )
    }

    /// The version of it that is served.
    async fn served(&self, client: &Client) -> Result<Option<ApiResource>, CallError> {
        for version in self.versions {
            let address = format!("{}/{version}", self.group);
            let resources = match within_deadline(client.list_api_group_resources(&address)).await {
                Ok(resources) => resources.resources,
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(error),
            };
            if resources.iter().any(|resource| resource.name == self.plural) {
                let kind = GroupVersionKind::gvk(self.group, version, self.kind);
                return Ok(Some(ApiResource::from_gvk_with_plural(&kind, self.plural)));
            }
        }
        Ok(None)
    }
}

/// Keeps a table up to date for as long as its kind is served, and empty while it is not. Never ends.
pub(crate) async fn follow<K, T>(
    client: Client,
    namespace: Option<String>,
    kind: CustomKind,
    definitions: Arc<Definitions>,
    table: Arc<Table<T>>,
    read: Read<K, T>,
) where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>
        + Clone
        + DeserializeOwned
        + Debug
        + Send
        + 'static,
    T: PartialEq,
{
    let name = kind.definition();
    definitions.is_known().await;
    let mut changes = definitions.changes();
    let mut tries = 0;
    loop {
        changes.borrow_and_update();
        let Some(definition) = definitions.peek(&name) else {
            table.close();
            tries = 0;
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        };
        match kind.served(&client).await {
            Ok(Some(resource)) => {
                tries = 0;
                let api = match namespace.as_deref().filter(|_| kind.is_namespaced) {
                    Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
                    None => Api::all_with(client.clone(), &resource),
                };
                tokio::select! {
                    () = keep_up(api, watcher::Config::default(), &table, read) => {}
                    () = is_gone(&definitions, &name) => {}
                }
                continue;
            }
            Ok(None) if tries >= TRIES => {
                table.close();
                while definitions.peek(&name).as_ref() == Some(&definition) {
                    if changes.changed().await.is_err() {
                        return;
                    }
                }
                tries = 0;
                continue;
            }
            Ok(None) => {}
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(
                    error,
                    kind = kind.kind,
                    group = kind.group,
                    "cannot ask for a kind"
                );
            }
        }
        sleep(TRY_AGAIN * 2u32.pow(tries.min(TRIES))).await;
        tries += 1;
    }
}

async fn is_gone(definitions: &Definitions, name: &ObjectKey) {
    let mut changes = definitions.changes();
    while definitions.peek(name).is_some() {
        if changes.changed().await.is_err() {
            return;
        }
    }
}
