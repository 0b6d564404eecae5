//! How long a profile may take. Time in the queue and paused time do not count.

use std::time::Duration;

use capt_api::{
    captcontrolplane::{AdditionalFargateProfile, FargateProfilePhase as Phase},
    duration::Timeout,
};

use super::Part;
use crate::controlplane::{deciding::Deciding, timeouts::elapsed};

/// AWS takes minutes to make a profile, and often more than 20 to remove one.
const CREATION_MINUTES: u64 = 20;
const DELETION_MINUTES: u64 = 40;

/// Lets time have its say about a profile.
pub(super) fn judge(deciding: &mut Deciding<'_>, part: &mut Part<'_>) {
    let is_deletion = match part.reading.phase {
        Phase::Creating | Phase::Updating => false,
        Phase::Deleting => true,
        _ => return,
    };
    let since = part
        .before
        .as_ref()
        .filter(|before| before.phase == Some(part.reading.phase))
        .and_then(|before| before.since.as_ref())
        .map_or(deciding.now, |since| since.0);
    let limit = limit(deciding, &part.name, is_deletion);
    let elapsed = elapsed(since, deciding.history(), deciding.now);
    match limit.checked_sub(elapsed).filter(|left| !left.is_zero()) {
        Some(left) => deciding.look_again(Some(left)),
        None => {
            let limit = capt_api::duration::Duration::from(limit);
            let (what, field) = if is_deletion {
                (
                    "gone",
                    "spec.controlPlaneConfig.timeouts.fargateProfileDeletionTimeout",
                )
            } else {
                ("ready", "the profile's timeout")
            };
            part.reading.is_late = true;
            part.reading.failure.get_or_insert_with(|| {
                format!(
                    "The Fargate profile was not {what} after {limit}. It is still waited for; if it only needs \
                     longer, raise {field}"
                )
            });
        }
    }
}

fn limit(deciding: &Deciding<'_>, name: &str, is_deletion: bool) -> Duration {
    let spec = &deciding.snapshot.control_plane.spec;
    let timeouts = spec
        .control_plane_config
        .as_ref()
        .and_then(|config| config.timeouts.as_ref());
    let minutes = |count: u64| Duration::from_secs(count * 60);
    if is_deletion {
        let timeout = timeouts.and_then(|all| all.fargate_profile_deletion_timeout.as_ref());
        return timeout
            .and_then(Timeout::to_std)
            .unwrap_or(minutes(DELETION_MINUTES));
    }
    let mut profiles = spec.additional_fargate_profiles.iter().flatten();
    let own = profiles
        .find(|profile: &&AdditionalFargateProfile| profile.name == name)
        .and_then(|profile| profile.timeout.as_ref()?.to_std());
    let timeout = timeouts.and_then(|all| all.fargate_profile_creation_timeout.as_ref());
    own.or_else(|| timeout?.to_std())
        .unwrap_or(minutes(CREATION_MINUTES))
}
