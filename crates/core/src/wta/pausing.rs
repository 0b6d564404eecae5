//! Pausing, and the proof that nothing runs any more.

use capt_api::{foreign::marks, marks as own};

use super::{
    foreign,
    identity::{self, Found},
    policy,
    snapshot::{Snapshot, WorkspaceSeen},
};

/// Who asked that nothing be done, in words.
pub(super) fn asked_by(snapshot: &Snapshot) -> Option<String> {
    let metadata = &snapshot.wta.metadata;
    let mut sources = Vec::new();
    if snapshot.cluster.is_some_and(|cluster| cluster.paused) {
        sources.push("the Cluster has spec.paused: true".to_owned());
    }
    if identity::annotation(metadata, marks::PAUSED).is_some() {
        sources.push(format!("the object has the annotation {}", marks::PAUSED));
    }
    if snapshot.owner.as_ref().is_some_and(|owner| owner.paused) {
        sources.push(format!("its owner has the annotation {}", marks::PAUSED));
    }
    if is_being_moved(snapshot) {
        sources.push("clusterctl has moved it to another cluster".to_owned());
    }
    (!sources.is_empty()).then(|| sources.join(", "))
}

/// The object was moved to another cluster, where everything about it is decided from now on.
pub(super) fn is_being_moved(snapshot: &Snapshot) -> bool {
    identity::annotation(&snapshot.wta.metadata, marks::DELETE_FOR_MOVE).is_some()
}

/// Whether it is proved that nothing runs and nothing will start.
pub(super) fn is_at_rest(snapshot: &Snapshot, found: Found<'_>) -> bool {
    let rests = match found {
        Found::Several(first, second) => is_resting(first) && is_resting(second),
        // Nobody pauses what may be this one's and what nobody said so of.
        Found::PerhapsLegacy(_) => false,
        found => found.ours().is_none_or(is_resting),
    };
    let belongs = belongs_to_cluster(snapshot);
    rests
        && identity::hidden(snapshot, found).is_none()
        && snapshot
            .state_secrets
            .iter()
            .all(|secret| secret.deleting || (secret.moves == belongs && secret.is_held))
}

/// Whether something is known to run. Nobody tells of a change that provider-terraform makes to what is there.
pub(super) fn is_at_work(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let is_made = || {
        let ready = workspace.condition("Ready");
        let synced = workspace.condition("Synced");
        ready.is_some_and(|ready| ready.status == "False" && ready.reason == "Creating")
            && synced.is_none_or(|synced| synced.status == "True")
    };
    snapshot.progress.is_some() || foreign::is_creating(workspace) || is_made()
}

/// The runner itself says that it pauses, and speaks about the spec as it is now.
fn is_resting(workspace: &WorkspaceSeen) -> bool {
    policy::is_nothing(&workspace.spec)
        && workspace
            .condition("Synced")
            .is_some_and(|synced| synced.reason == "ReconcilePaused" && workspace.is_current(synced))
}

/// Whether the object belongs to a Cluster, with which it may be moved.
pub(super) fn belongs_to_cluster(snapshot: &Snapshot) -> bool {
    let labels = snapshot.wta.metadata.labels.as_ref();
    labels.is_some_and(|labels| labels.contains_key(marks::CLUSTER_NAME))
}

/// Whether the object holds our finalizer, or the one of the Go implementation that ours replaces.
pub(super) fn is_held(snapshot: &Snapshot) -> bool {
    let finalizers = snapshot.wta.metadata.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|finalizer| {
        finalizer == own::WORKSPACETEMPLATEAPPLY_FINALIZER
            || finalizer == own::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER
    })
}
