//! The kinds that the attacks are about.

use crate::objects::{Kind, kind};

const CAPT: &str = "infrastructure.cluster.x-k8s.io";
const NAMESPACED: &str = "tf.m.upbound.io";
const CLUSTER_SCOPED: &str = "tf.upbound.io";

pub(super) const TEMPLATE: Kind = kind(CAPT, "v1beta1", "WorkspaceTemplate", "workspacetemplates");
pub(super) const APPLY: Kind = kind(
    CAPT,
    "v1beta1",
    "WorkspaceTemplateApply",
    "workspacetemplateapplies",
);
pub(super) const NETWORK: Kind = kind(CAPT, "v1beta1", "CAPTCluster", "captclusters");
pub(super) const CONTROL_PLANE: Kind = kind(
    "controlplane.cluster.x-k8s.io",
    "v1beta1",
    "CAPTControlPlane",
    "captcontrolplanes",
);
pub(super) const CLUSTER: Kind = kind("cluster.x-k8s.io", "v1beta2", "Cluster", "clusters");
pub(super) const WORKSPACE: Kind = kind(NAMESPACED, "v1beta1", "Workspace", "workspaces");
pub(super) const CLUSTER_WORKSPACE: Kind = kind(CLUSTER_SCOPED, "v1beta1", "Workspace", "workspaces");
pub(super) const CONFIG: Kind = kind(NAMESPACED, "v1beta1", "ProviderConfig", "providerconfigs");
pub(super) const CLUSTER_CONFIG: Kind = kind(
    NAMESPACED,
    "v1beta1",
    "ClusterProviderConfig",
    "clusterproviderconfigs",
);
pub(super) const NAMESPACE: Kind = kind("", "v1", "Namespace", "namespaces");
pub(super) const ACCOUNT: Kind = kind("", "v1", "ServiceAccount", "serviceaccounts");
pub(super) const SECRET: Kind = kind("", "v1", "Secret", "secrets");
pub(super) const CONFIG_MAP: Kind = kind("", "v1", "ConfigMap", "configmaps");
pub(super) const EVENT: Kind = kind("events.k8s.io", "v1", "Event", "events");
/// Events as those see them who may view a namespace.
pub(super) const CORE_EVENT: Kind = kind("", "v1", "Event", "events");
pub(super) const LEASE: Kind = kind("coordination.k8s.io", "v1", "Lease", "leases");
pub(super) const ROLE: Kind = kind("rbac.authorization.k8s.io", "v1", "Role", "roles");
pub(super) const ROLE_BINDING: Kind = kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings");
pub(super) const DEFINITION: Kind = kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
);

/// Everything in a namespace that capt or a tenant writes.
pub(super) const OF_A_NAMESPACE: &[Kind] = &[
    TEMPLATE,
    APPLY,
    NETWORK,
    CONTROL_PLANE,
    CLUSTER,
    WORKSPACE,
    CONFIG,
    SECRET,
    CONFIG_MAP,
    EVENT,
    LEASE,
];
