//! How long the steps of making a network may take. Each has a start and an end; paused time does not count.
//!
//! A timeout is a verdict about time, not a trap: it ends when the fact that was waited for arrives, and somebody who
//! changes the spec or asks for another try starts the clock anew.

use std::time::Duration;

use capt_api::{
    captcluster::{CAPTClusterSpec, Pause},
    conditions::captcluster::CAPTClusterReason as Reason,
    duration::Timeout,
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};

/// How many pauses are remembered.
pub(super) const MAX_PAUSES: usize = 16;

/// A step that may not take for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// From the owner until the Workspace is ready.
    Vpc,
    /// From the creation of the Workspace until it is synced and ready.
    Workspace,
    /// From the ready Workspace until its connection Secret is complete.
    Secret,
}

impl Step {
    /// One word for that it took too long.
    #[must_use]
    pub fn reason(self) -> Reason {
        match self {
            Self::Vpc => Reason::VpcCreationTimeout,
            Self::Workspace => Reason::WorkspaceReadyTimeout,
            Self::Secret => Reason::SecretTimeout,
        }
    }

    /// How long it may take.
    #[must_use]
    pub fn limit(self, spec: &CAPTClusterSpec) -> Duration {
        let timeouts = spec.timeouts.as_ref();
        let (timeout, minutes) = match self {
            Self::Vpc => (timeouts.and_then(|all| all.vpc_creation_timeout.as_ref()), 15),
            Self::Workspace => (timeouts.and_then(|all| all.workspace_ready_timeout.as_ref()), 30),
            Self::Secret => (timeouts.and_then(|all| all.secret_timeout.as_ref()), 5),
        };
        timeout
            .and_then(Timeout::to_std)
            .unwrap_or(Duration::from_secs(minutes * 60))
    }

    /// What took too long, and what to do.
    pub(super) fn message(self, spec: &CAPTClusterSpec, doing: &str) -> String {
        let limit = capt_api::duration::Duration::from(self.limit(spec));
        let (what, field) = match self {
            Self::Vpc => ("The VPC was not ready", "vpcCreationTimeout"),
            Self::Workspace => ("The Workspace was not synced and ready", "workspaceReadyTimeout"),
            Self::Secret => ("The connection Secret was not complete", "secretTimeout"),
        };
        format!(
            "{what} after {limit}: {doing}. It is still waited for; if it only needs longer, raise \
             spec.timeouts.{field}"
        )
    }
}

/// A step that is going on, and since when.
pub(super) type Running = (Step, Timestamp);

/// What time says about the steps that are going on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The first step that took too long.
    pub(super) expired: Option<Step>,
    /// When the next one will have.
    pub(super) look_again: Option<Duration>,
}

/// Judges the steps that are going on.
pub(super) fn judge(
    spec: &CAPTClusterSpec,
    running: &[Running],
    pauses: &[Pause],
    now: Timestamp,
) -> Verdict {
    let mut verdict = Verdict::default();
    for (step, since) in running {
        let left = step.limit(spec).checked_sub(elapsed(*since, pauses, now));
        match left.filter(|left| !left.is_zero()) {
            Some(left) => {
                let other = verdict.look_again.unwrap_or(left);
                verdict.look_again = Some(other.min(left));
            }
            None => verdict.expired = verdict.expired.or(Some(*step)),
        }
    }
    verdict
}

/// How long ago something began, without pauses since.
#[must_use]
pub fn elapsed(since: Timestamp, pauses: &[Pause], now: Timestamp) -> Duration {
    let paused = pauses
        .iter()
        .map(|pause| between(pause.from.0.max(since), pause.to.0.min(now)))
        .sum();
    between(since, now).saturating_sub(paused)
}

/// The time from one moment to a later one; none if it is earlier.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// Remembers a pause. Of too many, the two oldest become one of the same length.
pub(super) fn remember(pauses: &mut Vec<Pause>, from: Timestamp, to: Timestamp) {
    pauses.push(Pause {
        from: Time(from),
        to: Time(to),
    });
    while pauses.len() > MAX_PAUSES {
        let oldest = pauses.remove(0);
        let length = SignedDuration::try_from(between(oldest.from.0, oldest.to.0)).unwrap_or_default();
        if let Some(next) = pauses.first_mut() {
            next.from = Time(next.from.0.checked_sub(length).unwrap_or(next.from.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use capt_api::captcluster::CAPTClusterTimeouts;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + 60 * minute).expect("a valid time")
    }

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(60 * minutes)
    }

    fn spec(timeouts: Option<CAPTClusterTimeouts>) -> CAPTClusterSpec {
        let mut spec: CAPTClusterSpec =
            serde_json::from_str(r#"{"region": "eu-central-1", "existingVpcId": "vpc-1"}"#).expect("a spec");
        spec.timeouts = timeouts;
        spec
    }

    fn pause(from: i64, to: i64) -> Pause {
        Pause {
            from: Time(at(from)),
            to: Time(at(to)),
        }
    }

    #[test]
    fn every_step_has_its_default_and_can_be_overridden() {
        let seven = || Some(Timeout::Text("7m".into()));
        let overridden = spec(Some(CAPTClusterTimeouts {
            vpc_creation_timeout: seven(),
            secret_timeout: seven(),
            workspace_ready_timeout: seven(),
        }));
        for (step, expected, field) in [
            (Step::Vpc, 15, "vpcCreationTimeout"),
            (Step::Workspace, 30, "workspaceReadyTimeout"),
            (Step::Secret, 5, "secretTimeout"),
        ] {
            assert_eq!(step.limit(&spec(None)), minutes(expected));
            assert_eq!(step.limit(&overridden), minutes(7));
            let message = step.message(&overridden, "why");
            assert!(
                message.contains("after 7m0s: why") && message.contains(field),
                "{message}"
            );
        }
    }

    #[test]
    fn a_step_expires_at_its_limit_and_not_before() {
        let running = [(Step::Vpc, at(0)), (Step::Workspace, at(0))];
        for (now, expired, left) in [
            (0, None, Some(15)),
            (14, None, Some(1)),
            (15, Some(Step::Vpc), Some(15)),
            (30, Some(Step::Vpc), None),
            (-5, None, Some(15)),
        ] {
            let verdict = judge(&spec(None), &running, &[], at(now));
            assert_eq!(verdict.expired, expired, "{now}");
            assert_eq!(verdict.look_again, left.map(minutes), "{now}");
        }
    }

    #[test]
    fn paused_time_does_not_count() {
        for (pauses, expected) in [
            (vec![], 30),
            (vec![pause(5, 15)], 20),
            (vec![pause(5, 15), pause(20, 25)], 15),
            (vec![pause(-20, -10)], 30),
            (vec![pause(-10, 10)], 20),
            (vec![pause(20, 40)], 20),
        ] {
            assert_eq!(elapsed(at(0), &pauses, at(30)), minutes(expected), "{pauses:?}");
        }
    }

    #[test]
    fn no_number_of_pauses_is_too_many() {
        let mut pauses = Vec::new();
        for hour in 0..100 {
            remember(&mut pauses, at(60 * hour), at(60 * hour + 10));
        }
        assert_eq!(pauses.len(), MAX_PAUSES);
        assert_eq!(elapsed(at(0), &pauses, at(6000)), minutes(100 * 50));
    }
}
