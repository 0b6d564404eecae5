//! References from our objects to others.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Names a WorkspaceTemplate.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTemplateReference {
    /// Name of the WorkspaceTemplate.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Namespace of the WorkspaceTemplate. Left out, it is the namespace of the referring object. A template in
    /// another namespace must name this one in its spec.sharedWith.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

/// Names a Secret.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretReference {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Namespace of the Secret. Left out, it is the namespace of the referring object, and only that is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

/// Names a Workspace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceReference {
    /// Name of the Workspace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Namespace of the Workspace, where Workspaces are namespaced. Left out, it is the namespace of the referring
    /// object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}
