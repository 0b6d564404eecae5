//! The objects that a graph is made of, as the API has them.

use capt_api::{CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply, foreign::Cluster};
use capt_core::graph::WorkspaceSeen;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// An object of a kind that something more is known about than a graph has.
pub(crate) enum Object<'a> {
    Cluster(&'a Cluster),
    CaptCluster(&'a CAPTCluster),
    ControlPlane(&'a CAPTControlPlane),
    Apply(&'a WorkspaceTemplateApply),
    Workspace(&'a WorkspaceSeen),
}

impl<'a> Object<'a> {
    /// Its metadata. Of a Workspace only some of it is known.
    pub(crate) fn metadata(&self) -> Option<&'a ObjectMeta> {
        match self {
            Self::Cluster(one) => Some(&one.metadata),
            Self::CaptCluster(one) => Some(&one.metadata),
            Self::ControlPlane(one) => Some(&one.metadata),
            Self::Apply(one) => Some(&one.metadata),
            Self::Workspace(_) => None,
        }
    }

    /// Its uid, if that is known.
    pub(crate) fn uid(&self) -> Option<String> {
        self.metadata()?.uid.clone()
    }

    /// It is being deleted.
    pub(crate) fn is_going(&self) -> bool {
        match self {
            Self::Workspace(one) => one.deleting,
            other => other
                .metadata()
                .is_some_and(|metadata| metadata.deletion_timestamp.is_some()),
        }
    }
}
