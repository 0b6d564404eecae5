//! Every label, annotation and finalizer of ours, in one place.
//!
//! All of them start with `infrastructure.cluster.x-k8s.io/`, so that a person who meets one on an object knows whose
//! it is. What must survive `clusterctl move` is written as one of these, because status does not move.
//! Marks of other projects are in [`crate::foreign::marks`].

/// Label on a Workspace: namespace of the WorkspaceTemplateApply that it belongs to.
pub const WTA_NAMESPACE: &str = "infrastructure.cluster.x-k8s.io/wta-namespace";
/// Label on a Workspace: name of the WorkspaceTemplateApply that it belongs to, shortened to a label value.
pub const WTA_NAME: &str = "infrastructure.cluster.x-k8s.io/wta-name";
/// Label on a Workspace: uid of the WorkspaceTemplateApply that it belongs to.
pub const WTA_UID: &str = "infrastructure.cluster.x-k8s.io/wta-uid";
/// Label on a WorkspaceTemplateApply: the owner that made it, also when its owner reference was stripped.
pub const OWNER: &str = "infrastructure.cluster.x-k8s.io/owner";
/// Label on a WorkspaceTemplateApply: what its owner has it for: `vpc`, `eks` or `fargate-profile.<name>`.
pub const ROLE: &str = "infrastructure.cluster.x-k8s.io/role";
/// Label on a Workspace: which runner acts on it, on a cluster that several share.
pub const RUNNER: &str = "infrastructure.cluster.x-k8s.io/runner";
/// Label on a ConfigMap in which our runner tells about a Workspace: uid of the Workspace.
pub const RUN_OF: &str = "infrastructure.cluster.x-k8s.io/run-of";
/// Label on a ConfigMap that says how long operations take with a WorkspaceTemplate: name of the template, shortened to a
/// label value.
pub const STATISTICS_OF: &str = "infrastructure.cluster.x-k8s.io/statistics-of";
/// Label on a WorkspaceTemplate, passed down to the Workspace: its module makes nothing real, so that a simulation may stand in for Terraform.
pub const SANDBOX: &str = "infrastructure.cluster.x-k8s.io/sandbox";

