//! The kinds that the rules look at.

use crate::objects::{Kind, kind};

const CAPT: &str = "infrastructure.cluster.x-k8s.io";
pub(super) const TEMPLATE: Kind = kind(CAPT, "v1beta1", "WorkspaceTemplate", "workspacetemplates");
pub(super) const APPLY: Kind = kind(
    CAPT,
    "v1beta1",
    "WorkspaceTemplateApply",
    "workspacetemplateapplies",
);
pub(super) const CLUSTER: Kind = kind(CAPT, "v1beta1", "CAPTCluster", "captclusters");
pub(super) const WORKSPACE: Kind = kind("tf.m.upbound.io", "v1beta1", "Workspace", "workspaces");
pub(super) const CLUSTER_WORKSPACE: Kind = kind("tf.upbound.io", "v1beta1", "Workspace", "workspaces");
pub(super) const CLUSTER_CONFIG: Kind = kind(
    "tf.m.upbound.io",
    "v1beta1",
    "ClusterProviderConfig",
    "clusterproviderconfigs",
);
pub(super) const CONFIG: Kind = kind("tf.m.upbound.io", "v1beta1", "ProviderConfig", "providerconfigs");
pub(super) const SECRET: Kind = kind("", "v1", "Secret", "secrets");
pub(super) const NAMESPACE: Kind = kind("", "v1", "Namespace", "namespaces");
pub(super) const CONFIG_MAP: Kind = kind("", "v1", "ConfigMap", "configmaps");
pub(super) const USAGE: Kind = kind(
    "tf.m.upbound.io",
    "v1beta1",
    "ProviderConfigUsage",
    "providerconfigusages",
);
pub(super) const CLUSTER_USAGE: Kind = kind(
    "tf.upbound.io",
    "v1beta1",
    "ProviderConfigUsage",
    "providerconfigusages",
);
pub(super) const LEASE: Kind = kind("coordination.k8s.io", "v1", "Lease", "leases");
