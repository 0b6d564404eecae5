//! CAPTControlPlaneTemplate: the CAPTControlPlane of every cluster made from a ClusterClass.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::{
    captcontrolplane::{
        AdditionalFargateProfile, ControlPlaneConfig, EndpointCheck, KubeconfigSpec, RecoverySpec,
    },
    references::WorkspaceTemplateReference,
    tags,
    tags::Tags,
    version::Version,
};

/// What a ClusterClass makes CAPTControlPlanes from.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "controlplane.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "CAPTControlPlaneTemplate",
    plural = "captcontrolplanetemplates",
    singular = "captcontrolplanetemplate",
    shortname = "captcpt",
    category = "capt",
    category = "cluster-api",
    namespaced,
    derive = "PartialEq",
    doc = "CAPTControlPlaneTemplate is what a ClusterClass makes the CAPTControlPlane of each of its clusters from. \
           It may be edited: the clusters follow when Cluster API next looks at them, by default within ten minutes.",
    printcolumn(
        name = "TEMPLATE",
        type_ = "string",
        json_path = ".spec.template.spec.workspaceTemplateRef.name",
        description = "The WorkspaceTemplate that control planes are made from"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct CAPTControlPlaneTemplateSpec {
    /// The CAPTControlPlane to make.
    pub template: CAPTControlPlaneTemplateResource,
}

/// The CAPTControlPlane to make.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CAPTControlPlaneTemplateResource {
    /// Labels and annotations of the CAPTControlPlane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,

    /// Spec of the CAPTControlPlane.
    pub spec: CAPTControlPlaneTemplateResourceSpec,
}

/// Spec of the CAPTControlPlane, without what belongs to one cluster only.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(tags::IN_ALL).message(tags::IN_ALL_MESSAGE))]
pub struct CAPTControlPlaneTemplateResourceSpec {
    /// Kubernetes version. Leave it out: a Cluster says in spec.topology.version which one it wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,

    /// The template to make EKS control planes from.
    pub workspace_template_ref: WorkspaceTemplateReference,

    /// Settings of the EKS control planes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_config: Option<ControlPlaneConfig>,

    /// AWS tags for everything that is made, on top of those that the template sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "tags::schema")]
    pub additional_tags: Option<Tags>,

    /// Fargate profiles of the clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[x_kube(validation = Rule::new("self.all(one, self.exists_one(other, other.name == one.name))").message(
        "profile names must differ: give every profile a name of its own"))]
    pub additional_fargate_profiles: Option<Vec<AdditionalFargateProfile>>,

    /// How the clusters' kubeconfigs are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<KubeconfigSpec>,

    /// Whether a cluster must answer before it counts as ready. Required if left out, but Optional where
    /// controlPlaneConfig.endpointAccess.public is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint_check: Option<EndpointCheck>,

    /// What is done by itself when something breaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoverySpec>,
}

/// Labels and annotations of the objects made from a template.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TemplateMetadata {
    /// Labels to set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,

    /// Annotations to set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}
