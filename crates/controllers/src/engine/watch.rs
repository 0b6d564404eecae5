//! Watches that keep tables up to date.

use std::{fmt::Debug, pin::pin};

use futures::StreamExt as _;
use kube::{
    Api, Resource,
    runtime::{WatchStreamExt as _, watcher},
};
use serde::de::DeserializeOwned;

use super::{
    key::ObjectKey,
    table::{Row, Table},
};

/// What is kept of an object, if it can be read.
pub(crate) type Read<K, T> = fn(K) -> Option<T>;

/// Keeps a table up to date. Never ends: what goes wrong is tried again, more and more slowly.
pub(crate) async fn keep_up<K, T>(api: Api<K>, config: watcher::Config, table: &Table<T>, read: Read<K, T>)
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    T: PartialEq,
{
    keep(api, config, table, read, false).await;
}

/// The same, but ends where the API does not let us read.
pub(crate) async fn keep_up_if_allowed<K, T>(
    api: Api<K>,
    config: watcher::Config,
    table: &Table<T>,
    read: Read<K, T>,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    T: PartialEq,
{
    keep(api, config, table, read, true).await;
}

async fn keep<K, T>(
    api: Api<K>,
    config: watcher::Config,
    table: &Table<T>,
    read: Read<K, T>,
    ends_if_forbidden: bool,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    T: PartialEq,
{
    let row = |object: K| {
        let key = ObjectKey::of(object.meta());
        let version = version(&object);
        let value = read(object);
        if value.is_none() {
            tracing::warn!(object = %key, "an object cannot be read and is left alone");
        }
        Row { key, version, value }
    };
    let mut events = pin!(watcher(api, config).default_backoff());
    let mut listed = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => listed.clear(),
            Ok(watcher::Event::InitApply(object)) => listed.push(row(object)),
            Ok(watcher::Event::InitDone) => table.replace(std::mem::take(&mut listed)),
            Ok(watcher::Event::Apply(object)) => table.apply(row(object)),
            Ok(watcher::Event::Delete(object)) => {
                table.delete(ObjectKey::of(object.meta()), version(&object));
            }
            Err(error) => {
                if ends_if_forbidden && code(&error) == Some(403) {
                    return;
                }
                tracing::warn!(error = &error as &dyn std::error::Error, "a watch broke");
            }
        }
    }
}

/// What the API answered to a watch that did not begin.
pub(crate) fn code(error: &watcher::Error) -> Option<u16> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

/// Versions grow, and can be compared within a kind.
fn version<K: Resource>(object: &K) -> u64 {
    let version = object.meta().resource_version.as_deref();
    version.and_then(|version| version.parse().ok()).unwrap_or(0)
}
