//! How long the steps of a control plane may take. Each has a start and an end; paused time does not count.
//!
//! A timeout is a verdict about time, not a trap: it is passed anew by every decision, and ends when the fact that was
//! waited for arrives.

use std::time::Duration;

use capt_api::{
    captcontrolplane::{CAPTControlPlaneSpec, ControlPlaneTimeouts, OperationRecord},
    conditions::captcontrolplane::CAPTControlPlaneReason as Reason,
    duration::Timeout,
};
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::progress::PAUSED;

/// A step that may not take for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// From the owner until the infrastructure is ready.
    Vpc,
    /// From ready infrastructure until the control plane is initialized.
    ControlPlane,
    /// From the creation of the Workspace until it is synced and ready.
    Workspace,
    /// From the ready Workspace until its connection Secret is complete.
    Secret,
    /// From the beginning of an update until the Workspace is ready again.
    Update,
}

impl Step {
    /// One word for that it took too long.
    #[must_use]
    pub fn reason(self) -> Reason {
        match self {
            Self::Vpc => Reason::VpcReadyTimeout,
            Self::ControlPlane => Reason::ControlPlaneTimeout,
            Self::Workspace => Reason::WorkspaceReadyTimeout,
            Self::Secret => Reason::SecretTimeout,
            Self::Update => Reason::UpdateTimeout,
        }
    }

    /// How long it may take.
    #[must_use]
    pub fn limit(self, spec: &CAPTControlPlaneSpec) -> Duration {
        let timeouts = spec
            .control_plane_config
            .as_ref()
            .and_then(|config| config.timeouts.as_ref());
        let of = |field: fn(&ControlPlaneTimeouts) -> Option<&Timeout>| timeouts.and_then(field);
        let (timeout, minutes) = match self {
            Self::Vpc => (of(|all| all.vpc_ready_timeout.as_ref()), 15),
            Self::ControlPlane => (of(|all| all.control_plane_timeout.as_ref()), 30),
            Self::Workspace => (of(|all| all.workspace_ready_timeout.as_ref()), 30),
            Self::Secret => (of(|all| all.secret_timeout.as_ref()), 5),
            Self::Update => (of(|all| all.update_timeout.as_ref()), 60),
        };
        timeout
            .and_then(Timeout::to_std)
            .unwrap_or(Duration::from_secs(minutes * 60))
    }

    /// What took too long, what is waited for, and what to do.
    #[must_use]
    pub fn message(self, limit: Duration, doing: &str) -> String {
        let limit = capt_api::duration::Duration::from(limit);
        let (what, field) = match self {
            Self::Vpc => ("The infrastructure was not ready", "vpcReadyTimeout"),
            Self::ControlPlane => ("The control plane was not initialized", "controlPlaneTimeout"),
            Self::Workspace => ("The Workspace was not synced and ready", "workspaceReadyTimeout"),
            Self::Secret => ("The connection Secret was not complete", "secretTimeout"),
            Self::Update => ("The update was not done", "updateTimeout"),
        };
        let doing = doing.trim_end_matches(['.', '\n']);
        format!(
            "{what} after {limit}: {doing}. It is still waited for; if it only needs longer, raise \
             spec.controlPlaneConfig.timeouts.{field}"
        )
    }
}

/// A step that is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Which one.
    pub step: Step,
    /// When it began.
    pub since: Timestamp,
}

/// What time says about the steps that are going on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The step that took too long, and how long it was allowed to take.
    pub expired: Option<(Step, Duration)>,
    /// When the next one will have.
    pub look_again: Option<Duration>,
}

/// Judges the steps that are going on.
#[must_use]
pub fn judge(
    spec: &CAPTControlPlaneSpec,
    running: &[Running],
    history: &[OperationRecord],
    now: Timestamp,
) -> Verdict {
    let mut verdict = Verdict::default();
    for one in running {
        let limit = one.step.limit(spec);
        let elapsed = elapsed(one.since, history, now);
        match limit.checked_sub(elapsed).filter(|left| !left.is_zero()) {
            Some(left) => {
                verdict.look_again = Some(verdict.look_again.map_or(left, |other| other.min(left)));
            }
            None if verdict.expired.is_none() => verdict.expired = Some((one.step, limit)),
            None => {}
        }
    }
    verdict
}

