//! Everything that a decision about a CAPTCluster depends on, as plain data.

use capt_api::{
    CAPTCluster, INFRASTRUCTURE_GROUP,
    foreign::{
        Cluster,
        cluster::{ClusterEndpoint, ContractReference},
        marks as foreign_marks,
    },
    marks,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::secrets::SecretSeen;
use crate::{
    crds::CrdObstacle,
    metadata,
    owned::{Left, OwnedSeen, Peer},
    render::Template,
};

/// What is known when it is decided about a CAPTCluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The object itself, from a watch.
    pub captcluster: CAPTCluster,
    /// The Cluster that [`owner`] names, in the object's namespace, if it exists. From the cache of Clusters; every
    /// Cluster is mapped to the objects that it owns and to the one that its `spec.infrastructureRef` names.
    pub cluster: Option<ClusterSeen>,
    /// Where no Cluster owns the object yet: the name of one whose `spec.infrastructureRef` names it and that is paused, by
    /// `spec.paused` or by the annotation. It does not take anything over before its pause ends. From the cache of Clusters.
    pub paused_by: Option<String>,
    /// Control planes that exist and stand in this network, also while they are going, as `Kind name`. A network is that
    /// of the Cluster that [`owner`] names, that the label `cluster.x-k8s.io/cluster-name` of the object or of its
    /// WorkspaceTemplateApply names, and of every Cluster whose `spec.infrastructureRef` names the object: a reference
    /// that was stripped must not hide anybody. Of each of these Clusters it is the CAPTControlPlanes of the namespace with
    /// an owner reference to it, or with its name in the label `cluster.x-k8s.io/cluster-name`; and what its
    /// `spec.controlPlaneRef` names, of whatever kind that [`may_be_control_plane`], unless it is known not to exist. For an object that is going away
    /// this must be read freshly.
    pub control_planes: Vec<String>,
    /// WorkspaceTemplateApplies of the namespace that carry the object's label `owner`, or have an owner reference to it,
    /// or have one of the names in [`super::apply_names`]. From the cache of WorkspaceTemplateApplies.
    pub applies: Vec<OwnedSeen>,
    /// The template that `spec.vpcTemplateRef` names, if it exists. From the cache of WorkspaceTemplates.
    pub template: Option<TemplateSeen>,
    /// Other WorkspaceTemplateApplies with a recorded owner that use the same template, in all namespaces
    /// ([`Peer::of`]). Leave it empty unless [`crate::owned::needs_peers`] says so for [`super::apply_of`]; who has to
    /// decide again when one of them changes is told by [`crate::owned::next_in_line`].
    pub peers: Vec<Peer>,
    /// uid of the Workspace of the network: of the one that is [`super::apply_of`]'s by its labels or its namespace or,
    /// if there is no WorkspaceTemplateApply, of the one that says by its labels that it is [`super::apply_name`]'s.
    /// From the caches of Workspaces.
    pub workspace_uid: Option<String>,
    /// The Secret that this Workspace writes: its `spec.writeConnectionSecretToRef`. In a namespaced group, the namespace
    /// is the Workspace's.
    pub workspace_secret: Option<SecretName>,
    /// A CustomResourceDefinition stands in the way of destruction. Read freshly for an object that is being deleted.
    pub crd_obstacle: Option<CrdObstacle>,
    /// What is left of the WorkspaceTemplateApply that [`super::name_left`] says, if anything is. From the caches of Workspaces.
    pub left: Option<Left>,
    /// The Secrets of [`super::secrets_to_read`] (with [`super::apply_of`]) that exist, by [`SecretSeen::of`]. Watch Secrets
    /// by these names.
    pub secrets: Vec<SecretSeen>,
}

/// Whether what a Cluster names as its control plane may be one. A network is none, and would wait for itself.
#[must_use]
pub fn may_be_control_plane(reference: &ContractReference) -> bool {
    reference.kind != "CAPTCluster" || reference.api_group != INFRASTRUCTURE_GROUP
}

/// Names a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The Cluster that owns a CAPTCluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterSeen {
    /// Its name.
    pub name: String,
    /// `spec.paused`.
    pub paused: bool,
    /// It is going away.
    pub deleting: bool,
    /// `spec.controlPlaneEndpoint`.
    pub endpoint: Option<ClusterEndpoint>,
}

impl ClusterSeen {
    /// What counts of a Cluster.
    #[must_use]
    pub fn of(cluster: &Cluster) -> Self {
        Self {
            name: cluster.metadata.name.clone().unwrap_or_default(),
            paused: cluster.spec.paused == Some(true),
            deleting: metadata::is_deleting(&cluster.metadata),
            endpoint: cluster.spec.control_plane_endpoint.clone(),
        }
    }
}

/// The template of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateSeen {
    /// Its revision now.
    pub revision: String,
    /// It names a Secret that outputs are written to.
    pub names_secret: bool,
}

impl TemplateSeen {
    /// What counts of a template.
    #[must_use]
    pub fn of(template: &Template) -> Self {
        let spec = template.spec();
        Self {
            revision: template.revision().to_owned(),
            names_secret: spec.write_connection_secret_to_ref.is_some()
                || spec.template.spec.write_connection_secret_to_ref.is_some(),
        }
    }
}

/// Name of the Cluster that an object belongs to: by its owner references or, where something was begun for it and the
/// reference was stripped since, by its label.
#[must_use]
pub fn owner(captcluster: &CAPTCluster) -> Option<&str> {
    let metadata = &captcluster.metadata;
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let is_begun = metadata::has_finalizer(metadata, marks::CAPTCLUSTER_FINALIZER);
    metadata::cluster_owner(owners)
        .map(|owner| owner.name.as_str())
        .or_else(|| metadata::label(metadata, foreign_marks::CLUSTER_NAME).filter(|_| is_begun))
}

/// The Cluster among the owners of an object.
#[must_use]
pub fn owning_cluster(owners: &[OwnerReference]) -> Option<&OwnerReference> {
    metadata::cluster_owner(owners)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_no_control_plane() {
        for (group, kind, expected) in [
            ("infrastructure.cluster.x-k8s.io", "CAPTCluster", false),
            ("controlplane.cluster.x-k8s.io", "CAPTControlPlane", true),
            ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", true),
            ("example.org", "CAPTCluster", true),
        ] {
            let reference = ContractReference {
                api_group: group.to_owned(),
                kind: kind.to_owned(),
                name: "blue".to_owned(),
            };
            assert_eq!(may_be_control_plane(&reference), expected, "{group} {kind}");
        }
    }
}
