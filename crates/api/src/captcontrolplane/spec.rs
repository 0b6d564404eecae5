//! What a user asks of an EKS control plane.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AdditionalFargateProfile, CAPTControlPlaneStatus, RecoverySpec};
use crate::{
    duration::Timeout, endpoint::ApiEndpoint, references::WorkspaceTemplateReference, region::Region, tags,
    tags::Tags, version::Version,
};

/// What the EKS control plane is to be like.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "controlplane.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "CAPTControlPlane",
    plural = "captcontrolplanes",
    singular = "captcontrolplane",
    shortname = "captcp",
    category = "capt",
    category = "cluster-api",
    namespaced,
    status = "CAPTControlPlaneStatus",
    derive = "PartialEq",
    doc = "CAPTControlPlane is an EKS control plane with its Fargate profiles, made by Terraform from \
           WorkspaceTemplates. It is the control plane that a Cluster of Cluster API refers to.",
    printcolumn(
        name = "READY",
        type_ = "boolean",
        json_path = ".status.ready",
        description = "Whether the control plane serves"
    ),
    printcolumn(
        name = "PHASE",
        type_ = "string",
        json_path = ".status.phase",
        description = "Creating, Ready, Failed or Deleting"
    ),
    printcolumn(
        name = "VERSION",
        type_ = "string",
        json_path = ".status.version",
        description = "The Kubernetes version that runs"
    ),
    printcolumn(
        name = "ENDPOINT",
        type_ = "string",
        json_path = ".status.endpoint",
        description = "Where the cluster's API server answers"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "CLUSTER",
        type_ = "string",
        json_path = r".metadata.labels['cluster\.x-k8s\.io/cluster-name']",
        description = "The Cluster that this belongs to",
        priority = 1
    ),
    printcolumn(
        name = "WANTED",
        type_ = "string",
        json_path = ".spec.version",
        description = "The Kubernetes version that is wanted",
        priority = 1
    ),
    printcolumn(
        name = "STATE",
        type_ = "string",
        json_path = ".status.state",
        description = "What is going on, in more detail than the phase",
        priority = 1
    ),
    printcolumn(
        name = "PROFILES",
        type_ = "string",
        json_path = ".status.fargateProfilesReady",
        description = "How many Fargate profiles are ready",
        priority = 1
    ),
    printcolumn(
        name = "PROGRESS",
        type_ = "integer",
        json_path = ".status.progress.percentComplete",
        description = "How far the running operation is, in per cent",
        priority = 1
    ),
    printcolumn(
        name = "HEALTH",
        type_ = "string",
        json_path = ".status.health.status",
        description = "What the health checks say together",
        priority = 1
    ),
    printcolumn(
        name = "REASON",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].reason",
        description = "Why it is ready or not",
        priority = 1
    )
)]
#[x_kube(validation = Rule::new(
    "!has(oldSelf.controlPlaneConfig) || !has(oldSelf.controlPlaneConfig.region) || \
     !has(self.controlPlaneConfig) || !has(self.controlPlaneConfig.region) || \
     self.controlPlaneConfig.region == oldSelf.controlPlaneConfig.region"
).message("controlPlaneConfig.region cannot be changed once it is set: keep it, or take it out so that the region of the \
           CAPTCluster counts"))]
#[x_kube(validation = Rule::new(tags::IN_ALL).message(tags::IN_ALL_MESSAGE))]
pub struct CAPTControlPlaneSpec {
    /// Kubernetes version: 1.31, v1.31 or v1.31.2; EKS looks at the first two numbers. A higher one upgrades the
    /// cluster, one minor version at a time.
    pub version: Version,

    /// The template to make the EKS control plane from.
    pub workspace_template_ref: WorkspaceTemplateReference,

    /// Settings of the EKS control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_config: Option<ControlPlaneConfig>,

    /// AWS tags for everything that is made here, on top of those that the template sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "tags::schema")]
    pub additional_tags: Option<Tags>,