/// Annotation on a WorkspaceTemplateApply: its owner consents to the destruction of what it made. On a CAPTCluster or
/// CAPTControlPlane that goes and asks what becomes of what outlived a WorkspaceTemplateApply: what a person answers, the name
/// of that one to destroy it, `keep:` and the name to keep it, both for several with commas between them, `false` to keep all
/// others.
pub const LET_GO: &str = "infrastructure.cluster.x-k8s.io/let-go";
/// Annotation on a WorkspaceTemplateApply: hash of the spec that its owner authored. It changes only together with it,
/// and tells that something was taken back, which the fields alone do not.
pub const AUTHORED: &str = "infrastructure.cluster.x-k8s.io/authored";
/// Annotation on a WorkspaceTemplateApply: what it failed with when it last had its turn, as JSON.
pub const FAILED: &str = "infrastructure.cluster.x-k8s.io/failed";
/// Annotation on a WorkspaceTemplateApply: `group/name` of a Workspace that exists or must still be destroyed.
pub const WORKSPACE: &str = "infrastructure.cluster.x-k8s.io/workspace";
/// Annotation on the Secret with a kubeconfig: until when the token in it is honoured.
pub const TOKEN_EXPIRES: &str = "infrastructure.cluster.x-k8s.io/token-expires";
/// Annotation on a CAPTControlPlane: the version that AWS upgraded the cluster to by itself, beyond what the spec says.
pub const VERSION_AHEAD: &str = "infrastructure.cluster.x-k8s.io/version-ahead";
/// Annotation on a CAPTControlPlane: which of its children may operate now.
pub const TURN: &str = "infrastructure.cluster.x-k8s.io/turn";
/// Annotation on a WorkspaceTemplateApply: a person asks for a plan.
pub const PLAN_REQUESTED: &str = "infrastructure.cluster.x-k8s.io/plan-requested";
/// Annotation on a Workspace that is paused: what it would have if it were not, packed, for a plan that was asked for.
pub const CANDIDATE: &str = "infrastructure.cluster.x-k8s.io/candidate";
/// Annotation on a WorkspaceTemplateApply: a person asks for another try.
pub const RETRY_REQUESTED: &str = "infrastructure.cluster.x-k8s.io/retry-requested";
/// Annotation on a WorkspaceTemplateApply: names the plan or the rendering that a person approved; see
/// [`crate::approval`].
pub const APPROVED: &str = "infrastructure.cluster.x-k8s.io/approved";
/// Annotation on a WorkspaceTemplateApply: `"true"` asks for no approvals.
pub const ALLOW_DESTRUCTIVE: &str = "infrastructure.cluster.x-k8s.io/allow-destructive";
/// Annotation on a Workspace: it is retained; its value is `namespace/name` of the WorkspaceTemplateApply that retained it.
pub const RETAINED: &str = "infrastructure.cluster.x-k8s.io/retained";
/// Annotation on a WorkspaceTemplateApply: consent to adopt a retained Workspace: its name, or `group/name`.
pub const ADOPT_RETAINED: &str = "infrastructure.cluster.x-k8s.io/adopt-retained";
/// Annotation on a Workspace, set by an administrator: `namespace/name` of the WorkspaceTemplateApply that may adopt it,
/// although another one, or none, retained it.
pub const ADOPTABLE_BY: &str = "infrastructure.cluster.x-k8s.io/adoptable-by";
/// Annotation on a cluster-scoped Workspace, set by an administrator with `capt migrate`: `namespace/name` of the
/// WorkspaceTemplateApply for which the Go implementation made it. Its references to other namespaces stay.
pub const LEGACY_OF: &str = "infrastructure.cluster.x-k8s.io/legacy-of";
/// Annotation on a cluster-scoped provider configuration: the namespaces that may use it, with commas between them, or `*`.
/// Without it every namespace may, as in Crossplane.
pub const ALLOWED_NAMESPACES: &str = "infrastructure.cluster.x-k8s.io/allowed-namespaces";
/// Annotation on a WorkspaceTemplateApply: the namespaces whose WorkspaceTemplateApplies may wait for its Workspace, with
/// commas between them, or `*`.
pub const SHARED_WITH: &str = "infrastructure.cluster.x-k8s.io/shared-with";
/// Annotation on a Workspace: its WorkspaceTemplateApply was moved to another management cluster, and with it everything
/// that may be done to its infrastructure.
pub const MOVED_AWAY: &str = "infrastructure.cluster.x-k8s.io/moved-away";

/// Annotation on a Workspace: where its state was when it was first run.
pub const STATE_HOME: &str = "infrastructure.cluster.x-k8s.io/state-home";
/// Annotation on a WorkspaceTemplateApply that is paused: `"true"` lets clusterctl move it although its state stays, because a
/// person brings that to the other side. It goes with the pause.
pub const MOVES_WITHOUT_STATE: &str = "infrastructure.cluster.x-k8s.io/moves-without-state";
/// Annotation on a Secret with state: the Workspace whose state it is, as `group/namespace/name`; the namespace is empty
/// for a cluster-scoped one.
pub const STATE_OF: &str = "infrastructure.cluster.x-k8s.io/state-of";
/// Annotation on a Secret with state: what was made and that state does not have, as JSON of [`crate::run::CutShort`]. Left
/// by a Workspace that went, for the next one that takes the state up.
pub const MISSING_RESOURCES: &str = "infrastructure.cluster.x-k8s.io/missing-resources";
/// Annotation on a Workspace since it was made: `"true"` says that its state belongs to a Cluster and moves with it, so that
/// the Secret that our runner makes for it can say so from the beginning.
pub const STATE_MOVES: &str = "infrastructure.cluster.x-k8s.io/state-moves";
/// Annotation on a Workspace that was made again, as after a move: `"true"` says that the one before was ready, so that what
/// its state tells can be used before Terraform has looked. Our runner takes it off before it changes anything.
pub const WAS_READY: &str = "infrastructure.cluster.x-k8s.io/was-ready";
/// Annotation on a Workspace: `"true"` says that nothing exists any more of what was made for it, so that no state of it
/// is missed. A WorkspaceTemplateApply passes it down while its Workspace misses a state, and each value once: text after
/// a slash makes another.
pub const DESTROYED: &str = "infrastructure.cluster.x-k8s.io/destroyed";
/// Annotation on a Workspace that takes turns with others: what somebody else changed of it is told and not mended, until
/// this is the time since which its condition Drifted is True. Before that it is [`IN_TURN`].
pub const MEND: &str = "infrastructure.cluster.x-k8s.io/mend";
/// The value of [`MEND`] where nothing is to be mended now.
pub const IN_TURN: &str = "in-turn";
/// Annotation on a Workspace: the id of a lock of somebody else that a person wants freed.
pub const UNLOCK: &str = "infrastructure.cluster.x-k8s.io/unlock";

