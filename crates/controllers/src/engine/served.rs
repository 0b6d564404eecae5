//! Kinds that may not be there, or may come and go while we run.
//!
//! Their definitions are watched. A kind that is defined is asked for once and then watched itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::Arc,
    time::Duration,
};

use capt_core::tenancy::WatchScope;
use futures::future::join_all;
use kube::{
    Api, Client, Resource,
    core::{ApiResource, DynamicResourceScope, GroupVersionKind},
    runtime::watcher,
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};

use super::{
    call::{CallError, within_deadline},
    key::ObjectKey,
    rights::Missing,
    table::{Row, Table},
    watch::{ASK_AGAIN, Denials, Read, keep_up, keep_up_if_allowed, keep_up_when_allowed},
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
/// for instead: everybody may know what an API serves. Once they were read they stay as they were, because a denial may pass.
/// Never ends.
pub(crate) async fn follow_definitions<K>(
    client: Client,
    definitions: Arc<Definitions>,
    read: Read<K, Definition>,
    kinds: &'static [CustomKind],
    missing: Missing,
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let right = missing.right(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        &WatchScope::Cluster,
    );
    let (mut is_told, mut is_listed) = (false, false);
    let (mut denials, mut doubts) = (Denials::default(), Doubts::default());
    loop {
        let all: Api<K> = Api::all(client.clone());
        let began = Instant::now();
        is_listed |= keep_up_if_allowed(all, watcher::Config::default(), &definitions, read, &right).await;
        let mut after = denials.wait(began.elapsed());
        if is_listed {
            tracing::warn!(
                "CustomResourceDefinitions may not be listed and watched any more; they are asked for again"
            );
            sleep(after).await;
            continue;
        }
        if !is_told {
            is_told = true;
            tracing::warn!(
                "CustomResourceDefinitions may not be listed and watched. The kinds that are served are asked for every \
                 {} minutes instead, and Clusters can refer to capt's own kinds only",
                ASK_AGAIN.as_secs() / 60
            );
        }
        match discovered(&client, kinds).await {
            Ok(found) => {
                let known = definitions.peek_all().into_iter().map(|(name, _)| name);
                let served = doubts.settle(known.collect(), found);
                let rows = served.into_iter().map(|key| Row {
                    key,
                    version: 0,
                    value: Some(Definition::default()),
                });
                definitions.replace(right.scope(), rows.collect());
                after = doubts.wait().map_or(after, |wait| wait.min(after));
            }
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "the API does not say which kinds it serves");
                after = after.min(TRY_AGAIN * 2u32.pow(TRIES));
            }
        }
        sleep(after).await;
    }
}

/// Kinds that were served and are not said to be any more, with how often that was said in a row.
///
/// What is of such a kind counts as gone, and who waits for its end goes on. So it must not be an API server that has not
/// read its definitions yet.
#[derive(Debug, Default)]
struct Doubts(BTreeMap<ObjectKey, u32>);

impl Doubts {
    /// The kinds that count as served, from those that did and those that the API names now.
    fn settle(&mut self, known: BTreeSet<ObjectKey>, found: BTreeSet<ObjectKey>) -> BTreeSet<ObjectKey> {
        self.0.retain(|kind, _| !found.contains(kind));
        let mut served = found;
        for kind in known {
            if served.contains(&kind) {
                continue;
            }
            let missed = self.0.entry(kind.clone()).or_default();
            *missed += 1;
            if *missed <= TRIES {
                served.insert(kind);
            } else {
                self.0.remove(&kind);
            }
        }
        served
    }

    /// How long to wait before the API is asked again, if anything is in doubt.
    fn wait(&self) -> Option<Duration> {
        let missed = self.0.values().min()?;
        Some(TRY_AGAIN * 2u32.pow(*missed.min(&TRIES)))
    }
}

/// Which of these kinds are served.
async fn discovered(client: &Client, kinds: &[CustomKind]) -> Result<BTreeSet<ObjectKey>, CallError> {
    let mut found = BTreeSet::new();
    for kind in kinds {
        if kind.served(client).await?.is_some() {
            found.insert(kind.definition());
        }
    }
    Ok(found)
}

/// What becomes of a table whose kind is there and may not be read.
#[derive(Clone, Debug)]
pub(crate) struct Unread {
    /// It is hidden, and nobody waits for it. Else it stays as it is, and nothing begins before it was read once.
    pub(crate) is_hidden: bool,
    /// Where that is told.
    pub(crate) missing: Missing,
}

/// Keeps a table up to date for as long as its kind is served, and empty while it is not. Never ends.
pub(crate) async fn follow<K, T>(
    client: Client,
    kind: CustomKind,
    definitions: Arc<Definitions>,
    table: Arc<Table<T>>,
    read: Read<K, T>,
    unread: Unread,
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
                let watch = async |scope: WatchScope| {
                    let api = match scope.namespace() {
                        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
                        None => Api::all_with(client.clone(), &resource),
                    };
                    let config = watcher::Config::default();
                    let right = unread.missing.right(kind.group, kind.plural, &scope);
                    if unread.is_hidden {
                        keep_up_when_allowed(api, config, &table, read, &right).await;
                    } else {
                        keep_up(api, config, &table, read, &right).await;
                    }
                };
                let watches = join_all(table.scopes().into_iter().map(watch));
                tokio::select! {
                    _ = watches => {}
                    () = is_gone(&definitions, &name) => {}
                }
                continue;
            }
            Ok(None) if tries >= TRIES => {
                // There is a definition, and so there may be objects.
                table.hide(None);
                let is_other = async {
                    while definitions.peek(&name).as_ref() == Some(&definition) {
                        if changes.changed().await.is_err() {
                            return;
                        }
                    }
                };
                if definition.version.is_empty() {
                    // All that is known of it is that it was served once, which does not change when it is again. Whether
                    // it changed or only time has passed, it is asked for.
                    let _ = timeout(ASK_AGAIN, is_other).await;
                } else {
                    is_other.await;
                }
                if changes.has_changed().is_err() {
                    return;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(names: &[&str]) -> BTreeSet<ObjectKey> {
        names.iter().map(|name| ObjectKey::cluster_scoped(name)).collect()
    }

    #[test]
    fn a_kind_that_is_missed_for_a_moment_is_still_served() {
        let mut doubts = Doubts::default();
        let mut known = doubts.settle(kinds(&[]), kinds(&["a", "b"]));
        assert_eq!(doubts.wait(), None);
        known = doubts.settle(known, kinds(&["a"]));
        assert_eq!(known, kinds(&["a", "b"]));
        assert!(doubts.wait().is_some());
        // It is back, and is missed anew.
        known = doubts.settle(known, kinds(&["a", "b"]));
        assert_eq!(doubts.wait(), None);
        let mut waited = Duration::ZERO;
        for _ in 0..TRIES {
            known = doubts.settle(known, kinds(&["a"]));
            assert_eq!(known, kinds(&["a", "b"]));
            waited += doubts.wait().unwrap();
        }
        assert!(waited >= Duration::from_secs(60), "{waited:?}");
        known = doubts.settle(known, kinds(&["a"]));
        assert_eq!(known, kinds(&["a"]));
        assert_eq!(doubts.wait(), None);
    }
}
