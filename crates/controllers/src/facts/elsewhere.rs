//! Single objects of namespaces that are not watched, for controllers that are limited to some.
//!
//! An object that somebody reads is watched by its name, alone: a Role in its namespace that names it is all that this
//! needs. It is given up when nobody reads it any more. Nothing here is ever written to, because only controllers that see
//! a whole cluster know who else uses it.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use futures::StreamExt as _;
use kube::{
    Api, Client, Resource,
    core::{ApiResource, DynamicResourceScope},
    runtime::{WatchStreamExt as _, watcher},
};
use serde::de::DeserializeOwned;
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::engine::{
    key::ObjectKey,
    served::CustomKind,
    table::{Row, Table},
    wakes::{Reader, Wakes},
    watch::{Read, code},
};

/// How long it is waited for an object that nobody asked for before.
const FIRST_LOOK: Duration = Duration::from_secs(15);

/// What is known about an object of another namespace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sight<T> {
    /// It was not asked for yet, or not answered. Whoever reads this is woken when it is known.
    Unknown,
    /// There is no such object.
    Absent,
    /// The API does not let us read it.
    Hidden,
    /// It is there.
    There(T),
}

/// Objects of other namespaces.
pub(crate) struct Elsewhere<T: 'static> {
    table: Table<Sight<Arc<T>>>,
    wanted: watch::Sender<BTreeSet<ObjectKey>>,
}

impl<T: PartialEq + Send + Sync + 'static> Elsewhere<T> {
    /// Nobody wants anything yet.
    pub(super) fn new(name: &'static str, wakes: &Arc<Wakes>) -> Self {
        Self {
            table: Table::new(name, wakes, &[]),
            wanted: watch::Sender::new(BTreeSet::new()),
        }
    }

    /// What is known about an object, which is watched from here on.
    pub(super) fn get(&self, reader: &Reader, key: &ObjectKey) -> Sight<Arc<T>> {
        match self.table.get(reader, key) {
            Some(sight) => (*sight).clone(),
            None => {
                self.wanted.send_if_modified(|wanted| wanted.insert(key.clone()));
                Sight::Unknown
            }
        }
    }

    /// The same, for somebody who waits until it is known, if that does not take too long.
    pub(super) async fn awaited(&self, reader: &Reader, key: &ObjectKey) -> Sight<Arc<T>> {
        let mut changes = self.table.changes();
        let known = async {
            loop {
                changes.borrow_and_update();
                match self.get(reader, key) {
                    Sight::Unknown if changes.changed().await.is_ok() => {}
                    sight => return sight,
                }
            }
        };
        timeout(FIRST_LOOK, known).await.unwrap_or(Sight::Unknown)
    }

    /// Watches what is wanted. Never ends.
    pub(super) async fn watch<K>(self: Arc<Self>, client: Client, kind: CustomKind, read: Read<K, T>)
    where
        K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug
            + Send
            + 'static,
    {
        let mut wishes = self.wanted.subscribe();
        let mut tasks = JoinSet::new();
        let mut watched = BTreeMap::new();
        loop {
            self.give_up(&mut watched);
            let wanted: Vec<ObjectKey> = wishes.borrow_and_update().iter().cloned().collect();
            for key in wanted {
                watched.entry(key).or_insert_with_key(|key| {
                    let (this, key) = (self.clone(), key.clone());
                    let api = Api::namespaced_with(client.clone(), key.namespace(), &kind.newest());
                    tasks.spawn(async move { this.follow(api, &key, read).await })
                });
            }
            if wishes.changed().await.is_err() {
                return;
            }
            while tasks.try_join_next().is_some() {}
        }
    }

    /// Stops watching what nobody reads.
    fn give_up(&self, watched: &mut BTreeMap<ObjectKey, tokio::task::AbortHandle>) {
        watched.retain(|key, task| {
            let is_read = self.table.is_read(key);
            if !is_read {
                task.abort();
                self.wanted.send_if_modified(|wanted| {
                    wanted.remove(key);
                    // That is no wish.
                    false
                });
                // Whoever began to read it meanwhile is woken by this, and wishes for it again.
                self.table.delete(key.clone(), 0);
            }
            is_read
        });
    }

    async fn follow<K>(&self, api: Api<K>, key: &ObjectKey, read: Read<K, T>)
    where
        K: Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
    {
        let put = |sight| {
            self.table.apply(Row {
                key: key.clone(),
                version: 0,
                value: Some(sight),
            });
        };
        let seen = |object| read(object).map_or(Sight::Absent, |value| Sight::There(Arc::new(value)));
        let this_one = watcher::Config::default().fields(&format!("metadata.name={}", key.name()));
        let mut events = pin!(watcher(api, this_one).default_backoff());
        let mut listed = Sight::Absent;
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Init) => listed = Sight::Absent,
                Ok(watcher::Event::InitApply(object)) => listed = seen(object),
                Ok(watcher::Event::InitDone) => put(listed.clone()),
                Ok(watcher::Event::Apply(object)) => put(seen(object)),
                Ok(watcher::Event::Delete(_)) => put(Sight::Absent),
                Err(error) => match code(&error) {
                    Some(403) => put(Sight::Hidden),
                    Some(404) => put(Sight::Absent),
                    _ => tracing::warn!(error = &error as &dyn std::error::Error, %key, "a watch broke"),
                },
            }
        }
    }
}