/// Annotation on a WorkspaceTemplateApply or a Workspace, for a simulation: what fails. `init`, `plan`, the address of a
/// resource that cannot be made or changed (`*`: any), or `destroy/` and the address of one that cannot be deleted.
pub const SIMULATE_FAIL: &str = "infrastructure.cluster.x-k8s.io/simulate-fail";
/// Annotation for a simulation: what a failure says.
pub const SIMULATE_FAIL_MESSAGE: &str = "infrastructure.cluster.x-k8s.io/simulate-fail-message";
/// Annotation for a simulation: whether a failure passes by itself, `transient`, or not, `terminal`.
pub const SIMULATE_FAIL_KIND: &str = "infrastructure.cluster.x-k8s.io/simulate-fail-kind";
/// Annotation for a simulation: how often it fails. Always, if it is not there.
pub const SIMULATE_FAIL_TIMES: &str = "infrastructure.cluster.x-k8s.io/simulate-fail-times";
/// Annotation for a simulation: how many seconds each operation on a resource takes.
pub const SIMULATE_SECONDS: &str = "infrastructure.cluster.x-k8s.io/simulate-seconds";
/// Annotation for a simulation: addresses of resources that somebody else changed, or deleted if `-` stands before them,
/// with commas between. Something after `@` makes it another time: each value is found once.
pub const SIMULATE_DRIFT: &str = "infrastructure.cluster.x-k8s.io/simulate-drift";
/// Everything that tells a simulation how to behave.
pub const SIMULATE: [&str; 6] = [
    SIMULATE_FAIL,
    SIMULATE_FAIL_MESSAGE,
    SIMULATE_FAIL_KIND,
    SIMULATE_FAIL_TIMES,
    SIMULATE_SECONDS,
    SIMULATE_DRIFT,
];

/// Annotation on a CRD: generated from our lean view of somebody else's kind, not the original.
pub const LEAN_VIEW: &str = "infrastructure.cluster.x-k8s.io/lean-view";

/// Finalizer of a CAPTCluster. The Go implementation uses the same.
pub const CAPTCLUSTER_FINALIZER: &str = "infrastructure.cluster.x-k8s.io/captcluster";
/// Finalizer of a CAPTControlPlane. The Go implementation uses the same, whence the other group.
pub const CAPTCONTROLPLANE_FINALIZER: &str = "controlplane.cluster.x-k8s.io/captcontrolplane";
/// Finalizer of a CAPTControlPlane that still has Fargate profiles to remove.
pub const FARGATE_PROFILES_FINALIZER: &str = "infrastructure.cluster.x-k8s.io/fargate-profiles";
/// Finalizer of a WorkspaceTemplate that is in use.
pub const WORKSPACETEMPLATE_FINALIZER: &str = "infrastructure.cluster.x-k8s.io/workspacetemplate";
/// Finalizer of a WorkspaceTemplateApply.
pub const WORKSPACETEMPLATEAPPLY_FINALIZER: &str = "infrastructure.cluster.x-k8s.io/workspacetemplateapply";
/// Finalizer of a Secret that holds Terraform state.
pub const TERRAFORM_STATE_FINALIZER: &str = "infrastructure.cluster.x-k8s.io/terraform-state";

/// Finalizer that the Go implementation leaves on a WorkspaceTemplateApply; replaced by ours.
pub const LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER: &str = "infrastructure.cluster.x-k8s.io/finalizer";
/// Finalizer that the Go implementation leaves on a WorkspaceTemplate; replaced by ours.
pub const LEGACY_WORKSPACETEMPLATE_FINALIZER: &str = "workspacetemplate.v2.infrastructure.cluster.x-k8s.io";