/// How long ago something began, without the time in which everything was paused since.
#[must_use]
pub fn elapsed(since: Timestamp, history: &[OperationRecord], now: Timestamp) -> Duration {
    let paused = history
        .iter()
        .filter(|record| record.operation == PAUSED)
        .filter_map(|record| {
            let from = record.start_time.0.max(since);
            let to = record.end_time.as_ref()?.0.min(now);
            Some(between(from, to))
        })
        .sum();
    between(since, now).saturating_sub(paused)
}

/// The time from one moment to a later one; none if it is earlier.
pub(super) fn between(from: Timestamp, to: Timestamp) -> Duration {
    let length: SignedDuration = to.duration_since(from);
    Duration::try_from(length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use capt_api::captcontrolplane::ControlPlaneConfig;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + 60 * minute).expect("a valid time")
    }

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(60 * minutes)
    }

    fn spec(timeouts: ControlPlaneTimeouts) -> CAPTControlPlaneSpec {
        let mut spec: CAPTControlPlaneSpec =
            serde_json::from_str(r#"{"version": "1.31", "workspaceTemplateRef": {"name": "eks"}}"#)
                .expect("a spec");
        spec.control_plane_config = Some(ControlPlaneConfig {
            timeouts: Some(timeouts),
            ..ControlPlaneConfig::default()
        });
        spec
    }

    fn pause(from: i64, to: i64) -> OperationRecord {
        OperationRecord {
            operation: PAUSED.to_owned(),
            start_time: Time(at(from)),
            end_time: Some(Time(at(to))),
            result: None,
            message: None,
        }
    }

    #[test]
    fn every_step_has_its_default_and_can_be_overridden() {
        let five = || Some(Timeout::Minutes(7));
        let overridden = spec(ControlPlaneTimeouts {
            control_plane_timeout: five(),
            vpc_ready_timeout: five(),
            workspace_ready_timeout: five(),
            secret_timeout: five(),
            update_timeout: five(),
            ..ControlPlaneTimeouts::default()
        });
        let default = spec(ControlPlaneTimeouts::default());
        for (step, expected) in [
            (Step::Vpc, 15),
            (Step::ControlPlane, 30),
            (Step::Workspace, 30),
            (Step::Secret, 5),
            (Step::Update, 60),
        ] {
            assert_eq!(step.limit(&default), minutes(expected), "{step:?}");
            assert_eq!(step.limit(&overridden), minutes(7), "{step:?}");
            let message = step.message(minutes(7), "Terraform is at work.");
            assert!(
                message.contains("after 7m0s: Terraform is at work. It"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_step_expires_at_its_limit_and_not_before() {
        let spec = spec(ControlPlaneTimeouts::default());
        let running = [
            Running {
                step: Step::Vpc,
                since: at(0),
            },
            Running {
                step: Step::ControlPlane,
                since: at(0),
            },
        ];
        for (now, expired, left) in [
            (0, None, Some(15)),
            (14, None, Some(1)),
            (15, Some(Step::Vpc), Some(15)),
            (29, Some(Step::Vpc), Some(1)),
            (31, Some(Step::Vpc), None),
            (-5, None, Some(15)),
        ] {
            let verdict = judge(&spec, &running, &[], at(now));
            assert_eq!(verdict.expired.map(|(step, _)| step), expired, "{now}");
            assert_eq!(verdict.look_again, left.map(minutes), "{now}");
        }
    }

    #[test]
    fn paused_time_does_not_count() {
        for (name, history, expected) in [
            ("none", vec![], 30),
            ("in the middle", vec![pause(5, 15)], 20),
            ("two of them", vec![pause(5, 15), pause(20, 25)], 15),
            ("before it began", vec![pause(-20, -10)], 30),
            ("across the beginning", vec![pause(-10, 10)], 20),
            ("all of it", vec![pause(-10, 40)], 0),
            (
                "something else",
                vec![OperationRecord {
                    operation: "Create".to_owned(),
                    ..pause(5, 15)
                }],
                30,
            ),
        ] {
            assert_eq!(elapsed(at(0), &history, at(30)), minutes(expected), "{name}");
        }
    }
}
