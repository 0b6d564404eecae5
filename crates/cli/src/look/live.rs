//! The same as it changes: everything is followed by watches, so that a look costs no request.

use std::{collections::BTreeSet, fmt::Debug, hash::Hash, sync::Arc, time::Duration};

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    foreign::{Cluster, ClusterWorkspace, Workspace},
    marks,
};
use futures::{
    StreamExt as _,
    future::join_all,
    stream::{self, BoxStream, SelectAll},
};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret},
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource,
    core::PartialObjectMeta,
    runtime::{
        WatchStreamExt as _,
        reflector::{self, Store},
        watcher::{self, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    Gathered, Scope,
    gather::{Objects, Sort, read},
};
use crate::objects::CallError;

/// Changes that come together are looked at together.
const TOGETHER: Duration = Duration::from_millis(100);
/// How long the watches may take to begin.
const BEGINNING: Duration = Duration::from_secs(30);

/// Everything that there is, as it changes.
pub(crate) struct Live {
    client: Client,
    scope: Scope,
    stores: Stores,
    changes: SelectAll<BoxStream<'static, ()>>,
    /// Templates of other namespaces, which are not followed.
    elsewhere: Vec<WorkspaceTemplate>,
    absent: BTreeSet<Sort>,
    unseen: BTreeSet<Sort>,
    unseen_templates: BTreeSet<String>,
}

struct Stores {
    clusters: Store<Cluster>,
    captclusters: Store<CAPTCluster>,
    control_planes: Store<CAPTControlPlane>,
    applies: Store<WorkspaceTemplateApply>,
    templates: Store<WorkspaceTemplate>,
    workspaces: Store<Workspace>,
    cluster_workspaces: Store<ClusterWorkspace>,
    secrets: Store<PartialObjectMeta<Secret>>,
    reports: Store<ConfigMap>,
}

/// Begins watches of kinds that can be watched, and knows when they have begun.
struct Beginning<'a> {
    skipped: &'a BTreeSet<Sort>,
    streams: Vec<BoxStream<'static, ()>>,
    ready: Vec<BoxStream<'static, ()>>,
}

impl Beginning<'_> {
    fn follow<K>(&mut self, sort: Sort, api: Api<K>, config: watcher::Config) -> Store<K>
    where
        K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
        K::DynamicType: Default + Eq + Hash + Clone + Send + Sync,
    {
        let (reader, writer) = reflector::store();
        if !self.skipped.contains(&sort) {
            let events = watcher(api, config).default_backoff().reflect(writer);
            self.streams.push(events.map(drop).boxed());
            let ready = reader.clone();
            let ready = stream::once(async move {
                // It ends only with its writer, which is kept as long.
                let _ = ready.wait_until_ready().await;
            });
            self.ready.push(ready.boxed());
        }
        reader
    }
}

impl Live {
    /// Reads everything once, and begins to follow it.
    pub(crate) async fn start(client: &Client, scope: Scope) -> Result<Self, CallError> {
        let objects = read(client, &scope).await?;
        let skipped: BTreeSet<Sort> = objects.absent.union(&objects.unseen).copied().collect();
        let mut beginning = Beginning {
            skipped: &skipped,
            streams: Vec::new(),
            ready: Vec::new(),
        };
        let plain = watcher::Config::default;
        let of_runs = watcher::Config::default().labels(marks::RUN_OF);
        let stores = Stores {
            clusters: beginning.follow(Sort::Clusters, scope.api(client), plain()),
            captclusters: beginning.follow(Sort::CaptClusters, scope.api(client), plain()),
            control_planes: beginning.follow(Sort::ControlPlanes, scope.api(client), plain()),
            applies: beginning.follow(Sort::Applies, scope.api(client), plain()),
            templates: beginning.follow(Sort::Templates, scope.api(client), plain()),
            workspaces: beginning.follow(Sort::Workspaces, scope.api(client), plain()),
            cluster_workspaces: beginning.follow(Sort::ClusterWorkspaces, Api::all(client.clone()), plain()),
            secrets: beginning.follow(Sort::Secrets, scope.api(client), plain()),
            reports: beginning.follow(Sort::Reports, scope.api(client), of_runs),
        };
        let mut changes = stream::select_all(beginning.streams);
        let begun = join_all(
            beginning
                .ready
                .into_iter()
                .map(|mut ready| async move { ready.next().await }),
        );
        let driven = async { while changes.next().await.is_some() {} };
        let both = async {
            tokio::select! { _ = begun => {}, () = driven => {} }
        };
        // A watch that has not begun by now only shows less.
        let _ = timeout(BEGINNING, both).await;
        let elsewhere = objects.templates.into_iter();
        let elsewhere = elsewhere.filter(|one| {
            let namespace = one.metadata.namespace.as_deref().unwrap_or_default();
            !scope.holds(namespace)
        });
        Ok(Self {
            client: client.clone(),
            elsewhere: elsewhere.collect(),
            scope,
            stores,
            changes,
            absent: objects.absent,
            unseen: objects.unseen,
            unseen_templates: objects.unseen_templates,
        })
    }

    /// Waits until something changes.
    pub(crate) async fn changed(&mut self) -> Result<(), CallError> {
        if self.changes.next().await.is_none() {
            // Nothing can be followed.
            std::future::pending::<()>().await;
        }
        let end = Instant::now() + TOGETHER;
        while let Ok(Some(())) = timeout_at(end, self.changes.next()).await {}
        let mut objects = self.objects();
        objects.read_elsewhere(&self.client, &self.scope).await?;
        let own = self.stores.templates.state().len();
        self.elsewhere = objects.templates.split_off(own);
        self.unseen_templates = objects.unseen_templates;
        Ok(())
    }

    /// Everything as it is now.
    pub(crate) fn gathered(&self) -> Gathered {
        Gathered::new(self.objects(), &self.scope, Timestamp::now())
    }

    fn objects(&self) -> Objects {
        let stores = &self.stores;
        let mut templates = copied(&stores.templates);
        templates.extend(self.elsewhere.iter().cloned());
        Objects {
            clusters: copied(&stores.clusters),
            captclusters: copied(&stores.captclusters),
            control_planes: copied(&stores.control_planes),
            applies: copied(&stores.applies),
            templates,
            workspaces: copied(&stores.workspaces),
            cluster_workspaces: copied(&stores.cluster_workspaces),
            secrets: copied(&stores.secrets),
            reports: copied(&stores.reports),
            absent: self.absent.clone(),
            unseen: self.unseen.clone(),
            unseen_templates: self.unseen_templates.clone(),
        }
    }
}

fn copied<K>(store: &Store<K>) -> Vec<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    store.state().into_iter().map(Arc::unwrap_or_clone).collect()
}
