//! Provider configurations of provider-terraform, in both of its groups: credentials and backends of Workspaces, and
//! the marks that say which Workspaces it runs.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Rest, forprovider::KeyReference, workspace::ProviderConfigReference};

/// Credentials and configuration for the Workspaces of one namespace.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "tf.m.upbound.io",
    version = "v1beta1",
    kind = "ProviderConfig",
    plural = "providerconfigs",
    singular = "providerconfig",
    category = "crossplane",
    category = "provider",
    category = "terraform",
    namespaced,
    status = "ProviderConfigStatus",
    derive = "PartialEq",
    doc = "ProviderConfig holds credentials and configuration for the Workspaces of its namespace.",
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ProviderConfigSpec {
    /// The configuration itself.
    #[serde(flatten)]
    pub config: TerraformConfig,
}

/// Credentials and configuration for the namespaced Workspaces of all namespaces.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "tf.m.upbound.io",
    version = "v1beta1",
    kind = "ClusterProviderConfig",
    plural = "clusterproviderconfigs",
    singular = "clusterproviderconfig",
    category = "crossplane",
    category = "provider",
    category = "terraform",
    status = "ProviderConfigStatus",
    derive = "PartialEq",
    doc = "ClusterProviderConfig holds credentials and configuration for the Workspaces of all namespaces.",
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ClusterProviderConfigSpec {
    /// The configuration itself.
    #[serde(flatten)]
    pub config: TerraformConfig,
}

/// Credentials and configuration for cluster-scoped Workspaces.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "tf.upbound.io",
    version = "v1beta1",
    kind = "ProviderConfig",
    root = "LegacyProviderConfig",
    plural = "providerconfigs",
    singular = "providerconfig",
    category = "crossplane",
    category = "provider",
    category = "terraform",
    status = "ProviderConfigStatus",
    derive = "PartialEq",
    doc = "ProviderConfig holds credentials and configuration for Workspaces.",
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct LegacyProviderConfigSpec {
    /// The configuration itself.
    #[serde(flatten)]
    pub config: TerraformConfig,
}

/// What Terraform gets beside the module: the same in all three kinds.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TerraformConfig {
    /// Files with credentials to write beside the module.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub credentials: Option<Vec<Credentials>>,

    /// Terraform text to add to the module, usually providers and a backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,

    /// Backend settings for terraform init.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_file: Option<String>,

    /// Whether Workspaces share one cache of provider plugins. True if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin_cache: Option<bool>,

    /// Fields that capt does not use.
    #[serde(flatten)]
    pub rest: Rest,
}

/// A file with credentials.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// Name of the file.
    pub filename: String,

    /// Where its text is.
    pub source: CredentialsSource,

    /// Where in a Secret its text is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<KeyReference>,

    /// Which environment variable holds its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<EnvSelector>,

    /// Which file holds its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fs: Option<FsSelector>,
}

/// Where the text of a file with credentials is.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum CredentialsSource {
    /// Nowhere.
    None,
    /// In a Secret.
    Secret,
    /// In the identity that whoever runs Terraform was given.
    InjectedIdentity,
    /// In an environment variable.
    Environment,
    /// In a file.
    Filesystem,
}

/// Names an environment variable.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct EnvSelector {
    /// Name of the environment variable.
    pub name: String,
}

/// Names a file.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct FsSelector {
    /// Path of the file.
    pub path: String,
}

/// What is known about a provider configuration.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigStatus {
    /// How many Workspaces use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<i64>,

    /// Fields that capt does not use.
    #[serde(flatten)]
    pub rest: Rest,
}

/// Which namespaced Workspace uses which provider configuration.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "tf.m.upbound.io",
    version = "v1beta1",
    kind = "ProviderConfigUsage",
    plural = "providerconfigusages",
    singular = "providerconfigusage",
    category = "crossplane",
    category = "provider",
    category = "terraform",
    namespaced,
    no_spec,
    derive = "PartialEq",
    doc = "ProviderConfigUsage says which Workspace uses which provider configuration. provider-terraform writes one, \
           named by uid, for every Workspace that it runs.",
    printcolumn(name = "CONFIG-NAME", type_ = "string", json_path = ".providerConfigRef.name"),
    printcolumn(name = "RESOURCE-KIND", type_ = "string", json_path = ".resourceRef.kind"),
    printcolumn(name = "RESOURCE-NAME", type_ = "string", json_path = ".resourceRef.name"),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ProviderConfigUsageFields {
    /// The provider configuration in use.
    pub provider_config_ref: ProviderConfigReference,

    /// Who uses it.
    pub resource_ref: ResourceReference,
}

/// Which cluster-scoped Workspace uses which provider configuration.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "tf.upbound.io",
    version = "v1beta1",
    kind = "ProviderConfigUsage",
    root = "LegacyProviderConfigUsage",
    plural = "providerconfigusages",
    singular = "providerconfigusage",
    category = "crossplane",
    category = "provider",
    category = "terraform",
    no_spec,
    derive = "PartialEq",
    doc = "ProviderConfigUsage says which Workspace uses which provider configuration. provider-terraform writes one, \
           named by uid, for every Workspace that it runs.",
    printcolumn(name = "CONFIG-NAME", type_ = "string", json_path = ".providerConfigRef.name"),
    printcolumn(name = "RESOURCE-KIND", type_ = "string", json_path = ".resourceRef.kind"),
    printcolumn(name = "RESOURCE-NAME", type_ = "string", json_path = ".resourceRef.name"),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct LegacyProviderConfigUsageFields {
    /// The provider configuration in use.
    pub provider_config_ref: ProviderConfigReference,

    /// Who uses it.
    pub resource_ref: ResourceReference,
}

/// Names any object.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ResourceReference {
    /// API group and version of the object.
    pub api_version: String,

    /// Kind of the object.
    pub kind: String,

    /// Name of the object.
    pub name: String,

    /// uid of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}
