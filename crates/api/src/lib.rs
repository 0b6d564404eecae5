//! The nouns of capt: its six kinds, their conditions and reasons, the marks it leaves on objects, and lean views
//! of the few foreign kinds it reads and writes.
//!
//! The Rust structs are the source of everything a cluster learns about these kinds: schemas, defaults, admission
//! rules, list types and printer columns are derived from them, and doc comments are what `kubectl explain` prints.
//!
//! This crate must never know how anything is decided or done: no I/O, no async, no clock, no client. It knows what
//! a well-formed object looks like and nothing about when one should exist.

// KubeSchema expands every struct into a function-local copy with the visibility of the original.
#![allow(unreachable_pub)]
// The lint takes the columns of a kind, which are all alike, for one attribute repeated by mistake.
#![allow(clippy::duplicated_attributes)]

pub mod approval;
pub mod captcluster;
pub mod captclustertemplate;
pub mod captcontrolplane;
pub mod captcontrolplanetemplate;
pub mod conditions;
pub mod duration;
pub mod endpoint;
pub mod foreign;
pub mod lean;
pub mod manifests;
pub mod marks;
pub mod references;
pub mod refusals;
pub mod region;
pub mod run;
mod schema;
pub mod tags;
pub mod version;
pub mod workspacestatus;
pub mod workspacetemplate;
pub mod workspacetemplateapply;

pub use captcluster::CAPTCluster;
pub use captclustertemplate::CAPTClusterTemplate;
pub use captcontrolplane::CAPTControlPlane;
pub use captcontrolplanetemplate::CAPTControlPlaneTemplate;
pub use workspacetemplate::WorkspaceTemplate;
pub use workspacetemplateapply::WorkspaceTemplateApply;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

/// API group of the infrastructure kinds, and prefix of every label and annotation of ours.
pub const INFRASTRUCTURE_GROUP: &str = "infrastructure.cluster.x-k8s.io";
/// API group of the control plane kinds.
pub const CONTROL_PLANE_GROUP: &str = "controlplane.cluster.x-k8s.io";
/// API version of all six kinds.
pub const VERSION: &str = "v1beta1";

/// The CRDs of our six kinds, ready to install.
///
/// Prefer this to the derived `crd()` of a kind, which lacks the labels and the finishing touches.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        schema::finish_own(CAPTCluster::crd()),
        schema::finish_own(CAPTClusterTemplate::crd()),
        schema::finish_own(CAPTControlPlane::crd()),
        schema::finish_own(CAPTControlPlaneTemplate::crd()),
        schema::finish_own(WorkspaceTemplate::crd()),
        schema::finish_own(WorkspaceTemplateApply::crd()),
    ]
}
