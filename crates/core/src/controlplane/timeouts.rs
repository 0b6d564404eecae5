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
use k8s_openapi::jiff::Timestamp;

use super::pauses;
use crate::timing;

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
    /// From the beginning of an update, or of one of its steps, until the Workspace is ready again.
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
            Self::Update => ("This step of the update was not done", "updateTimeout"),
        };
        let doing = doing.trim_end_matches(['.', '\n']);
        format!(
            "{what} after {limit}: {doing}. It is still waited for; if it only needs longer, raise \
             spec.controlPlaneConfig.timeouts.{field}"
        )
    }
}

/// A step that is going on.
pub type Running = timing::Running<Step>;

/// Judges the steps that are going on.
#[must_use]
pub fn judge(
    spec: &CAPTControlPlaneSpec,
    running: &[Running],
    history: &[OperationRecord],
    now: Timestamp,
) -> timing::Verdict<Step> {
    timing::judge(
        running,
        |step| step.limit(spec),
        |since| elapsed(since, history, now),
    )
}

/// How long ago something began, without the time in which everything was paused since.
#[must_use]
pub fn elapsed(since: Timestamp, history: &[OperationRecord], now: Timestamp) -> Duration {
    timing::elapsed(since, history.iter().filter_map(pauses::of), now)
}

#[cfg(test)]
mod tests {
    use capt_api::captcontrolplane::ControlPlaneConfig;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::{super::progress, *};

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
    fn pauses_do_not_count_and_operations_do() {
        let record = |operation: &str| OperationRecord {
            operation: operation.to_owned(),
            start_time: Time(at(5)),
            step_start_time: None,
            end_time: Some(Time(at(15))),
            result: None,
            message: None,
        };
        for (operation, expected) in [(progress::PAUSED, 20), (progress::CREATE, 30)] {
            let elapsed = elapsed(at(0), &[record(operation)], at(30));
            assert_eq!(elapsed, minutes(expected), "{operation}");
        }
    }
}
