//! The facts that decisions are made from, one table for each kind, kept up to date by watches.
//!
//! Of every object only what is used is kept. This module must never know what is decided.

pub(crate) mod indexes;
mod kinds;
pub(crate) mod views;
mod watches;

use std::sync::Arc;

use capt_api::WorkspaceTemplateApply;
use capt_core::{
    render::WorkspaceGroup,
    wta::snapshot::{ClusterSeen, KeptSeen, ProviderConfigSeen, WorkspaceSeen},
};

use self::views::{HeldView, NamespaceView, OwnerView, ReportView, TemplateView};
use crate::engine::{
    served::Definitions,
    table::Table,
    wakes::{Controller, Wakes},
};

/// The controller of WorkspaceTemplateApplies, by the place of its queue.
pub(crate) const APPLIES: Controller = 0;
/// The controller of WorkspaceTemplates, by the place of its queue.
pub(crate) const TEMPLATES: Controller = 1;

/// All facts.
pub(crate) struct Facts {
    pub(crate) wakes: Arc<Wakes>,
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) applies: Arc<Table<WorkspaceTemplateApply>>,
    pub(crate) templates: Arc<Table<TemplateView>>,
    pub(crate) workspaces: Arc<Table<WorkspaceSeen>>,
    pub(crate) cluster_workspaces: Arc<Table<WorkspaceSeen>>,
    pub(crate) clusters: Arc<Table<ClusterSeen>>,
    pub(crate) captclusters: Arc<Table<OwnerView>>,
    pub(crate) captcontrolplanes: Arc<Table<OwnerView>>,
    pub(crate) provider_configs: Arc<Table<ProviderConfigSeen>>,
    pub(crate) cluster_provider_configs: Arc<Table<ProviderConfigSeen>>,
    pub(crate) legacy_provider_configs: Arc<Table<ProviderConfigSeen>>,
    pub(crate) usages: Arc<Table<()>>,
    pub(crate) legacy_usages: Arc<Table<()>>,
    pub(crate) secrets: Arc<Table<HeldView>>,
    pub(crate) config_maps: Arc<Table<HeldView>>,
    pub(crate) renderings: Arc<Table<KeptSeen>>,
    pub(crate) reports: Arc<Table<ReportView>>,
    pub(crate) namespaces: Arc<Table<NamespaceView>>,
}

impl Facts {
    /// Tables of which nothing is known yet.
    pub(crate) fn new(wakes: &Arc<Wakes>) -> Self {
        Self {
            wakes: wakes.clone(),
            definitions: Arc::new(Table::new("definitions", wakes, &[])),
            applies: Arc::new(Table::new("applies", wakes, indexes::APPLIES).of_controller(APPLIES)),
            templates: Arc::new(Table::new("templates", wakes, &[]).of_controller(TEMPLATES)),
            workspaces: Arc::new(Table::new("workspaces", wakes, indexes::WORKSPACES)),
            cluster_workspaces: Arc::new(Table::new("cluster workspaces", wakes, indexes::WORKSPACES)),
            clusters: Arc::new(Table::new("clusters", wakes, &[])),
            captclusters: Arc::new(Table::new("captclusters", wakes, indexes::OWNERS)),
            captcontrolplanes: Arc::new(Table::new("captcontrolplanes", wakes, indexes::OWNERS)),
            provider_configs: Arc::new(Table::new("provider configs", wakes, &[])),
            cluster_provider_configs: Arc::new(Table::new("cluster provider configs", wakes, &[])),
            legacy_provider_configs: Arc::new(Table::new("legacy provider configs", wakes, &[])),
            usages: Arc::new(Table::new("usages", wakes, &[])),
            legacy_usages: Arc::new(Table::new("legacy usages", wakes, &[])),
            secrets: Arc::new(Table::new("secrets", wakes, indexes::SECRETS)),
            config_maps: Arc::new(Table::new("config maps", wakes, &[])),
            renderings: Arc::new(Table::new("renderings", wakes, &[])),
            reports: Arc::new(Table::new("reports", wakes, indexes::REPORTS)),
            namespaces: Arc::new(Table::new("namespaces", wakes, &[])),
        }
    }

    /// The Workspaces of a group.
    pub(crate) fn workspaces_of(&self, group: WorkspaceGroup) -> &Table<WorkspaceSeen> {
        match group {
            WorkspaceGroup::Namespaced => &self.workspaces,
            WorkspaceGroup::ClusterScoped => &self.cluster_workspaces,
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
