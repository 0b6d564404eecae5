//! CAPTClusterTemplate: the CAPTCluster of every cluster made from a ClusterClass.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::{
    captcluster::{CAPTClusterTimeouts, VpcConfig},
    captcontrolplanetemplate::TemplateMetadata,
    references::WorkspaceTemplateReference,
    region::Region,
    tags,
    tags::Tags,
};

/// What a ClusterClass makes CAPTClusters from.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "CAPTClusterTemplate",
    plural = "captclustertemplates",
    singular = "captclustertemplate",
    shortname = "captct",
    category = "capt",
    category = "cluster-api",
    namespaced,
    derive = "PartialEq",
    doc = "CAPTClusterTemplate is what a ClusterClass makes the CAPTCluster of each of its clusters from. It may be \
           edited: the clusters follow when Cluster API next looks at them, by default within ten minutes.",
    printcolumn(
        name = "VPC-TEMPLATE",
        type_ = "string",
        json_path = ".spec.template.spec.vpcTemplateRef.name",
        description = "The WorkspaceTemplate that VPCs are made from"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "REGION",
        type_ = "string",
        json_path = ".spec.template.spec.region",
        priority = 1
    )
)]
pub struct CAPTClusterTemplateSpec {
    /// The CAPTCluster to make.
    pub template: CAPTClusterTemplateResource,
}

/// The CAPTCluster to make.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CAPTClusterTemplateResource {
    /// Labels and annotations of the CAPTCluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,

    /// Spec of the CAPTCluster. What a patch of the ClusterClass fills in may be left out.
    pub spec: CAPTClusterTemplateResourceSpec,
}

/// Spec of the CAPTCluster. What a patch of the ClusterClass fills in may be left out.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(has(self.vpcTemplateRef) && has(self.existingVpcId))").message(
        "remove vpcTemplateRef or existingVpcId: a VPC is either made from a template or exists already"),
    validation = Rule::new(
        "!has(self.retainVpcOnDelete) || !self.retainVpcOnDelete || !has(self.existingVpcId)"
    ).message("remove retainVpcOnDelete or existingVpcId: a VPC that exists already is always kept")
     .field_path(".retainVpcOnDelete"),
    validation = Rule::new("!has(self.existingVpcId) || !has(self.vpcConfig) || !has(self.vpcConfig.cidr)").message(
        "remove vpcConfig.cidr: the network exists, and has its addresses").field_path(".vpcConfig.cidr"),
    validation = Rule::new(
        "!has(self.existingVpcId) || !has(self.vpcConfig) || !has(self.vpcConfig.availabilityZones)"
    ).message("remove vpcConfig.availabilityZones: the network exists, and its subnets are where they are")
     .field_path(".vpcConfig.availabilityZones"),
    validation = Rule::new(
        "!has(self.region) || !has(self.vpcConfig) || !has(self.vpcConfig.availabilityZones) || \
         self.vpcConfig.availabilityZones.all(zone, zone.startsWith(self.region))"
    ).message(Message::Expression(
        "'write availability zones of the region: names that start with ' + self.region".into()))
     .field_path(".vpcConfig.availabilityZones"),
    validation = Rule::new("!has(self.existingSubnetIds) || !has(self.vpcTemplateRef)").message(
        "remove existingSubnetIds or vpcTemplateRef: they are subnets of a VPC that exists already")
     .field_path(".existingSubnetIds")
)]
pub struct CAPTClusterTemplateResourceSpec {
    /// AWS region of the network, such as eu-central-1 or us-gov-west-1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,

    /// The template to make VPCs from. Set either this or existingVpcId.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vpc_template_ref: Option<WorkspaceTemplateReference>,

    /// A VPC that exists already and that all clusters share. Set either this or vpcTemplateRef.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^vpc-[0-9a-z]+$')").message(
        "write the id of a VPC, such as vpc-0a1b2c3d"))]
    pub existing_vpc_id: Option<String>,

    /// Private subnets of the existing VPC, in at least two availability zones. Only with existingVpcId.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64), inner(length(max = 64)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[x_kube(validation = Rule::new("self.all(id, id.matches('^subnet-[0-9a-z]+$'))").message(
        "write ids of subnets, such as subnet-0a1b2c3d"))]
    pub existing_subnet_ids: Option<Vec<String>>,

    /// Keep the VPC, its Workspace and its Terraform state when a cluster is deleted. Only with vpcTemplateRef.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retain_vpc_on_delete: Option<bool>,

    /// Details of the VPCs that are made from the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vpc_config: Option<VpcConfig>,

    /// AWS tags for everything that is made, on top of those that the template sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "tags::of_network")]
    pub additional_tags: Option<Tags>,

    /// How long the steps may take. Paused time does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<CAPTClusterTimeouts>,
}
