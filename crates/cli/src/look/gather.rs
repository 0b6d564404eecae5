//! Reading everything that a look is about, with a few lists.

use std::collections::BTreeSet;

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    foreign::{Cluster, ClusterWorkspace, Workspace},
    marks,
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, Resource, ResourceExt as _,
    api::ListParams,
    core::{NamespaceResourceScope, PartialObjectMeta},
};
use serde::de::DeserializeOwned;

use crate::objects::{CallError, call_opt};

/// Objects on one page of a list.
const PAGE: u32 = 500;
/// Objects of one kind that are looked at.
const MOST: usize = 20_000;
/// Templates of other namespaces that are looked at.
const MOST_ELSEWHERE: usize = 100;

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In one namespace.
    Namespace(String),
    /// In all of them.
    All,
}

impl Scope {
    pub(crate) fn api<K>(&self, client: &Client) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        match self {
            Self::Namespace(namespace) => Api::namespaced(client.clone(), namespace),
            Self::All => Api::all(client.clone()),
        }
    }

    pub(super) fn holds(&self, namespace: &str) -> bool {
        match self {
            Self::Namespace(own) => own == namespace,
            Self::All => true,
        }
    }
}

/// Kinds that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    Clusters,
    CaptClusters,
    ControlPlanes,
    Applies,
    Templates,
    Workspaces,
    ClusterWorkspaces,
    Secrets,
    Reports,
}

/// Objects as the API has them.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    pub(super) clusters: Vec<Cluster>,
    pub(super) captclusters: Vec<CAPTCluster>,
    pub(super) control_planes: Vec<CAPTControlPlane>,
    pub(super) applies: Vec<WorkspaceTemplateApply>,
    pub(super) templates: Vec<WorkspaceTemplate>,
    pub(super) workspaces: Vec<Workspace>,
    pub(super) cluster_workspaces: Vec<ClusterWorkspace>,
    pub(super) secrets: Vec<PartialObjectMeta<Secret>>,
    pub(super) reports: Vec<ConfigMap>,
    /// Kinds that the API does not have.
    pub(super) absent: BTreeSet<Sort>,
    /// Kinds that we may not look at.
    pub(super) unseen: BTreeSet<Sort>,
    /// Templates of other namespaces that we may not look at, as `namespace/name`.
    pub(super) unseen_templates: BTreeSet<String>,
}

/// Reads everything that there is.
pub(crate) async fn gather(client: &Client, scope: &Scope) -> Result<super::Gathered, CallError> {
    let objects = read(client, scope).await?;
    Ok(super::Gathered::new(
        objects,
        scope,
        k8s_openapi::jiff::Timestamp::now(),
    ))
}

pub(super) async fn read(client: &Client, scope: &Scope) -> Result<Objects, CallError> {
    let plain = ListParams::default();
    let of_runs = ListParams::default().labels(marks::RUN_OF);
    let (clusters, captclusters, control_planes, applies, templates) = tokio::try_join!(
        list::<Cluster>(scope.api(client), &plain),
        list::<CAPTCluster>(scope.api(client), &plain),
        list::<CAPTControlPlane>(scope.api(client), &plain),
        list::<WorkspaceTemplateApply>(scope.api(client), &plain),
        list::<WorkspaceTemplate>(scope.api(client), &plain),
    )?;
    // Who may not see all of these still sees what the others say.
    let (workspaces, cluster_workspaces, secrets, reports) = tokio::join!(
        list::<Workspace>(scope.api(client), &plain),
        list::<ClusterWorkspace>(Api::all(client.clone()), &plain),
        list::<PartialObjectMeta<Secret>>(scope.api(client), &plain),
        list::<ConfigMap>(scope.api(client), &of_runs),
    );
    let mut objects = Objects::default();
    objects.clusters = objects.present(Sort::Clusters, clusters);
    objects.captclusters = objects.present(Sort::CaptClusters, captclusters);
    objects.control_planes = objects.present(Sort::ControlPlanes, control_planes);
    objects.applies = objects.present(Sort::Applies, applies);
    objects.templates = objects.present(Sort::Templates, templates);
    objects.workspaces = objects.allowed(Sort::Workspaces, workspaces)?;
    objects.cluster_workspaces = objects.allowed(Sort::ClusterWorkspaces, cluster_workspaces)?;
    objects.secrets = objects.allowed(Sort::Secrets, secrets)?;
    objects.reports = objects.allowed(Sort::Reports, reports)?;
    objects.read_elsewhere(client, scope).await?;
    Ok(objects)
}

impl Objects {
    fn present<K>(&mut self, sort: Sort, found: Option<Vec<K>>) -> Vec<K> {
        if found.is_none() {
            self.absent.insert(sort);
        }
        found.unwrap_or_default()
    }

    fn allowed<K>(
        &mut self,
        sort: Sort,
        found: Result<Option<Vec<K>>, CallError>,
    ) -> Result<Vec<K>, CallError> {
        match found {
            Ok(found) => Ok(self.present(sort, found)),
            Err(CallError::Refused(_) | CallError::Forbidden(_)) => {
                self.unseen.insert(sort);
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    /// Reads the templates of other namespaces that are referred to and are not known yet.
    pub(super) async fn read_elsewhere(&mut self, client: &Client, scope: &Scope) -> Result<(), CallError> {
        let known: BTreeSet<(String, String)> = self
            .templates
            .iter()
            .map(|template| (template.namespace().unwrap_or_default(), template.name_any()))
            .collect();
        let named: BTreeSet<(String, String)> = self
            .applies
            .iter()
            .filter_map(|apply| {
                let reference = &apply.spec.template_ref;
                Some((reference.namespace.clone()?, reference.name.clone()))
            })
            .filter(|(namespace, _)| !scope.holds(namespace))
            .collect();
        for (namespace, name) in named.difference(&known).take(MOST_ELSEWHERE) {
            let api: Api<WorkspaceTemplate> = Api::namespaced(client.clone(), namespace);
            match call_opt(api.get(name)).await {
                Ok(template) => self.templates.extend(template),
                Err(CallError::Refused(_) | CallError::Forbidden(_)) => {
                    self.unseen_templates.insert(format!("{namespace}/{name}"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// All objects of a kind, or none if there is no such kind.
pub(crate) async fn list<K>(api: Api<K>, params: &ListParams) -> Result<Option<Vec<K>>, CallError>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let mut found = Vec::new();
    let mut params = params.clone().limit(PAGE);
    loop {
        let Some(page) = call_opt(api.list(&params)).await? else {
            return Ok(None);
        };
        found.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) if found.len() < MOST => params = params.continue_token(&token),
            _ => return Ok(Some(found)),
        }
    }
}
