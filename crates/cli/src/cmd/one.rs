//! Finding the one object that a command shows.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    foreign::{Cluster as CapiCluster, Workspace},
};

use crate::{
    access::Cluster,
    look::{self, Scope, gather, kinds::ids, tree::Gathered},
    objects::ObjectError,
    target::{Kind, Placed, Target},
};

/// Templates are made of nothing.
#[derive(Debug, thiserror::Error)]
#[error("{target} has no parts to show; see what it would change: capt plan {0}", target = .0.target)]
struct NoParts(Placed);

/// An object that was found.
pub(super) struct Found {
    /// The object, with everything around it.
    pub(super) gathered: Gathered,
    /// Where it was looked for.
    pub(super) scope: Scope,
}

/// Finds an object in the namespace, or a Workspace that belongs to none.
pub(super) async fn find(cluster: &Cluster, target: &Target) -> anyhow::Result<Found> {
    let mut places = vec![(
        Scope::Namespace(cluster.namespace.clone()),
        cluster.namespace.as_str(),
    )];
    match target.kind {
        Kind::Template => return Err(NoParts(target.clone().placed(Some(cluster.namespace.clone()))).into()),
        Kind::Workspace(_) => places.push((Scope::All, "")),
        _ => {}
    }
    for (scope, namespace) in places {
        let everything = gather(&cluster.client, &scope).await?;
        if let Some(gathered) = pick(everything, namespace, target) {
            return Ok(Found { gathered, scope });
        }
    }
    Err(missing(cluster, target.kind, &target.name).await.into())
}

/// The object among all that was read.
fn pick(everything: look::Gathered, namespace: &str, target: &Target) -> Option<Gathered> {
    let mut found = Gathered::of(everything, namespace, "");
    for id in ids(target) {
        found.root = id;
        if found.is_there() {
            return Some(found);
        }
    }
    None
}

/// Says that something is not there, and what may have been meant.
pub(super) async fn missing(cluster: &Cluster, kind: Kind, name: &str) -> ObjectError {
    match kind {
        Kind::Cluster => cluster.missing::<CapiCluster>(kind, name).await,
        Kind::CaptCluster => cluster.missing::<CAPTCluster>(kind, name).await,
        Kind::ControlPlane => cluster.missing::<CAPTControlPlane>(kind, name).await,
        Kind::Apply => cluster.missing::<WorkspaceTemplateApply>(kind, name).await,
        Kind::Workspace(_) => cluster.missing::<Workspace>(kind, name).await,
        Kind::Template => cluster.missing::<WorkspaceTemplate>(kind, name).await,
    }
}
