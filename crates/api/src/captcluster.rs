//! CAPTCluster: the network that a cluster lives in.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    duration::Timeout, endpoint::ApiEndpoint, references::WorkspaceTemplateReference, region::Region, tags,
    tags::Tags, workspacestatus::WorkspaceTemplateStatus,
};

/// What network the cluster gets: a VPC made from a template, or one that exists.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "CAPTCluster",
    plural = "captclusters",
    singular = "captcluster",
    shortname = "captc",
    category = "capt",
    category = "cluster-api",
    namespaced,
    status = "CAPTClusterStatus",
    derive = "PartialEq",
    doc = "CAPTCluster is the network of a cluster: a VPC made by Terraform from a WorkspaceTemplate, or one that \
           exists already. It is the infrastructure that a Cluster of Cluster API refers to.",
    printcolumn(
        name = "VPC-ID",
        type_ = "string",
        json_path = ".status.vpcId",
        description = "The VPC in use"
    ),
    printcolumn(
        name = "READY",
        type_ = "boolean",
        json_path = ".status.ready",
        description = "Whether the network is ready for a control plane"
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
    printcolumn(name = "REGION", type_ = "string", json_path = ".spec.region", priority = 1),
    printcolumn(
        name = "WORKSPACE",
        type_ = "string",
        json_path = ".status.vpcWorkspaceName",
        description = "The Workspace that makes the VPC",
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
#[x_kube(
    validation = Rule::new("!(has(self.vpcTemplateRef) && has(self.existingVpcId))").message(
        "remove vpcTemplateRef or existingVpcId: a VPC is either made from a template or exists already"),
    validation = Rule::new("has(self.vpcTemplateRef) || has(self.existingVpcId)").message(
        "set vpcTemplateRef to have a VPC made from a template, or existingVpcId to use one that exists"),
    validation = Rule::new(
        "!has(self.retainVpcOnDelete) || !self.retainVpcOnDelete || has(self.vpcTemplateRef)"
    ).message("remove retainVpcOnDelete or set vpcTemplateRef: a VPC that exists already is always kept")
     .field_path(".retainVpcOnDelete"),
    validation = Rule::new("!has(self.existingSubnetIds) || has(self.existingVpcId)").message(
        "set existingVpcId too: existingSubnetIds are subnets of a VPC that exists already")
     .field_path(".existingSubnetIds"),
    validation = Rule::new("!has(self.existingVpcId) || !has(self.vpcConfig) || !has(self.vpcConfig.cidr)").message(
        "remove vpcConfig.cidr: the network exists, and has its addresses").field_path(".vpcConfig.cidr"),
    validation = Rule::new(
        "!has(self.existingVpcId) || !has(self.vpcConfig) || !has(self.vpcConfig.availabilityZones)"
    ).message("remove vpcConfig.availabilityZones: the network exists, and its subnets are where they are")
     .field_path(".vpcConfig.availabilityZones"),
    validation = Rule::new(
        "!has(self.vpcConfig) || !has(self.vpcConfig.availabilityZones) || \
         self.vpcConfig.availabilityZones.all(zone, zone.startsWith(self.region))"
    ).message(Message::Expression(
        "'write availability zones of the region: names that start with ' + self.region".into()))
     .field_path(".vpcConfig.availabilityZones"),
    validation = Rule::new("self.region == oldSelf.region").message(
        "region cannot be changed: make another CAPTCluster for another region").field_path(".region"),
    validation = Rule::new("!has(oldSelf.vpcTemplateRef) || has(self.vpcTemplateRef)").message(
        "the source of the VPC cannot be changed: keep vpcTemplateRef, or make another CAPTCluster"),
    validation = Rule::new(
        "!has(oldSelf.existingVpcId) || (has(self.existingVpcId) && self.existingVpcId == oldSelf.existingVpcId)"
    ).message("existingVpcId cannot be changed: keep it, or make another CAPTCluster for another VPC"),
    validation = Rule::new(
        "!has(oldSelf.vpcConfig) || !has(oldSelf.vpcConfig.name) || \
         !has(self.vpcConfig) || !has(self.vpcConfig.name) || self.vpcConfig.name == oldSelf.vpcConfig.name"
    ).message("vpcConfig.name cannot be changed once it is set: keep it or take it out (the VPC keeps its name), or make \
               another CAPTCluster")
)]
pub struct CAPTClusterSpec {
    /// AWS region of the network, such as eu-central-1 or us-gov-west-1. Cannot be changed.
    pub region: Region,

    /// The template to make a VPC from. Set either this or existingVpcId.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vpc_template_ref: Option<WorkspaceTemplateReference>,

