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
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use crate::timing;

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

/// A step that is going on.
pub(super) type Running = timing::Running<Step>;

/// Judges the steps that are going on.
pub(super) fn judge(
    spec: &CAPTClusterSpec,
    running: &[Running],
    pauses: &[Pause],
    now: Timestamp,
) -> timing::Verdict<Step> {
    timing::judge(
        running,
        |step| step.limit(spec),
        |since| elapsed(since, pauses, now),
    )
}

/// How long ago something began, without pauses since.
#[must_use]
pub fn elapsed(since: Timestamp, pauses: &[Pause], now: Timestamp) -> Duration {
    timing::elapsed(since, pauses.iter().map(times), now)
}

fn times(pause: &Pause) -> timing::Pause {
    (pause.from.0, pause.to.0)
}

/// Remembers a pause. Of too many, the two oldest become one of the same length.
pub(super) fn remember(pauses: &mut Vec<Pause>, from: Timestamp, to: Timestamp) {
    pauses.push(Pause {
        from: Time(from),
        to: Time(to),
    });
    while pauses.len() > MAX_PAUSES {
        let oldest = pauses.remove(0);
        if let Some(next) = pauses.first_mut() {
            let (from, to) = timing::joined(times(&oldest), times(next));
            *next = Pause {
                from: Time(from),
                to: Time(to),
            };
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
    fn no_number_of_pauses_is_too_many() {
        let mut pauses = Vec::new();
        for hour in 0..100 {
            remember(&mut pauses, at(60 * hour), at(60 * hour + 10));
        }
        assert_eq!(pauses.len(), MAX_PAUSES);
        assert_eq!(elapsed(at(0), &pauses, at(6000)), minutes(100 * 50));
    }
}
