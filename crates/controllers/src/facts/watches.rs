//! Which watch fills which table.

use std::{fmt::Debug, future::Future, sync::Arc};

use capt_api::marks;
use capt_core::{
    tenancy::{NamespaceSet, WatchScope},
    wta::kept::SECRET_TYPE,
};
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{ConfigMap, Namespace, Secret},
};
use kube::{
    Api, Client, Resource,
    core::{ApiResource, DynamicResourceScope},
    runtime::watcher,
};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use super::{Facts, kinds, views};
use crate::{
    cluster::switch,
    engine::{
        rights::Right,
        served::{CustomKind, Unread, follow, follow_definitions},
        table::Table,
        watch::{Read, keep_up, keep_up_when_allowed},
    },
    options::ClusterController,
};

impl Facts {
    /// Starts all watches. They end when their tasks do.
    pub(crate) fn watch(&self, client: &Client, cluster_controller: ClusterController) -> JoinSet<()> {
        let is_limited = self.watched != NamespaceSet::All;
        let mut watches = Watches {
            facts: self,
            client,
            is_limited,
            tasks: JoinSet::new(),
        };
        let definitions = self.definitions.clone();
        watches.start(follow_definitions(
            client.clone(),
            definitions,
            views::definition,
            kinds::ALL,
            self.missing.clone(),
        ));
        watches.custom(kinds::APPLY, &self.applies, views::apply);
        watches.custom(kinds::TEMPLATE, &self.templates, views::template);
        watches.custom(kinds::WORKSPACE, &self.workspaces, views::namespaced_workspace);
        watches.custom(
            kinds::CLUSTER_WORKSPACE,
            &self.cluster_workspaces,
            views::cluster_workspace,
        );
        watches.custom(kinds::CLUSTER, &self.clusters, views::cluster);
        watches.custom(kinds::CAPTCLUSTER, &self.captclusters, views::captcluster);
        watches.custom(
            kinds::CAPTCONTROLPLANE,
            &self.captcontrolplanes,
            views::captcontrolplane,
        );
        watches.workers(cluster_controller);
        for (kind, table) in [
            (kinds::PROVIDER_CONFIG, &self.provider_configs),
            (kinds::CLUSTER_PROVIDER_CONFIG, &self.cluster_provider_configs),
            (kinds::LEGACY_PROVIDER_CONFIG, &self.legacy_provider_configs),
        ] {
            watches.custom_or_hidden(kind, table, views::provider_config);
        }
        watches.custom_or_hidden(kinds::USAGE, &self.usages, views::usage);
        watches.custom_or_hidden(kinds::LEGACY_USAGE, &self.legacy_usages, views::usage);
        if is_limited {
            let templates = self.templates_elsewhere.clone();
            watches.start(templates.watch(client.clone(), kinds::TEMPLATE, views::template));
            let workspaces = self.workspaces_elsewhere.clone();
            watches.start(workspaces.watch(client.clone(), kinds::WORKSPACE, views::namespaced_workspace));
        }
        let everything = watcher::Config::default();
        watches.built_in(&everything, &self.secrets, views::secret);
        let not_ours = everything.clone().labels(&format!("!{}", marks::RUN_OF));
        watches.built_in(&not_ours, &self.config_maps, views::config_map);
        let renderings = everything.clone().fields(&format!("type={SECRET_TYPE}"));
        watches.built_in::<Secret, _>(&renderings, &self.renderings, views::rendering);
        let reports = everything.labels(marks::RUN_OF);
        watches.built_in::<ConfigMap, _>(&reports, &self.reports, views::report);
        for scope in self.namespaces.scopes() {
            watches.namespace(scope);
        }
        watches.tasks
    }
}

/// A kind that is known by name only.
trait Dynamic:
    Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>
    + Clone
    + DeserializeOwned
    + Debug
    + Send
    + 'static
{
}

