//! The kinds that the stories look at.

use crate::objects::{Kind, kind};

const CLUSTER_API: &str = "cluster.x-k8s.io";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const CONTROL_PLANES: &str = "controlplane.cluster.x-k8s.io";

pub(super) const CLUSTER: Kind = kind(CLUSTER_API, "v1beta2", "Cluster", "clusters");
pub(super) const CLUSTER_CLASS: Kind = kind(CLUSTER_API, "v1beta2", "ClusterClass", "clusterclasses");
pub(super) const NETWORK: Kind = kind(INFRASTRUCTURE, "v1beta1", "CAPTCluster", "captclusters");
pub(super) const CONTROL_PLANE: Kind =
    kind(CONTROL_PLANES, "v1beta1", "CAPTControlPlane", "captcontrolplanes");
pub(super) const NETWORK_TEMPLATE: Kind = kind(
    INFRASTRUCTURE,
    "v1beta1",
    "CAPTClusterTemplate",
    "captclustertemplates",
);
pub(super) const CONTROL_PLANE_TEMPLATE: Kind = kind(
    CONTROL_PLANES,
    "v1beta1",
    "CAPTControlPlaneTemplate",
    "captcontrolplanetemplates",
);
pub(super) const TEMPLATE: Kind = kind(
    INFRASTRUCTURE,
    "v1beta1",
    "WorkspaceTemplate",
    "workspacetemplates",
);
pub(super) const APPLY: Kind = kind(
    INFRASTRUCTURE,
    "v1beta1",
    "WorkspaceTemplateApply",
    "workspacetemplateapplies",
);
pub(super) const WORKSPACE: Kind = kind("tf.m.upbound.io", "v1beta1", "Workspace", "workspaces");
pub(super) const CONFIG: Kind = kind("tf.m.upbound.io", "v1beta1", "ProviderConfig", "providerconfigs");
pub(super) const SECRET: Kind = kind("", "v1", "Secret", "secrets");
pub(super) const CONFIG_MAP: Kind = kind("", "v1", "ConfigMap", "configmaps");
pub(super) const NAMESPACE: Kind = kind("", "v1", "Namespace", "namespaces");
pub(super) const LEASE: Kind = kind("coordination.k8s.io", "v1", "Lease", "leases");

/// Everything that a cluster consists of, apart from the templates that it is made from.
pub(super) const OF_A_CLUSTER: &[Kind] = &[
    CLUSTER,
    NETWORK,
    CONTROL_PLANE,
    APPLY,
    WORKSPACE,
    SECRET,
    CONFIG_MAP,
    LEASE,
];
