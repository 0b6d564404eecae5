//! References from our objects to others.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Names a WorkspaceTemplate.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTemplateReference {
    /// Name of the WorkspaceTemplate.
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new("self != ''").message("write the name of a WorkspaceTemplate"))]
    pub name: String,

    /// Namespace of the WorkspaceTemplate. Left out, it is the namespace of the referring object. A template in
    /// another namespace must name this one in its spec.sharedWith.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = Rule::new("self != ''").message("write the name of a namespace, or leave namespace out"))]
    pub namespace: Option<String>,
}

/// Names a Secret.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretReference {
    /// Name of the Secret.
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new("self != ''").message("write the name of a Secret"))]
    pub name: String,

    /// Namespace of the Secret. Left out, it is the namespace of the referring object, and only that is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = Rule::new("self != ''").message("write the name of a namespace, or leave namespace out"))]
    pub namespace: Option<String>,
}

/// Names a Workspace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceReference {
    /// Name of the Workspace.
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new("self != ''").message("write the name of a Workspace"))]
    pub name: String,

    /// Namespace of the Workspace, where Workspaces are namespaced. Left out, it is the namespace of the referring
    /// object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = Rule::new("self != ''").message("write the name of a namespace, or leave namespace out"))]
    pub namespace: Option<String>,
}
