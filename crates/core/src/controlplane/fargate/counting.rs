//! What there is to count about profiles: from what was said about them before, and from a decision that was carried out.
//!
//! Everything is read from facts that the API keeps, so that whoever is started again counts what is, and counts nothing
//! twice that it has seen happen.

use std::time::Duration;

use capt_api::{
    CAPTControlPlane,
    captcontrolplane::{CAPTControlPlaneStatus, FargateProfilePhase as Phase, FargateProfileStatus},
    conditions::{Word as _, captcontrolplane::CAPTControlPlaneReason as Reason},
    marks,
};
use k8s_openapi::jiff::Timestamp;

use crate::{controlplane::timeouts::elapsed, decision::Decision};

/// How many profiles of a control plane there are now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Pods can run on them.
    pub ready: usize,
    /// They are there, or are being made, changed or removed.
    pub active: usize,
    /// Something went wrong with them.
    pub failed: usize,
}

impl Census {
    /// Counts the profiles in a status.
    #[must_use]
    pub fn of(status: Option<&CAPTControlPlaneStatus>) -> Self {
        let all = profiles(status);
        let count = |is_one: fn(&FargateProfileStatus) -> bool| all.iter().filter(|one| is_one(one)).count();
        Self {
            ready: count(|one| one.ready),
            active: count(|one| {
                let is_at_work = matches!(
                    one.phase,
                    Some(Phase::Creating | Phase::Updating | Phase::Ready | Phase::Deleting)
                );
                // One that waits to be changed or removed is there.
                let was_made = one.phase == Some(Phase::Queued) && one.observed_selectors_hash.is_some();
                one.ready || is_at_work || was_made
            }),
            failed: count(|one| one.failure_message.is_some()),
        }
    }

    /// Counts the profiles after a decision about their control plane was carried out. None if there never were any.
    #[must_use]
    pub fn after(
        control_plane: &CAPTControlPlane,
        decision: &Decision<CAPTControlPlaneStatus>,
    ) -> Option<Self> {
        let status = decision.own.status.as_ref().or(control_plane.status.as_ref());
        status?.fargate_profile_statuses.as_ref()?;
        Some(Self::of(status))
    }
}

/// What happened to profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How long each took that was made, without waiting for its turn.
    pub created: Vec<Duration>,
    /// How long each took that was removed.
    pub deleted: Vec<Duration>,
    /// What went wrong.
    pub errors: Vec<Category>,
}

impl Tally {
    /// What happened by a decision that was carried out.
    #[must_use]
    pub fn of(
        control_plane: &CAPTControlPlane,
        decision: &Decision<CAPTControlPlaneStatus>,
        now: Timestamp,
    ) -> Self {
        let before = control_plane.status.as_ref();
        let lacks = decision
            .events
            .iter()
            .filter(|event| event.reason == Reason::FargateProfileDependencyError.as_str())
            .map(|_| Category::Dependency);
        let mut tally = Self {
            errors: lacks.collect(),
            ..Self::default()
        };
        // With its last finalizer the object goes, and nobody is left to write down that its profiles are gone.
        let leaves = &decision.own.remove_finalizers;
        let is_over = leaves
            .iter()
            .any(|held| held == marks::CAPTCONTROLPLANE_FINALIZER);
        let after = match &decision.own.status {
            Some(after) => profiles(Some(after)),
            None if is_over => &[],
            None => return tally,
        };
        let took = |old: &FargateProfileStatus| {
            let since = old.since.as_ref()?.0;
            let progress = before.and_then(|before| before.progress.as_ref());
            let history = progress.and_then(|progress| progress.history.as_deref());
            Some(elapsed(since, history.unwrap_or_default(), now))
        };
        // What takes less than a moment is told once, when it is over.
        let observed = before.and_then(|before| before.observed_generation);
        let is_edited = observed.is_some() && observed != control_plane.metadata.generation;
        for old in profiles(before) {
            match (old.phase, after.iter().find(|new| new.name == old.name)) {
                (Some(Phase::Creating), Some(new)) if new.phase == Some(Phase::Ready) => {
                    tally.created.extend(took(old));
                }
                (Some(Phase::Deleting), None) => tally.deleted.extend(took(old)),
                (Some(Phase::Ready), None) if is_edited => tally.deleted.push(Duration::ZERO),
                _ => {}
            }
        }
        let is_known = |new: &&FargateProfileStatus| profiles(before).iter().any(|old| old.name == new.name);
        let at_once = after
            .iter()
            .filter(|new| new.phase == Some(Phase::Ready) && !is_known(new));
        if is_edited {
            tally.created.extend(at_once.map(|_| Duration::ZERO));
        }
        for new in after {
            let mut known = profiles(before).iter().filter(|old| old.name == new.name);
            let old = known.next().and_then(|old| old.failure_message.as_ref());
            let failure = new.failure_message.as_ref().filter(|new| Some(*new) != old);
            let is_going = new.phase == Some(Phase::Deleting);
            tally.errors.extend(failure.map(|failure| match is_going {
                true => Category::Deletion,
                false => Category::of(failure),
            }));
        }
        tally
    }

    /// What happened by a decision of which the part about the object itself could not be written.
    #[must_use]
    pub fn unwritten(control_plane: &CAPTControlPlane, decision: &Decision<CAPTControlPlaneStatus>) -> Self {
        let wanted = control_plane.spec.additional_fargate_profiles.as_deref();
        let has_profiles = wanted.is_some_and(|wanted| !wanted.is_empty())
            || !profiles(control_plane.status.as_ref()).is_empty();
        let is_lost = has_profiles && decision.own.status.is_some();
        Self {
            errors: is_lost.then_some(Category::StatusUpdate).into_iter().collect(),
            ..Self::default()
        }
    }
}

fn profiles(status: Option<&CAPTControlPlaneStatus>) -> &[FargateProfileStatus] {
    status
        .and_then(|status| status.fargate_profile_statuses.as_deref())
        .unwrap_or_default()
}

/// What sort of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// A Secret, the network or a role is missing or not as it should be.
    Dependency,
    /// AWS refused it, or it is not configured as it should be.
    Creation,
    /// It could not be removed.
    Deletion,
    /// What became of profiles could not be written down.
    StatusUpdate,
}

impl Category {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Dependency,
        Self::Creation,
        Self::Deletion,
        Self::StatusUpdate,
    ];

    /// Which sort a failure of a profile is that is wanted.
    #[must_use]
    pub fn of(failure: &str) -> Self {
        let text = failure.to_lowercase();
        let is_dependency = ["secret", "vpc_config", "subnet", "iam", "role"]
            .iter()
            .any(|word| text.contains(word));
        if is_dependency {
            Self::Dependency
        } else {
            Self::Creation
        }
    }

    /// As it is written in a metric.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dependency => "dependency",
            Self::Creation => "creation",
            Self::Deletion => "deletion",
            Self::StatusUpdate => "status_update",
        }
    }
}

#[cfg(test)]
mod tests;
