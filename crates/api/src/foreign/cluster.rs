//! Cluster of Cluster API, `cluster.x-k8s.io/v1beta2`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::Rest;
use crate::captcluster::FailureDomain;

/// What a cluster is to be like. Only the fields that capt uses are spelled out; others are kept.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Cluster",
    plural = "clusters",
    singular = "cluster",
    shortname = "cl",
    category = "cluster-api",
    namespaced,
    status = "ClusterStatus",
    derive = "PartialEq",
    doc = "Cluster of Cluster API, as far as capt uses it.",
    printcolumn(
        name = "AVAILABLE",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Available')].status",
        description = "Whether the cluster can be used"
    ),
    printcolumn(name = "PHASE", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "ENDPOINT",
        type_ = "string",
        json_path = ".spec.controlPlaneEndpoint.host",
        priority = 1
    )
)]
pub struct ClusterSpec {
    /// Nothing is done to the cluster while this is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,

    /// Where the API server answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ClusterEndpoint>,

    /// The control plane of the cluster, such as a CAPTControlPlane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_ref: Option<ContractReference>,

    /// The infrastructure of the cluster, such as a CAPTCluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_ref: Option<ContractReference>,

    /// Fields that capt does not use.
    #[serde(flatten)]
    pub rest: Rest,
}

/// Where the API server answers.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ClusterEndpoint {
    /// Host name or IP address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,

    /// TCP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
}

/// Names an object in the namespace of the Cluster that implements a contract of Cluster API.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ContractReference {
    /// API group of the object.
    pub api_group: String,

    /// Kind of the object.
    pub kind: String,

    /// Name of the object.
    pub name: String,
}

/// What is known about a cluster. Only the fields that capt uses are spelled out; others are kept.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// What was reached once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<ClusterInitialization>,

    /// Pending, Provisioning, Provisioned, Deleting or Unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,

    /// The availability zones of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub failure_domains: Option<Vec<FailureDomain>>,

    /// What can be said about the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,

    /// The generation of the spec that this status speaks about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Fields that capt does not use.
    #[serde(flatten)]
    pub rest: Rest,
}

/// What a cluster reached once.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ClusterInitialization {
    /// The infrastructure was ready once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,

    /// The control plane answered once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_initialized: Option<bool>,
}
