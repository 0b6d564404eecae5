//! Fargate profiles: what a user asks for, and what became of it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{
    duration::Timeout,
    references::WorkspaceTemplateReference,
    tags::{self, Tags},
};

/// A Fargate profile: which pods run on Fargate, and where.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AdditionalFargateProfile {
    /// Name of the profile, unique in the cluster: lower-case letters, digits and -, at most 63 characters.
    #[schemars(length(max = 253))]
    #[x_kube(
        validation = Rule::new("size(self) <= 63").message(
            "write a shorter name: AWS allows a profile at most 63 characters"),
        validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')").message(
            "write a name of lower-case letters, digits and -, that starts and ends with a letter or a digit"),
        validation = Rule::new("!self.startsWith('eks-')").message(
            "choose a name that does not start with eks-, EKS keeps those for itself")
    )]
    pub name: String,

    /// Which pods run on Fargate: those that match any of these, at most five.
    #[schemars(length(max = 10))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[x_kube(
        validation = Rule::new("size(self) >= 1").message(
            "write at least one selector with a namespace, such as {namespace: monitoring}"),
        validation = Rule::new("size(self) <= 5").message(
            "AWS allows a profile five selectors: move the others to profiles of their own")
    )]
    pub selectors: Vec<FargateSelector>,

    /// The template to make the profile from.
    pub workspace_template_ref: WorkspaceTemplateReference,

    /// Private subnets for the pods. Those of the network if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16), inner(length(max = 64)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[x_kube(validation = Rule::new("self.all(id, id.matches('^subnet-[0-9a-z]+$'))").message(
        "write ids of subnets, such as subnet-0a1b2c3d"))]
    pub subnet_ids: Option<Vec<String>>,

    /// The IAM role that pods are run with, as an ARN. The template makes one if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    #[x_kube(validation = Rule::new("self.matches('^arn:aws[a-z-]*:iam::[0-9]{12}:role/([!-~]+/)?[A-Za-z0-9_+=,.@-]{1,64}$')").message(
        "write the ARN of an IAM role, such as arn:aws:iam::123456789012:role/fargate-pods"))]
    pub pod_execution_role_arn: Option<String>,

    /// AWS tags of the profile, on top of the control plane's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "tags::schema")]
    pub tags: Option<Tags>,

    /// How long the creation of this profile may take: minutes as a number, or a duration such as 30m. The control plane's timeouts count if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
}

/// Selects pods by namespace and labels.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.__namespace__)").message(
    "write the namespace of the pods, such as monitoring, or * for every namespace")
    .reason(Reason::FieldValueRequired).field_path(".namespace"))]
pub struct FargateSelector {
    /// Namespace of the pods; * stands for any characters and ? for one. Required.
    // A rule asks for it, because a rule can say what to write and a schema cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(
        "size(self) <= 63 && self.matches('^[a-z0-9*?]([-a-z0-9*?]*[a-z0-9*?])?$')"
    ).message(
        "write the name of a namespace, at most 63 lower-case letters, digits and -, in which * and ? may stand for \
         others"))]
    pub namespace: Option<String>,

    /// Labels that the pods must carry, all of them, at most five.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "labels_schema")]
    pub labels: Option<BTreeMap<String, String>>,
}

/// AWS takes five pairs, keys of 127 and values of 255 characters, with wildcards in both. A pod can carry no value that is
/// longer than 63, and no key with a longer name after its prefix. The limits of the schema are wider: they only bound what the rules cost, and the rules say what to write.
fn labels_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 10,
        "additionalProperties": {
            "type": "string",
            "maxLength": 256,
            "x-kubernetes-validations": [{
                "rule": "size(self) <= 63 && self.matches('^[A-Za-z0-9*?]([-A-Za-z0-9_.*?]*[A-Za-z0-9*?])?$')",
                "message": "write a label value that a pod can carry: 1 to 63 letters, digits, -, _ and ., the first and the \
                            last a letter or a digit; * and ? may stand for others",
            }],
        },
        "x-kubernetes-validations": [
            {
                "rule": "size(self) <= 5",
                "message": "AWS allows a selector five labels: remove some, or give the pods one label that stands for all",
            },
            {
                "rule": "self.all(key, size(key) >= 1 && size(key) <= 127)",
                "message": "write label keys of 1 to 127 characters, AWS takes no others",
            },
            {
                "rule": "self.all(key, key.matches('^([a-z0-9*?]([-a-z0-9.*?]*[a-z0-9*?])?/)?\
                         [A-Za-z0-9*?]([-A-Za-z0-9_.*?]{0,61}[A-Za-z0-9*?])?$'))",
                "message": "write a label key that a pod can carry, such as app or app.kubernetes.io/name, with a name of at \
                            most 63 characters; * and ? may stand for others",
            },
        ],
    })
}

/// What became of a Fargate profile.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct FargateProfileStatus {
    /// Name of the profile.
    pub name: String,

    /// Pods can run on it.
    pub ready: bool,

    /// The WorkspaceTemplateApply that makes the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_template_apply_name: Option<String>,

    /// One word for what is going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<FargateProfilePhase>,

    /// Since when it is in that phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,

    /// What it does or waits for, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// Hash of the selectors that the profile was made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_selectors_hash: Option<String>,

    /// One word for what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,

    /// What went wrong, where, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
}

/// One word for what is going on with a Fargate profile.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum FargateProfilePhase {
    /// Waits for something other than its turn: the cluster, a Secret, an approval.
    Waiting,
    /// Waits for its turn: EKS does one thing at a time.
    Queued,
    /// Is being made.
    Creating,
    /// Works.
    Ready,
    /// Is being changed.
    Updating,
    /// Is being removed.
    Deleting,
    /// Went wrong.
    Failed,
}
