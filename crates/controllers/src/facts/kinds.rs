//! The kinds that may not be there.

use crate::engine::served::CustomKind;

const fn kind(
    group: &'static str,
    versions: &'static [&'static str],
    kind: &'static str,
    plural: &'static str,
    is_namespaced: bool,
) -> CustomKind {
    CustomKind {
        group,
        versions,
        kind,
        plural,
        is_namespaced,
    }
}

const OURS: &str = "infrastructure.cluster.x-k8s.io";
const CLUSTER_API: &str = "cluster.x-k8s.io";
const CLUSTER_API_VERSIONS: &[&str] = &["v1beta2", "v1beta1"];
const V1BETA1: &[&str] = &["v1beta1"];

pub(super) const APPLY: CustomKind = kind(
    OURS,
    V1BETA1,
    "WorkspaceTemplateApply",
    "workspacetemplateapplies",
    true,
);
pub(super) const TEMPLATE: CustomKind = kind(OURS, V1BETA1, "WorkspaceTemplate", "workspacetemplates", true);
pub(crate) const CAPTCLUSTER: CustomKind = kind(OURS, V1BETA1, "CAPTCluster", "captclusters", true);
pub(crate) const CAPTCONTROLPLANE: CustomKind = kind(
    "controlplane.cluster.x-k8s.io",
    V1BETA1,
    "CAPTControlPlane",
    "captcontrolplanes",
    true,
);
pub(crate) const CLUSTER: CustomKind = kind(CLUSTER_API, CLUSTER_API_VERSIONS, "Cluster", "clusters", true);
/// What runs workloads of a Cluster.
pub(crate) const WORKERS: [CustomKind; 4] = [
    kind(
        CLUSTER_API,
        CLUSTER_API_VERSIONS,
        "MachinePool",
        "machinepools",
        true,
    ),
    kind(
        CLUSTER_API,
        CLUSTER_API_VERSIONS,
        "MachineDeployment",
        "machinedeployments",
        true,
    ),
    kind(
        CLUSTER_API,
        CLUSTER_API_VERSIONS,
        "MachineSet",
        "machinesets",
        true,
    ),
    kind(CLUSTER_API, CLUSTER_API_VERSIONS, "Machine", "machines", true),
];
pub(super) const WORKSPACE: CustomKind = kind("tf.m.upbound.io", V1BETA1, "Workspace", "workspaces", true);
pub(super) const CLUSTER_WORKSPACE: CustomKind =
    kind("tf.upbound.io", V1BETA1, "Workspace", "workspaces", false);
pub(super) const PROVIDER_CONFIG: CustomKind = kind(
    "tf.m.upbound.io",
    V1BETA1,
    "ProviderConfig",
    "providerconfigs",
    true,
);
pub(super) const CLUSTER_PROVIDER_CONFIG: CustomKind = kind(
    "tf.m.upbound.io",
    V1BETA1,
    "ClusterProviderConfig",
    "clusterproviderconfigs",
    false,
);
pub(super) const LEGACY_PROVIDER_CONFIG: CustomKind = kind(
    "tf.upbound.io",
    V1BETA1,
    "ProviderConfig",
    "providerconfigs",
    false,
);
pub(super) const USAGE: CustomKind = kind(
    "tf.m.upbound.io",
    V1BETA1,
    "ProviderConfigUsage",
    "providerconfigusages",
    true,
);
pub(super) const LEGACY_USAGE: CustomKind = kind(
    "tf.upbound.io",
    V1BETA1,
    "ProviderConfigUsage",
    "providerconfigusages",
    false,
);

/// Those that capt brings itself and cannot do without.
pub(super) const OWN: [CustomKind; 4] = [APPLY, TEMPLATE, CAPTCLUSTER, CAPTCONTROLPLANE];

/// All of them.
pub(super) const ALL: &[CustomKind] = &[
    APPLY,
    TEMPLATE,
    CAPTCLUSTER,
    CAPTCONTROLPLANE,
    CLUSTER,
    WORKERS[0],
    WORKERS[1],
    WORKERS[2],
    WORKERS[3],
    WORKSPACE,
    CLUSTER_WORKSPACE,
    PROVIDER_CONFIG,
    CLUSTER_PROVIDER_CONFIG,
    LEGACY_PROVIDER_CONFIG,
    USAGE,
    LEGACY_USAGE,
];
