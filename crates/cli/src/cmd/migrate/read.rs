//! Reading what the Go implementation left behind.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    foreign::{Cluster, ClusterWorkspace, marks as foreign_marks},
};
use k8s_openapi::{
    api::apps::v1::Deployment,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};

use super::{endpoints::Misspelt, legacy::Candidate};
use crate::{
    look::{Scope, list},
    objects::{CallError, call_opt},
};

/// The CRD whose kind the Go implementation writes otherwise.
pub(super) const TEMPLATE_CRD: &str = "captcontrolplanetemplates.controlplane.cluster.x-k8s.io";
/// How we write its kind.
pub(super) const TEMPLATE_KIND: &str = "CAPTControlPlaneTemplate";
/// CRDs of the Go implementation that have no successor.
const MACHINES: [&str; 4] = [
    "captmachines",
    "captmachinesets",
    "captmachinedeployments",
    "captmachinetemplates",
];

/// What the Go implementation left behind, and what of ours is there.
#[derive(Clone, Debug, Default)]
pub(super) struct Left {
    pub(super) captclusters: Vec<CAPTCluster>,
    pub(super) control_planes: Vec<CAPTControlPlane>,
    pub(super) applies: Vec<WorkspaceTemplateApply>,
    pub(super) templates: Vec<WorkspaceTemplate>,
    /// Clusters whose endpoint is not written as one.
    pub(super) misspelt: Vec<Misspelt>,
    /// Cluster-scoped Workspaces.
    pub(super) workspaces: Vec<Candidate>,
    /// The CRD of templates, if its kind is written otherwise.
    pub(super) template_crd: Option<OldCrd>,
    /// CRDs of our kinds that somebody else installed.
    pub(super) old_crds: Vec<String>,
    /// CRDs that have no successor.
    pub(super) machine_crds: Vec<String>,
    /// ClusterClasses that refer to templates by the other kind, as `namespace/name`.
    pub(super) classes: Vec<String>,
    /// Deployments of the Go implementation that run, as `namespace/name`.
    pub(super) running: Vec<String>,
}

/// The CRD of templates as the Go implementation has it.
#[derive(Clone, Debug)]
pub(super) struct OldCrd {
    pub(super) crd: CustomResourceDefinition,
    pub(super) objects: Vec<DynamicObject>,
}

impl OldCrd {
    /// How its kind is written.
    pub(super) fn kind(&self) -> &str {
        &self.crd.spec.names.kind
    }
}

pub(super) async fn left(client: &Client, scope: &Scope) -> Result<Left, CallError> {
    let plain = ListParams::default();
    let (captclusters, control_planes, applies, templates) = tokio::try_join!(
        list::<CAPTCluster>(scope.api(client), &plain),
        list::<CAPTControlPlane>(scope.api(client), &plain),
        list::<WorkspaceTemplateApply>(scope.api(client), &plain),
        list::<WorkspaceTemplate>(scope.api(client), &plain),
    )?;
    let workspaces = list::<ClusterWorkspace>(Api::all(client.clone()), &plain).await?;
    let clusters = unless_refused(list::<Cluster>(scope.api(client), &plain).await)?;
    let control_planes = control_planes.unwrap_or_default();
    let mut left = Left {
        misspelt: clusters
            .iter()
            .flatten()
            .filter_map(|cluster| Misspelt::of(cluster, &control_planes))
            .collect(),
        captclusters: captclusters.unwrap_or_default(),
        control_planes,
        applies: applies.unwrap_or_default(),
        templates: templates.unwrap_or_default(),
        workspaces: workspaces
            .into_iter()
            .flatten()
            .map(|one| Candidate::of(&one))
            .collect(),
        classes: classes(client).await?,
        running: running(client).await?,
        ..Left::default()
    };
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    for ours in capt_api::crds() {
        let name = ours.name_any();
        let Some(crd) = call_opt(crds.get(&name)).await? else {
            continue;
        };
        if name == TEMPLATE_CRD && crd.spec.names.kind != TEMPLATE_KIND {
            let objects = objects_of(client, &crd).await?;
            left.template_crd = Some(OldCrd { crd, objects });
        } else if !crd.labels().contains_key(foreign_marks::CONTRACT_V1BETA2) {
            left.old_crds.push(name);
        }
    }
    for plural in MACHINES {
        let name = format!("{plural}.infrastructure.cluster.x-k8s.io");
        if call_opt(crds.get_metadata(&name)).await?.is_some() {
            left.machine_crds.push(name);
        }
    }
    Ok(left)
}

/// The objects of a CRD, whatever its kind.
pub(super) async fn objects_of(
    client: &Client,
    crd: &CustomResourceDefinition,
) -> Result<Vec<DynamicObject>, CallError> {
    let spec = &crd.spec;
    let version = spec.versions.iter().find(|version| version.storage);
    let version = version.map(|version| version.name.as_str()).unwrap_or("v1beta1");
    let gvk = GroupVersionKind::gvk(&spec.group, version, &spec.names.kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &spec.names.plural);
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    Ok(list(api, &ListParams::default()).await?.unwrap_or_default())
}

/// ClusterClasses that name a template by the other kind.
async fn classes(client: &Client) -> Result<Vec<String>, CallError> {
    for version in ["v1beta2", "v1beta1"] {
        let gvk = GroupVersionKind::gvk("cluster.x-k8s.io", version, "ClusterClass");
        let resource = ApiResource::from_gvk_with_plural(&gvk, "clusterclasses");
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let Some(found) = unless_refused(list(api, &ListParams::default()).await)? else {
            continue;
        };
        let names_it =
            |class: &DynamicObject| class.data.to_string().contains("\"CaptControlPlaneTemplate\"");
        return Ok(found.iter().filter(|class| names_it(class)).map(place).collect());
    }
    Ok(Vec::new())
}

/// Deployments of the Go implementation that have anything to run.
async fn running(client: &Client) -> Result<Vec<String>, CallError> {
    let api: Api<Deployment> = Api::all(client.clone());
    let found = unless_refused(list(api, &ListParams::default()).await)?;
    let is_of_go = |one: &Deployment| {
        let pod = one
            .spec
            .template
            .spec
            .as_ref()
            .filter(|_| one.spec.replicas != Some(0));
        let mut containers = pod.into_iter().flat_map(|pod| &pod.containers);
        containers.any(|container| {
            let image = container.image.as_deref().unwrap_or_default();
            image.contains("appthrust/capt")
        })
    };
    Ok(found
        .iter()
        .flatten()
        .filter(|one| is_of_go(one))
        .map(place)
        .collect())
}

fn place<K: kube::ResourceExt>(object: &K) -> String {
    match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    }
}

/// Who may not look at something sees the rest.
fn unless_refused<T>(found: Result<Option<T>, CallError>) -> Result<Option<T>, CallError> {
    match found {
        Err(CallError::Refused(_) | CallError::Forbidden(_)) => Ok(None),
        found => found,
    }
}
