//! The facts that decisions are made from, one table for each kind, kept up to date by watches.
//!
//! Of every object only what is used is kept. This module must never know what is decided.

pub(crate) mod elsewhere;
pub(crate) mod indexes;
pub(crate) mod installed;
pub(crate) mod kinds;
mod left;
mod others;
pub(crate) mod owned;
pub(crate) mod secrets;
pub(crate) mod views;
mod watches;

use std::{sync::Arc, time::Duration};

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply,
    foreign::{Cluster, marks::DELETE_FOR_MOVE},
    lean::Document,
};
use capt_core::{
    decision::Target,
    render::WorkspaceGroup,
    tenancy::NamespaceSet,
    wta::snapshot::{ProviderConfigSeen, WorkspaceSeen},
};
use kube::{Client, ResourceExt as _};

pub(crate) use self::others::Lookup;
use self::{
    elsewhere::{Elsewhere, Sight},
    others::Others,
    views::{HeldView, NamespaceView, RenderingView, ReportView, TemplateView, WorkerView},
};
use crate::engine::{
    execute::Written,
    key::ObjectKey,
    packing::Packer,
    rights::Missing,
    served::Definitions,
    table::{Row, Table},
    wakes::{Controller, Reader, Wakes},
    watch::{Read, version},
};

/// The controller of WorkspaceTemplateApplies, by the place of its queue.
pub(crate) const APPLIES: Controller = 0;
/// The controller of WorkspaceTemplates, by the place of its queue.
pub(crate) const TEMPLATES: Controller = 1;
/// The controller of Clusters, by the place of its queue.
pub(crate) const CLUSTERS: Controller = 2;
/// The controller of CAPTClusters, by the place of its queue.
pub(crate) const CAPTCLUSTERS: Controller = 3;
/// The controller of CAPTControlPlanes, by the place of its queue.
pub(crate) const CONTROLPLANES: Controller = 4;

/// How long nobody looks at what counts as at rest.
const RESTS_AFTER: Duration = Duration::from_secs(2);

/// All facts.
pub(crate) struct Facts {
    pub(crate) wakes: Arc<Wakes>,
    /// The namespaces that are watched.
    watched: NamespaceSet,
    templates_elsewhere: Arc<Elsewhere<TemplateView>>,
    workspaces_elsewhere: Arc<Elsewhere<WorkspaceSeen>>,
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) applies: Arc<Table<WorkspaceTemplateApply>>,
    pub(crate) templates: Arc<Table<TemplateView>>,
    pub(crate) workspaces: Arc<Table<WorkspaceSeen>>,
    pub(crate) cluster_workspaces: Arc<Table<WorkspaceSeen>>,
    pub(crate) clusters: Arc<Table<Cluster>>,
    pub(crate) captclusters: Arc<Table<CAPTCluster>>,
    pub(crate) captcontrolplanes: Arc<Table<CAPTControlPlane>>,
    /// One table for each of [`kinds::WORKERS`].
    pub(crate) workers: [Arc<Table<WorkerView>>; kinds::WORKERS.len()],
    pub(crate) provider_configs: Arc<Table<ProviderConfigSeen>>,
    pub(crate) cluster_provider_configs: Arc<Table<ProviderConfigSeen>>,
    pub(crate) legacy_provider_configs: Arc<Table<ProviderConfigSeen>>,
    pub(crate) usages: Arc<Table<()>>,
    pub(crate) legacy_usages: Arc<Table<()>>,
    pub(crate) secrets: Arc<Table<HeldView>>,
    pub(crate) config_maps: Arc<Table<HeldView>>,
    pub(crate) renderings: Arc<Table<RenderingView>>,
    pub(crate) reports: Arc<Table<ReportView>>,
    pub(crate) namespaces: Arc<Table<NamespaceView>>,
    others: Others,
    /// Rights that are missing.
    missing: Missing,
}

