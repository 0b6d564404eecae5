//! Labels, annotations and finalizers of other projects that we read or write.

/// Label that Cluster API puts on everything that belongs to a Cluster.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// Label that parts the objects of several provider instances.
pub const WATCH_FILTER: &str = "cluster.x-k8s.io/watch-filter";
/// Annotation that pauses one object; its presence counts, not its value.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// Annotation (some write it as a label) on infrastructure that somebody else manages.
pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
/// Finalizer of a Cluster, the same whether Cluster API or capt looks after it.
pub const CLUSTER_FINALIZER: &str = "cluster.cluster.x-k8s.io";
/// Label on a CRD: which of its versions implement contract v1beta2.
pub const CONTRACT_V1BETA2: &str = "cluster.x-k8s.io/v1beta2";
/// Label on a CRD: clusterctl takes its objects into account when it moves clusters.
pub const CLUSTERCTL: &str = "clusterctl.cluster.x-k8s.io";
/// Label on an object or a CRD: clusterctl moves it, although no Cluster owns it.
pub const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
/// Annotation that makes clusterctl wait before it moves an object.
pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
/// Annotation on an object that clusterctl deletes because it has moved it.
pub const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";

/// Annotation of Crossplane: the Terraform workspace under which state is kept.
pub const EXTERNAL_NAME: &str = "crossplane.io/external-name";
/// Annotation of Crossplane: `"true"` pauses a Workspace. It is the user's; we leave it alone.
pub const CROSSPLANE_PAUSED: &str = "crossplane.io/paused";
/// Annotation of Crossplane: a person asks that a Workspace be looked at now. A token that stays; each value is a new
/// wish.
pub const RECONCILE_REQUESTED: &str = "crossplane.io/reconcile-requested-at";
/// Annotation of Crossplane: how often to look, in place of what a runner was told.
pub const POLL_INTERVAL: &str = "crossplane.io/poll-interval";
/// Annotation of Crossplane: a creation began, and nobody knows yet how it ended.
pub const EXTERNAL_CREATE_PENDING: &str = "crossplane.io/external-create-pending";
/// Annotation of Crossplane: a creation succeeded.
pub const EXTERNAL_CREATE_SUCCEEDED: &str = "crossplane.io/external-create-succeeded";
/// Annotation of Crossplane: a creation failed.
pub const EXTERNAL_CREATE_FAILED: &str = "crossplane.io/external-create-failed";
/// Finalizer of Crossplane on a Workspace.
pub const CROSSPLANE_FINALIZER: &str = "finalizer.managedresource.crossplane.io";