    /// Fargate profiles of the cluster. They are made after the control plane, one at a time, as EKS demands.
    /// Removing one from the list removes it from AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[x_kube(validation = Rule::new("self.all(one, self.exists_one(other, other.name == one.name))").message(
        "profile names must differ: give every profile a name of its own"))]
    pub additional_fargate_profiles: Option<Vec<AdditionalFargateProfile>>,

    /// Where the cluster's API server answers. capt fills this in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,

    /// The WorkspaceTemplateApply that makes the control plane. capt fills this in; set it to take over one that
    /// exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub workspace_template_apply_name: Option<String>,

    /// Name of the Secret with the facts about the EKS cluster, in this object's namespace. Left out, it is the one
    /// that the template names, or else the name of this object followed by -eks-connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub connection_secret_name: Option<String>,

    /// How the cluster's kubeconfig is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<KubeconfigSpec>,

    /// Whether the cluster must answer before it counts as ready. Required if left out, but Optional where
    /// controlPlaneConfig.endpointAccess.public is false: a private endpoint may be out of capt's reach and yet fine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint_check: Option<EndpointCheck>,

    /// What is done by itself when something breaks. Nothing that would destroy or replace what serves is done
    /// without an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoverySpec>,
}

/// Settings of an EKS control plane.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneConfig {
    /// AWS region. Left out, it is the one of the CAPTCluster, and no other is accepted. Cannot be changed once set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,

    /// From where the API server can be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint_access: Option<EndpointAccess>,

    /// EKS add-ons to install.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub addons: Option<Vec<Addon>>,

    /// How long the steps may take. Paused time does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<ControlPlaneTimeouts>,
}

/// From where the API server of a cluster can be reached.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "!has(self.public) || self.public || !has(self.private) || self.private"
    ).message("set public or private to true: an API server that nobody can reach is of no use"),
    validation = Rule::new("!has(self.publicCIDRs) || !has(self.public) || self.public").message(
        "remove publicCIDRs or set public to true: they limit who reaches the public endpoint")
     .field_path(".publicCIDRs")
)]
pub struct EndpointAccess {
    /// From the internet. The template decides if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public: Option<bool>,

    /// From inside the VPC. The template decides if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<bool>,

    /// Who may use the public endpoint, such as 203.0.113.0/24. Everybody if left out.
    #[serde(rename = "publicCIDRs", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 40), inner(length(max = 43)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[x_kube(validation = Rule::new("self.all(block, isCIDR(block))").message(
        "write address blocks in CIDR form, such as 203.0.113.0/24"))]
    pub public_cidrs: Option<Vec<String>>,
}

/// An EKS add-on.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Addon {
    /// Name that EKS gives the add-on, such as vpc-cni or coredns.
    #[schemars(length(min = 1, max = 100))]
    #[x_kube(validation = Rule::new("self.matches('^[0-9A-Za-z][A-Za-z0-9_-]*$')").message(
        "write the name of an EKS add-on in letters, digits, - and _, such as vpc-cni"))]
    pub name: String,

    /// Version of the add-on, such as v1.19.0-eksbuild.1. The default of the cluster's version if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub version: Option<String>,

    /// Settings of the add-on, as JSON text by the add-on's own schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration_values: Option<String>,
}

/// How long the steps of a control plane may take: minutes as a number, or a duration such as 45m.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneTimeouts {
    /// From ready infrastructure until the control plane is initialized. 30 minutes if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_timeout: Option<Timeout>,

    /// How long to wait for the VPC. 15 minutes if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vpc_ready_timeout: Option<Timeout>,

    /// From the creation of the Workspace until it is synced and ready. 30 minutes if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_ready_timeout: Option<Timeout>,

    /// From the moment the Workspace is ready until its connection Secret is complete. 5 minutes if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_timeout: Option<Timeout>,

    /// How long an update of a cluster that serves may take; of one that goes through several minor versions, how long
    /// each of its steps may take. 60 minutes if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_timeout: Option<Timeout>,

    /// How long the creation of one Fargate profile may take. 20 minutes if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fargate_profile_creation_timeout: Option<Timeout>,

    /// How long the deletion of one Fargate profile may take; AWS often needs more than 20 minutes. 40 minutes if
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fargate_profile_deletion_timeout: Option<Timeout>,
}

/// How a cluster's kubeconfig is made.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct KubeconfigSpec {
    /// Output takes it from the module's output of that name. AwsIam makes one with a token that is renewed before
    /// it expires. Auto, which is the default, is AwsIam where the endpoint belongs to EKS and Output elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<KubeconfigSource>,
}

/// Where a kubeconfig comes from.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, JsonSchema)]
pub enum KubeconfigSource {
    /// AwsIam where the endpoint belongs to EKS, Output elsewhere.
    #[default]
    Auto,
    /// The module's output `kubeconfig`.
    Output,
    /// A token presigned with AWS credentials, renewed before it expires.
    AwsIam,
}

/// Whether a cluster must answer before it counts as ready.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum EndpointCheck {
    /// It must answer.
    Required,
    /// That it does not answer holds nothing back.
    Optional,
}