impl Facts {
    /// Tables of which nothing is known yet, about these namespaces.
    pub(crate) fn new(
        wakes: &Arc<Wakes>,
        client: &Client,
        watched: &NamespaceSet,
        missing: &Missing,
    ) -> Self {
        let scopes = watched.scopes();
        let definitions: Arc<Definitions> = Arc::new(Table::new("definitions", wakes, &[]));
        let workers = ["machine pools", "machine deployments", "machine sets", "machines"];
        Self {
            wakes: wakes.clone(),
            watched: watched.clone(),
            templates_elsewhere: Arc::new(Elsewhere::new("templates elsewhere", wakes)),
            workspaces_elsewhere: Arc::new(Elsewhere::new("workspaces elsewhere", wakes)),
            others: Others::new(
                client.clone(),
                &scopes,
                definitions.clone(),
                wakes.clone(),
                missing.clone(),
            ),
            missing: missing.clone(),
            definitions,
            applies: Arc::new(
                Table::new("applies", wakes, indexes::APPLIES)
                    .of_scopes(&scopes)
                    .of_controller(APPLIES)
                    .remembering(|wta| wta.annotations().contains_key(DELETE_FOR_MOVE))
                    .packed(),
            ),
            templates: Arc::new(
                Table::new("templates", wakes, indexes::TEMPLATES)
                    .of_scopes(&scopes)
                    .of_controller(TEMPLATES),
            ),
            workspaces: Arc::new(
                Table::new("workspaces", wakes, indexes::WORKSPACES)
                    .of_scopes(&scopes)
                    .packed_tight(),
            ),
            cluster_workspaces: Arc::new(
                Table::new("cluster workspaces", wakes, indexes::WORKSPACES).packed_tight(),
            ),
            clusters: Arc::new(
                Table::new("clusters", wakes, indexes::CLUSTERS)
                    .of_scopes(&scopes)
                    .of_controller(CLUSTERS)
                    .packed(),
            ),
            captclusters: Arc::new(
                Table::new("captclusters", wakes, indexes::CAPTCLUSTERS)
                    .of_scopes(&scopes)
                    .of_controller(CAPTCLUSTERS)
                    .packed(),
            ),
            captcontrolplanes: Arc::new(
                Table::new("captcontrolplanes", wakes, indexes::CAPTCONTROLPLANES)
                    .of_scopes(&scopes)
                    .of_controller(CONTROLPLANES)
                    .packed(),
            ),
            workers: workers
                .map(|name| Arc::new(Table::new(name, wakes, indexes::WORKERS).of_scopes(&scopes))),
            provider_configs: Arc::new(Table::new("provider configs", wakes, &[]).of_scopes(&scopes)),
            cluster_provider_configs: Arc::new(Table::new("cluster provider configs", wakes, &[])),
            legacy_provider_configs: Arc::new(Table::new("legacy provider configs", wakes, &[])),
            usages: Arc::new(Table::new("usages", wakes, &[]).of_scopes(&scopes)),
            legacy_usages: Arc::new(Table::new("legacy usages", wakes, &[])),
            secrets: Arc::new(
                Table::new("secrets", wakes, indexes::SECRETS)
                    .of_scopes(&scopes)
                    .packed(),
            ),
            config_maps: Arc::new(Table::new("config maps", wakes, &[]).of_scopes(&scopes).packed()),
            renderings: Arc::new(
                Table::new("renderings", wakes, &[])
                    .of_scopes(&scopes)
                    .packed_tight(),
            ),
            reports: Arc::new(
                Table::new("reports", wakes, indexes::REPORTS)
                    .of_scopes(&scopes)
                    .packed(),
            ),
            namespaces: Arc::new(Table::new("namespaces", wakes, &[]).of_scopes(&scopes)),
        }
    }

    /// The Workspaces of a group.
    pub(crate) fn workspaces_of(&self, group: WorkspaceGroup) -> &Table<WorkspaceSeen> {
        match group {
            WorkspaceGroup::Namespaced => &self.workspaces,
            WorkspaceGroup::ClusterScoped => &self.cluster_workspaces,
        }
    }

    /// A template, in whatever namespace.
    pub(crate) fn template(&self, reader: &Reader, key: &ObjectKey) -> Sight<Arc<TemplateView>> {
        if self.is_here(key) {
            let here = self.templates.glance(reader, indexes::SPEC, key);
            here.map_or(Sight::Absent, Sight::There)
        } else {
            self.templates_elsewhere.get(reader, key)
        }
    }

    /// A template, in whatever namespace, if it is there and may be read.
    pub(crate) async fn readable_template(
        &self,
        reader: &Reader,
        key: &ObjectKey,
    ) -> Option<Arc<TemplateView>> {
        let sight = match self.template(reader, key) {
            Sight::Unknown => self.templates_elsewhere.awaited(reader, key).await,
            sight => sight,
        };
        match sight {
            Sight::There(view) => Some(view),
            Sight::Unknown | Sight::Absent | Sight::Hidden => None,
        }
    }

