//! What may be done to the infrastructure of a Workspace.

use capt_api::foreign::workspace::{DeletionPolicy, ManagementPolicy};

use super::InputError;
use crate::view::WorkspaceView;

/// What a Workspace lets a runner do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policies {
    /// Nothing at all.
    Paused,
    /// These.
    Granted(Grants),
}

/// What may be done. Looking at it always may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// It may be made.
    pub create: bool,
    /// It may be changed.
    pub update: bool,
    /// It may be destroyed.
    pub delete: bool,
}

/// What a Workspace lets a runner do.
///
/// # Errors
/// If its policies are no combination that Crossplane accepts.
pub fn policies(view: &WorkspaceView) -> Result<Policies, InputError> {
    use ManagementPolicy::{All, Create, Delete, LateInitialize, Observe, Update};
    /// The combinations that Crossplane accepts. Each is sorted.
    const ACCEPTED: &[&[ManagementPolicy]] = &[
        &[All],
        &[Observe, Create, Update, Delete, LateInitialize],
        &[Observe],
        &[Observe, Create, Update, Delete],
        &[Observe, Create, Update, LateInitialize],
        &[Observe, Create, Update],
        &[Observe, Create, Delete, LateInitialize],
        &[Observe, Create, LateInitialize],
        &[Observe, Create, Delete],
        &[Observe, Create],
        &[Observe, Delete],
        &[Observe, Update],
        &[Observe, LateInitialize],
        &[Observe, Update, LateInitialize],
    ];
    let Some(given) = view.policies.as_deref() else {
        return Ok(Policies::Granted(Grants {
            create: true,
            update: true,
            delete: true,
        }));
    };
    if given.is_empty() {
        return Ok(Policies::Paused);
    }
    let mut sorted = given.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    if !ACCEPTED.contains(&sorted.as_slice()) {
        return Err(InputError::Policies(listed(given)));
    }
    let has = |policy| sorted.contains(&All) || sorted.contains(&policy);
    Ok(Policies::Granted(Grants {
        create: has(Create),
        update: has(Update),
        delete: has(Delete),
    }))
}

/// Whether deleting the Workspace destroys its infrastructure. If not, it is left alone.
///
/// `deletionPolicy` counts only where `managementPolicies` says nothing of its own.
#[must_use]
pub fn destroys_on_deletion(view: &WorkspaceView) -> bool {
    let policies = view.policies.as_deref().unwrap_or(&[ManagementPolicy::All]);
    if policies == [ManagementPolicy::All] {
        view.deletion_policy != Some(DeletionPolicy::Orphan)
    } else {
        policies.contains(&ManagementPolicy::Delete)
            || (policies.contains(&ManagementPolicy::All)
                && view.deletion_policy != Some(DeletionPolicy::Orphan))
    }
}

fn listed(policies: &[ManagementPolicy]) -> String {
    let names: Vec<String> = policies
        .iter()
        .map(|policy| match policy {
            ManagementPolicy::All => "*".to_owned(),
            other => format!("{other:?}"),
        })
        .collect();
    names.join(", ")
}
