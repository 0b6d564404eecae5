//! What depends on what.

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// What depends on what: nodes are objects, edges lead from an object to those that it needs.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct DependencyGraph {
    /// The objects, by an id that the edges use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<BTreeMap<String, ResourceNode>>,

    /// For the id of an object, the ids of those that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edges: Option<BTreeMap<String, Vec<String>>>,
}

/// An object in the graph.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ResourceNode {
    /// Kind of the object, such as Cluster, CAPTControlPlane or Workspace.
    #[serde(rename = "type")]
    pub type_: String,

    /// Name of the object.
    pub name: String,

    /// One word for how it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}
