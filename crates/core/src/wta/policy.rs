//! What a runner may do to a Workspace, which one field says: `spec.managementPolicies`.
//!
//! Nothing is `[]`, living is everything but Delete, and `["*"]` is the grant to destroy. A Workspace that is deleted
//! by any other hand than ours does not hold the grant, so that its infrastructure stays.

use capt_api::foreign::workspace::ManagementPolicy;
use serde_json::{Value, json};

use super::{identity::Found, owner, snapshot::Snapshot};

/// Everything but Delete.
pub(super) const ALIVE: [ManagementPolicy; 4] = [
    ManagementPolicy::Observe,
    ManagementPolicy::Create,
    ManagementPolicy::Update,
    ManagementPolicy::LateInitialize,
];

/// What a runner may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// Nothing.
    Nothing,
    /// Everything but Delete, as far as the template's own policies allow it.
    Life(Option<Vec<ManagementPolicy>>),
    /// Everything: the Workspace is to be destroyed.
    Destruction,
}

impl Allowed {
    /// As it is written.
    pub(super) fn policies(&self) -> Value {
        match self {
            Self::Nothing => json!([]),
            Self::Life(limit) => {
                let limit = limit.as_deref().unwrap_or(&[ManagementPolicy::All]);
                let allowed: Vec<ManagementPolicy> = ALIVE
                    .into_iter()
                    .filter(|policy| limit.contains(policy) || limit.contains(&ManagementPolicy::All))
                    .collect();
                json!(allowed)
            }
            Self::Destruction => json!([ManagementPolicy::All]),
        }
    }
}

/// Whether a spec lets a runner destroy. Left out, the field means everything.
#[must_use]
pub fn grants_destruction(spec: &Value) -> bool {
    match spec.get("managementPolicies") {
        Some(Value::Array(policies)) => policies.iter().any(|policy| policy == "*" || policy == "Delete"),
        _ => true,
    }
}

/// Whether a spec lets a runner do nothing.
pub(super) fn is_nothing(spec: &Value) -> bool {
    spec.get("managementPolicies") == Some(&Allowed::Nothing.policies())
}

/// What becomes of the infrastructure of an object that goes, as far as its owner, its namespace and its retention say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stays, and its Workspace becomes nobody's.
    Retained,
    /// It is destroyed.
    Destroyed,
    /// It stays for the object that the living owner makes in place of this one.
    LeftToOwner,
    /// The owner is going too, and has not come to this one yet.
    WaitsForOwner,
    /// The owner is of a kind that cannot say what it wants destroyed.
    OwnerSilent,
    /// Nobody is left who could consent.
    OwnerGone,
    /// Nothing is destroyed in a namespace that goes.
    NamespaceTerminating,
    /// Nothing is destroyed while a CustomResourceDefinition is terminating or unreadable.
    CrdTerminating,
}

/// Decides the fate of the infrastructure of an object that goes.
pub(super) fn fate(snapshot: &Snapshot, found: Found<'_>) -> Fate {
    let wta = &snapshot.wta;
    let is_ended_by_owner = owner::lets_go(wta) || owner::silent(wta).is_some();
    let has_living_owner = snapshot.owner.as_ref().is_some_and(|owner| !owner.deleting);
    if owner::recorded(wta).is_some()
        && has_living_owner
        && !is_ended_by_owner
        && !snapshot.namespace_terminating
    {
        // Also where it is to be retained: that says what becomes of it when the owner goes. A Workspace that is nobody's
        // would not be found by what the owner makes in place of this one.
        Fate::LeftToOwner
    } else if is_retained(snapshot, found) {
        Fate::Retained
    } else if snapshot.namespace_terminating {
        Fate::NamespaceTerminating
    } else if snapshot.crd_obstacle.is_some() {
        Fate::CrdTerminating
    } else if owner::recorded(&snapshot.wta).is_none() || owner::lets_go(&snapshot.wta) {
        Fate::Destroyed
    } else if owner::silent(&snapshot.wta).is_some() {
        Fate::OwnerSilent
    } else {
        match &snapshot.owner {
            Some(_) => Fate::WaitsForOwner,
            None => Fate::OwnerGone,
        }
    }
}

/// Whether the infrastructure must never be destroyed. A template that once said so is remembered.
pub(super) fn is_retained(snapshot: &Snapshot, found: Found<'_>) -> bool {
    let by_rendering = snapshot.rendering.as_ref().is_ok_and(|rendered| rendered.retain);
    let kept = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref());
    let by_kept = kept.is_some_and(|kept| kept.rendering.retain);
    let by_workspace = match found {
        Found::Legacy(workspace) => {
            is_orphaned(&workspace.spec) || (kept.is_none() && !grants_destruction(&workspace.spec))
        }
        found => found.ours().is_some_and(|workspace| is_orphaned(&workspace.spec)),
    };
    snapshot.wta.spec.retain_workspace_on_delete == Some(true) || by_rendering || by_kept || by_workspace
}

/// Whether a spec says that nothing may be destroyed, whatever its policies say.
pub(super) fn is_orphaned(spec: &Value) -> bool {
    spec.get("deletionPolicy")
        .is_some_and(|policy| policy == "Orphan")
}