    /// A Workspace of the namespaced group, in whatever namespace.
    pub(crate) fn workspace(&self, reader: &Reader, key: &ObjectKey) -> Sight<Arc<WorkspaceSeen>> {
        if self.is_here(key) {
            let here = self.workspaces.get(reader, key);
            here.map_or(Sight::Absent, Sight::There)
        } else {
            self.workspaces_elsewhere.get(reader, key)
        }
    }

    /// Whether everything in the namespace of an object is watched.
    fn is_here(&self, key: &ObjectKey) -> bool {
        self.watched.contains(key.namespace())
    }

    /// Whether the tables show what was written.
    pub(crate) fn have_seen(&self, written: &Written) -> bool {
        let (target, version) = (&written.target, written.version);
        let key = &match &target.namespace {
            Some(namespace) => ObjectKey::within(namespace, &target.name),
            None => ObjectKey::cluster_scoped(&target.name),
        };
        match target.kind.as_str() {
            "WorkspaceTemplateApply" => self.applies.has_seen(key, version),
            "WorkspaceTemplate" => self.templates.has_seen(key, version),
            "CAPTCluster" => self.captclusters.has_seen(key, version),
            "CAPTControlPlane" => self.captcontrolplanes.has_seen(key, version),
            "Cluster" => self.clusters.has_seen(key, version),
            "Workspace" if target.namespace.is_some() => self.workspaces.has_seen(key, version),
            "Workspace" => self.cluster_workspaces.has_seen(key, version),
            "Secret" if target.name.ends_with("-rendering") => self.renderings.has_seen(key, version),
            "Secret" => self.secrets.has_seen(key, version),
            "ConfigMap" => self.config_maps.has_seen(key, version),
            _ => true,
        }
    }

    /// Takes note of an object of ours as the API answered to a write.
    pub(crate) fn learn(&self, target: &Target, answer: &Document) {
        match target.kind.as_str() {
            "WorkspaceTemplateApply" => learn(&self.applies, answer, views::apply),
            "CAPTCluster" => learn(&self.captclusters, answer, views::captcluster),
            "CAPTControlPlane" => learn(&self.captcontrolplanes, answer, views::captcontrolplane),
            "Cluster" => learn(&self.clusters, answer, views::cluster),
            _ => {}
        }
    }

    /// Packs what nobody looks at. Never ends.
    pub(crate) async fn pack(self: Arc<Self>) {
        loop {
            tokio::time::sleep(RESTS_AFTER).await;
            let mut packer = Packer::default();
            self.applies.rest(&mut packer).await;
            self.workspaces.rest(&mut packer).await;
            self.cluster_workspaces.rest(&mut packer).await;
            self.clusters.rest(&mut packer).await;
            self.captclusters.rest(&mut packer).await;
            self.captcontrolplanes.rest(&mut packer).await;
            self.reports.rest(&mut packer).await;
            self.renderings.rest(&mut packer).await;
            self.secrets.rest(&mut packer).await;
            self.config_maps.rest(&mut packer).await;
            self.wakes.rest();
        }
    }

    /// Waits until everything there is was read once.
    pub(crate) async fn are_known(&self) {
        self.definitions.is_known().await;
        self.applies.is_known().await;
        self.templates.is_known().await;
        self.workspaces.is_known().await;
        self.cluster_workspaces.is_known().await;
        self.clusters.is_known().await;
        self.captclusters.is_known().await;
        self.captcontrolplanes.is_known().await;
        self.provider_configs.is_known().await;
        self.cluster_provider_configs.is_known().await;
        self.legacy_provider_configs.is_known().await;
        self.usages.is_known().await;
        self.legacy_usages.is_known().await;
        self.secrets.is_known().await;
        self.config_maps.is_known().await;
        self.renderings.is_known().await;
        self.reports.is_known().await;
        self.namespaces.is_known().await;
    }
}

fn learn<T: PartialEq>(table: &Table<T>, answer: &Document, read: Read<Document, T>) {
    let version = version(answer);
    let is_going = answer.metadata.deletion_timestamp.is_some();
    if version == 0 || is_going {
        return;
    }
    let value = read(answer.clone());
    if value.is_some() {
        let key = ObjectKey::of(&answer.metadata);
        table.learn(Row { key, version, value });
    }
}

/// The name of a Workspace within its group.
pub(crate) fn workspace_key(group: WorkspaceGroup, namespace: &str, name: &str) -> ObjectKey {
    match group {
        WorkspaceGroup::Namespaced => ObjectKey::within(namespace, name),
        WorkspaceGroup::ClusterScoped => ObjectKey::cluster_scoped(name),
    }
}
