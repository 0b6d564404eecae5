//! WorkspaceTemplate: a Terraform workspace with holes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::{
    foreign::{
        forprovider::ForProvider,
        workspace::{DeletionPolicy, ManagementPolicy, ProviderConfigReference, PublishConnectionDetailsTo},
    },
    references::SecretReference,
};

/// A Terraform workspace with holes, which are written as ${name} and filled by a WorkspaceTemplateApply.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "WorkspaceTemplate",
    plural = "workspacetemplates",
    singular = "workspacetemplate",
    shortname = "wt",
    category = "capt",
    category = "cluster-api",
    namespaced,
    status = "WorkspaceTemplateObjectStatus",
    derive = "PartialEq",
    doc = "WorkspaceTemplate is a Terraform workspace with holes, written as ${name}. A WorkspaceTemplateApply fills \
           them and makes a Workspace of it.",
    printcolumn(
        name = "USERS",
        type_ = "integer",
        json_path = ".status.users",
        description = "How many WorkspaceTemplateApplies use it"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "SOURCE",
        type_ = "string",
        json_path = ".spec.template.spec.forProvider.source",
        description = "How its module is read",
        priority = 1
    ),
    printcolumn(
        name = "VERSION",
        type_ = "string",
        json_path = ".spec.template.metadata.version",
        description = "The version that its author gave it",
        priority = 1
    ),
    printcolumn(
        name = "REVISION",
        type_ = "string",
        json_path = ".status.revision",
        description = "Hash of what it holds",
        priority = 1
    )
)]
pub struct WorkspaceTemplateSpec {
    /// The workspace, with holes.
    pub template: WorkspaceDefinition,

    /// The variables that fill the holes. A variable need not be declared here to be used; declared ones have
    /// defaults, can be required, and can say that a change of them replaces infrastructure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub variables: Option<Vec<VariableDeclaration>>,

    /// Namespaces whose objects may use this template besides its own, or * for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[x_kube(validation = Rule::new(
        "self.all(name, name == '*' || name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))"
    ).message("write names of namespaces, or * alone for all of them"))]
    pub shared_with: Option<Vec<String>>,

    /// The Secret that the outputs are written to, unless the WorkspaceTemplateApply names another. It is in the
    /// namespace of the WorkspaceTemplateApply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_connection_secret_to_ref: Option<SecretReference>,
}

/// The workspace, with holes.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceDefinition {
    /// What people should know about the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<WorkspaceDefinitionMetadata>,

    /// Spec of the Workspace, of either of its API groups. Any text in it may have holes: ${name} for a variable,
    /// ${WORKSPACE_NAME} for the name of the Workspace. In a module's text, only a bare name in a string is a hole;
    /// ${var.x} and the like stay Terraform's.
    pub spec: WorkspaceBlueprint,
}

/// What people should know about a template.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceDefinitionMetadata {
    /// What the template makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,

    /// The version that its author gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// Words to find it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
}

/// Spec of a Workspace of either API group.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceBlueprint {
    /// The Terraform module to run, and how.
    pub for_provider: ForProvider,

    /// Where credentials and provider configuration come from. In the namespaced group, ClusterProviderConfig if no
    /// kind is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config_ref: Option<ProviderConfigReference>,

    /// What becomes of the infrastructure in the end. Orphan means that it is never destroyed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,

    /// What may be done to the infrastructure. Without Delete or *, it is never destroyed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub management_policies: Option<Vec<ManagementPolicy>>,

    /// The Secret that the outputs are written to, unless the WorkspaceTemplateApply names another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_connection_secret_to_ref: Option<SecretReference>,

    /// The external store that the outputs are written to; known up to provider-terraform 0.21.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish_connection_details_to: Option<PublishConnectionDetailsTo>,
}

/// A variable that fills holes of a template.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.default) || !has(self.required) || !self.required").message(
    "remove default or required: a variable with a default is never missing"))]
pub struct VariableDeclaration {
    /// Name of the variable, which ${name} refers to.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(
        validation = Rule::new("self.matches('^[A-Za-z_][A-Za-z0-9_-]*$')").message(
            "write a name of letters, digits, _ and -, that starts with a letter or _"),
        validation = Rule::new("self != 'WORKSPACE_NAME'").message(
            "choose another name: WORKSPACE_NAME always is the name of the Workspace")
    )]
    pub name: String,

    /// What the variable is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,

    /// Its value where a WorkspaceTemplateApply gives none. Lists, maps and objects are written as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,

    /// A WorkspaceTemplateApply must give a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,

    /// A change of its value replaces infrastructure, and so waits for an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<bool>,
}

/// What is known about a template.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTemplateObjectStatus {
    /// How many WorkspaceTemplateApplies use it. It is not deleted before the last of them is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<i64>,

    /// Hash of what the template holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,

    /// Ready says whether the template can be rendered, InUse whether it is held by its users.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,

    /// The generation of the spec that this status speaks about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