impl<K> Dynamic for K where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>
        + Clone
        + DeserializeOwned
        + Debug
        + Send
        + 'static
{
}

struct Watches<'a> {
    facts: &'a Facts,
    client: &'a Client,
    /// Not all namespaces are watched. Rights over the whole cluster may be missing then.
    is_limited: bool,
    tasks: JoinSet<()>,
}

impl Watches<'_> {
    /// Workers count for our own controller of Clusters alone, and there may be very many.
    fn workers(&mut self, cluster_controller: ClusterController) {
        for (kind, table) in kinds::WORKERS.into_iter().zip(&self.facts.workers) {
            let definitions = self.facts.definitions.clone();
            let watch = follow(
                self.client.clone(),
                kind,
                definitions.clone(),
                table.clone(),
                views::worker,
                self.unread(false),
            );
            self.start(async move {
                switch::until_on(cluster_controller, &definitions).await;
                watch.await;
            });
        }
    }

    fn start(&mut self, watch: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(watch);
    }

    /// The right to read the objects of a built-in kind in a scope.
    fn right<K: Resource<DynamicType = ()>>(&self, scope: &WatchScope) -> Right {
        self.facts.missing.right(&K::group(&()), &K::plural(&()), scope)
    }

    /// Namespaces: all of them, or one.
    fn namespace(&mut self, scope: WatchScope) {
        let (api, table) = (Api::all(self.client.clone()), self.facts.namespaces.clone());
        let right = self.right::<Namespace>(&scope);
        let everything = watcher::Config::default();
        self.start(async move {
            match scope.namespace() {
                None => keep_up(api, everything, &table, views::namespace, &right).await,
                // Where it may not be watched it is asked for where something is made or destroyed, which needs the right to
                // get this one namespace.
                Some(name) => {
                    let this_one = everything.fields(&format!("metadata.name={name}"));
                    keep_up_when_allowed(api, this_one, &table, views::namespace, &right).await;
                }
            }
        });
    }

    fn unread(&self, is_hidden: bool) -> Unread {
        Unread {
            is_hidden,
            missing: self.facts.missing.clone(),
        }
    }

    /// What nothing can be done without.
    fn custom<K, T>(&mut self, kind: CustomKind, table: &Arc<Table<T>>, read: Read<K, T>)
    where
        K: Dynamic,
        T: PartialEq + Send + Sync + 'static,
    {
        self.custom_unless(kind, table, read, false);
    }

    /// What is not known where it may not be read. Decisions reckon with that.
    fn custom_or_hidden<K, T>(&mut self, kind: CustomKind, table: &Arc<Table<T>>, read: Read<K, T>)
    where
        K: Dynamic,
        T: PartialEq + Send + Sync + 'static,
    {
        self.custom_unless(kind, table, read, true);
    }

    fn custom_unless<K, T>(
        &mut self,
        kind: CustomKind,
        table: &Arc<Table<T>>,
        read: Read<K, T>,
        is_hidden: bool,
    ) where
        K: Dynamic,
        T: PartialEq + Send + Sync + 'static,
    {
        let watch = follow(
            self.client.clone(),
            kind,
            self.facts.definitions.clone(),
            table.clone(),
            read,
            self.unread(is_hidden || (self.is_limited && !kind.is_namespaced)),
        );
        self.start(watch);
    }

    fn built_in<K, T>(&mut self, config: &watcher::Config, table: &Arc<Table<T>>, read: Read<K, T>)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Debug
            + Send
            + 'static,
        T: PartialEq + Send + Sync + 'static,
    {
        for scope in table.scopes() {
            let api: Api<K> = match scope.namespace() {
                Some(namespace) => Api::namespaced(self.client.clone(), namespace),
                None => Api::all(self.client.clone()),
            };
            let (config, table, right) = (config.clone(), table.clone(), self.right::<K>(&scope));
            self.start(async move { keep_up(api, config, &table, read, &right).await });
        }
    }
}
