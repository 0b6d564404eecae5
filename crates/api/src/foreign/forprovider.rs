//! What Terraform is told: the part of a Workspace that both of its groups, and our templates, have in common.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The Terraform module to run, and how.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.inlineFormat) || self.source == 'Inline'").message(
        "remove inlineFormat or set source to Inline").field_path(".inlineFormat")
)]
pub struct ForProvider {
    /// How module is to be read: Inline is the module's text itself, Remote an address that Terraform's module
    /// installer understands, Flux a source object of Flux.
    pub source: ModuleSource,

    /// The module: its text, or its address.
    #[schemars(length(min = 1))]
    pub module: String,

    /// The language of an Inline module. HCL if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline_format: Option<FileFormat>,

    /// The folder to run in, inside the module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<String>,

    /// Whether a Remote module is fetched every time or only if it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_pull_policy: Option<RemotePullPolicy>,

    /// Environment variables of Terraform.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub env: Option<Vec<EnvVar>>,

    /// Terraform variables as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub vars: Option<Vec<Var>>,

    /// Terraform variables of any type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub varmap: Option<BTreeMap<String, Value>>,

    /// Files with Terraform variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub var_files: Option<Vec<VarFile>>,

    /// More arguments of terraform init.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub init_args: Option<Vec<String>>,

    /// More arguments of terraform plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub plan_args: Option<Vec<String>>,

    /// More arguments of terraform apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub apply_args: Option<Vec<String>>,

    /// More arguments of terraform destroy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub destroy_args: Option<Vec<String>>,

    /// Write what Terraform prints to the log of whoever runs it.
    #[serde(rename = "enableTerraformCLILogging", skip_serializing_if = "Option::is_none")]
    pub enable_terraform_cli_logging: Option<bool>,
}

/// An object with fields of any type.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// How a module is to be read.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum ModuleSource {
    /// An address that Terraform's module installer understands.
    Remote,
    /// The module's text itself.
    Inline,
    /// A source object of Flux.
    Flux,
}

/// The language of a file.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum FileFormat {
    /// Terraform's own language.
    HCL,
    /// JSON.
    JSON,
}

/// Whether a Remote module is fetched every time.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum RemotePullPolicy {
    /// Every time.
    Always,
    /// Only if it is not there.
    IfNotPresent,
}

/// An environment variable of Terraform.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.value), has(self.configMapKeyRef), has(self.secretKeyRef)].filter(given, given).size() <= 1"
).message("keep one of value, configMapKeyRef and secretKeyRef, and remove the others"))]
pub struct EnvVar {
    /// Name of the variable.
    #[schemars(length(min = 1))]
    pub name: String,

    /// Its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,

    /// Where in a ConfigMap its value is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<KeyReference>,

    /// Where in a Secret its value is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<KeyReference>,
}

/// A Terraform variable as text.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Var {
    /// Name of the variable.
    #[schemars(length(min = 1))]
    pub key: String,

    /// Its value.
    pub value: String,
}

/// A file with Terraform variables.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.source != 'ConfigMapKey' || has(self.configMapKeyRef)").message(
        "set configMapKeyRef, or source to SecretKey"),
    validation = Rule::new("self.source != 'SecretKey' || has(self.secretKeyRef)").message(
        "set secretKeyRef, or source to ConfigMapKey")
)]
pub struct VarFile {
    /// Where the file is: in a ConfigMap or in a Secret.
    pub source: VarFileSource,

    /// The language of the file. HCL if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<FileFormat>,

    /// Where in a ConfigMap the file is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<KeyReference>,

    /// Where in a Secret the file is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<KeyReference>,
}

/// Where a file with Terraform variables is.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
pub enum VarFileSource {
    /// In a ConfigMap.
    ConfigMapKey,
    /// In a Secret.
    SecretKey,
}

/// Names a key of a ConfigMap or a Secret.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct KeyReference {
    /// Namespace of the object. A namespaced Workspace reads its own namespace only, and leaves this out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,

    /// Name of the object.
    #[schemars(length(min = 1))]
    pub name: String,

    /// Key in the object.
    #[schemars(length(min = 1))]
    pub key: String,
}
