//! Everything that a decision about a Cluster depends on, as plain data.

use capt_api::foreign::Cluster;

use super::contract::Contracted;
use crate::{crds::CrdObstacle, decision::Target};

/// What is known when it is decided about a Cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The object itself, from a watch.
    pub cluster: Cluster,
    /// A CustomResourceDefinition stands in the way of destruction. Read freshly for an object that is being deleted.
    pub crd_obstacle: Option<CrdObstacle>,
    /// What `spec.infrastructureRef` names. The kind's version is found by the contract label on its CRD, the object is
    /// looked up in the Cluster's own namespace and its kind is watched, mapped back by owner reference and, before it
    /// has one, by name.
    pub infrastructure: Referenced,
    /// What `spec.controlPlaneRef` names, gathered in the same way.
    pub control_plane: Referenced,
    /// MachinePools, MachineDeployments, MachineSets and Machines in the Cluster's namespace that have its name in the
    /// label `cluster.x-k8s.io/cluster-name`, without Machines of a control plane. None where these kinds are not
    /// served.
    pub workers: Vec<Worker>,
}

/// What a reference of a Cluster leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Referenced {
    /// The spec names nothing.
    Unset,
    /// It cannot be looked up: the kind is not served, or its CRD has no contract label. In words.
    Unresolvable(String),
    /// It does not exist.
    Missing,
    /// It exists.
    Found(Box<Contracted>),
}

impl Referenced {
    /// The object, if it exists.
    pub(super) fn found(&self) -> Option<&Contracted> {
        match self {
            Self::Found(object) => Some(object),
            _ => None,
        }
    }
}

/// Something that runs workloads of a Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Which object.
    pub target: Target,
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// It is going away.
    pub deleting: bool,
    /// The Cluster itself owns it, rather than another worker.
    pub owned_by_cluster: bool,
}
