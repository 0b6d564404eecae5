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
    table::{Row, Table},
    watch::{Read, keep_up, keep_up_if_allowed},
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

/// How long it is before something is asked for again that the API did not let us read.
const ASK_AGAIN: Duration = Duration::from_secs(600);

/// The definition of a kind, as far as it is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Definition {
    /// Its version. Empty where only the kind is known, and the definition may not be read.
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

/// Keeps the definitions up to date. Where they may not be read, as with rights in one namespace only, these kinds are asked
/// for instead: everybody may know what an API serves. Never ends.
pub(crate) async fn follow_definitions<K>(
    client: Client,
    definitions: Arc<Definitions>,
    read: Read<K, Definition>,
    kinds: &'static [CustomKind],
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut is_told = false;
    loop {
        let all: Api<K> = Api::all(client.clone());
        keep_up_if_allowed(all, watcher::Config::default(), &definitions, read).await;
        if !is_told {
            is_told = true;
            tracing::warn!(
                "CustomResourceDefinitions may not be listed and watched. The kinds that are served are asked for every \
                 {} minutes instead, and Clusters can refer to capt's own kinds only",
                ASK_AGAIN.as_secs() / 60
            );
        }
        let after = match discovered(&client, kinds).await {
            Ok(rows) => {
                definitions.replace(rows);
                ASK_AGAIN
            }
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "the API does not say which kinds it serves");
                TRY_AGAIN * 2u32.pow(TRIES)
            }
        };
        sleep(after).await;
    }
}

/// Which of these kinds are served.
async fn discovered(client: &Client, kinds: &[CustomKind]) -> Result<Vec<Row<Definition>>, CallError> {
    let mut rows = Vec::new();
    for kind in kinds {
        if kind.served(client).await?.is_some() {
            rows.push(Row {
                key: kind.definition(),
                version: 0,
                value: Some(Definition::default()),
            });
        }
    }
    Ok(rows)
}

/// Keeps a table up to date for as long as its kind is served, and empty while it is not. A kind of the whole cluster counts
/// as not served for somebody who has rights in one namespace only. Never ends.
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
                let config = watcher::Config::default();
                let is_limited = namespace.is_some() && !kind.is_namespaced;
                if !is_limited {
                    tokio::select! {
                        () = keep_up(api, config, &table, read) => {}
                        () = is_gone(&definitions, &name) => {}
                    }
                    continue;
                }
                let is_forbidden = tokio::select! {
                    () = keep_up_if_allowed(api, config, &table, read) => true,
                    () = is_gone(&definitions, &name) => false,
                };
                if is_forbidden {
                    table.close();
                    tracing::warn!(
                        kind = kind.kind,
                        group = kind.group,
                        "a kind of the whole cluster may not be listed and watched, and is left alone"
                    );
                    sleep(ASK_AGAIN).await;
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