    /// A VPC that exists already, such as vpc-0a1b2c3d. It is used and never changed or deleted. Set either this or
    /// vpcTemplateRef. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^vpc-[0-9a-z]+$')").message(
        "write the id of a VPC, such as vpc-0a1b2c3d"))]
    pub existing_vpc_id: Option<String>,

    /// Private subnets of the existing VPC, in at least two availability zones, for the control plane and for
    /// Fargate. Only with existingVpcId.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64), inner(length(max = 64)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[x_kube(validation = Rule::new("self.all(id, id.matches('^subnet-[0-9a-z]+$'))").message(
        "write ids of subnets, such as subnet-0a1b2c3d"))]
    pub existing_subnet_ids: Option<Vec<String>>,

    /// Keep the VPC, its Workspace and its Terraform state when this object is deleted. Only with vpcTemplateRef.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retain_vpc_on_delete: Option<bool>,

    /// Details of the VPC that is made from the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vpc_config: Option<VpcConfig>,

    /// AWS tags for everything that is made here, on top of those that the template sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "tags::of_network")]
    pub additional_tags: Option<Tags>,

    /// The WorkspaceTemplateApply that makes the VPC. capt fills this in; set it to take over one that exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub workspace_template_apply_name: Option<String>,

    /// Name of the Secret with the facts about the VPC, in this object's namespace. Left out, it is the one that the
    /// template names, or else the name of this object followed by -vpc-connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub connection_secret_name: Option<String>,

    /// Where the cluster's API server answers. capt leaves it empty, because the control plane reports it; whoever
    /// manages this object's infrastructure in capt's stead may set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,

    /// How long the steps may take. Paused time does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<CAPTClusterTimeouts>,
}

/// Details of a VPC that is made from a template.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct VpcConfig {
    /// Name of the VPC in AWS. Left out, it is the name of this object followed by -vpc. Cannot be changed once set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,

    /// Addresses of the VPC, such as 10.0.0.0/16. Left out, the template decides. Only with vpcTemplateRef.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 18))]
    #[x_kube(validation = Rule::new(
        "self.matches('^([0-9]{1,3}[.]){3}[0-9]{1,3}/(1[6-9]|2[0-8])$') && isCIDR(self)"
    ).message("write an IPv4 block of a size that AWS takes, from /16 to /28, such as 10.0.0.0/16"))]
    pub cidr: Option<String>,

    /// Availability zones of the region to use, such as eu-central-1a. Left out, the template decides. Only with
    /// vpcTemplateRef.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16), inner(length(max = 40)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[x_kube(validation = Rule::new("self.all(zone, zone.matches('^[a-z]{2,4}(-[a-z0-9]+){2,6}[a-z]$'))").message(
        "write names of availability zones, such as eu-central-1a"))]
    pub availability_zones: Option<Vec<String>>,
}

/// How long the steps of a network may take: minutes as a number, or a duration such as 45m.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CAPTClusterTimeouts {
    /// From the moment a Cluster owns this object until its Workspace is ready. 15 minutes if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vpc_creation_timeout: Option<Timeout>,

    /// From the moment the Workspace is ready until its connection Secret is complete. 5 minutes if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_timeout: Option<Timeout>,

    /// From the creation of the Workspace until it is synced and ready. 30 minutes if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_ready_timeout: Option<Timeout>,
}

/// What is known about the network.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CAPTClusterStatus {
    /// The network is ready for a control plane.
    #[serde(default)]
    pub ready: bool,

    /// What Cluster API waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<CAPTClusterInitialization>,

    /// The VPC in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,

    /// The Workspace that makes the VPC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vpc_workspace_name: Option<String>,

    /// Where the cluster's API server answers, as host:port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,

    /// The availability zones of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub failure_domains: Option<Vec<FailureDomain>>,

    /// One word for what went wrong for good; what to do about it is in failureMessage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,

    /// What went wrong for good, where, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,

    /// What is known about the Workspace that makes the VPC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_template_status: Option<WorkspaceTemplateStatus>,

    /// Times in which everything was paused while the network was being made: they do not count for timeouts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub pauses: Option<Vec<Pause>>,

    /// Ready, VPCReady, VPCCreating, VPCFailed, WaitingForCluster, Paused and Deleting, each with a reason and a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,

    /// The generation of the spec that this status speaks about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// What Cluster API waits for.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = json!(1)))]
pub struct CAPTClusterInitialization {
    /// The network was ready once. Never taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned: Option<bool>,
}

/// A time in which everything was paused.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// When it began.
    pub from: Time,

    /// When it ended.
    pub to: Time,
}

/// A place that can fail by itself: an availability zone.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomain {
    /// Name of the availability zone.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,

    /// Whether control plane machines may stand here; EKS sees to that itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<bool>,

    /// More about the zone, such as the subnets in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<std::collections::BTreeMap<String, String>>,
}
