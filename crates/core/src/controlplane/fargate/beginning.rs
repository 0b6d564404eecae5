//! Whether all that is new in a status is that profiles are under way, which may be told together with what comes of it.

use capt_api::captcontrolplane::{
    CAPTControlPlaneStatus, ControlPlaneState as State, FargateProfilePhase as Phase, FargateProfileStatus,
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

/// Whether one status differs from the one before it only in profiles that are begun with, and what follows from that.
#[must_use]
pub fn is_all(before: &CAPTControlPlaneStatus, after: &CAPTControlPlaneStatus) -> bool {
    let rows = |status: &CAPTControlPlaneStatus| status.fargate_profile_statuses.clone().unwrap_or_default();
    let (old, new) = (rows(before), rows(after));
    let of = |rows: &[FargateProfileStatus], name: &str| rows.iter().find(|row| row.name == name).cloned();
    let none_is_gone = old.iter().all(|row| of(&new, &row.name).is_some());
    let all_begin = new
        .iter()
        .all(|row| is_begun_with(of(&old, &row.name).as_ref(), row));
    old != new && none_is_gone && all_begin && rest(before) == rest(after)
}

/// Whether nothing else is said of a profile than before, or only that it is begun with.
fn is_begun_with(old: Option<&FargateProfileStatus>, new: &FargateProfileStatus) -> bool {
    let is_under_way = matches!(
        new.phase,
        Some(Phase::Queued | Phase::Creating | Phase::Updating | Phase::Deleting)
    );
    let had_failed = old.is_some_and(|old| old.failure_message.is_some());
    let was_ready = old.is_some_and(|old| old.ready);
    old == Some(new)
        || (is_under_way && new.failure_message.is_none() && !had_failed && (was_ready || !new.ready))
}

/// What a status says besides profiles, and besides that they are outstanding.
fn rest(status: &CAPTControlPlaneStatus) -> CAPTControlPlaneStatus {
    let is_about_profiles = |condition: &&Condition| {
        condition.type_.starts_with("FargateProfile") || condition.type_ == "RollingOut"
    };
    let conditions = status.conditions.iter().flatten();
    CAPTControlPlaneStatus {
        fargate_profile_statuses: None,
        fargate_profiles_ready: None,
        progress: None,
        observed_generation: None,
        state: status.state.map(|state| match state {
            State::Configuring => State::Ready,
            other => other,
        }),
        conditions: Some(
            conditions
                .filter(|condition| !is_about_profiles(condition))
                .map(|condition| Condition {
                    reason: String::new(),
                    message: String::new(),
                    observed_generation: None,
                    last_transition_time: Time(Timestamp::UNIX_EPOCH),
                    ..condition.clone()
                })
                .collect(),
        ),
        ..status.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn status(state: &str, rows: &Value, ready: &str) -> CAPTControlPlaneStatus {
        let condition = |type_: &str, status: &str| {
            json!({
                "type": type_, "status": status, "reason": state, "message": state,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let all_ready = if state == "Ready" { "True" } else { "False" };
        serde_json::from_value(json!({
            "ready": true, "initialized": true, "state": state, "phase": "Ready",
            "fargateProfileStatuses": rows, "fargateProfilesReady": rows.to_string(),
            "observedGeneration": rows.to_string().len(),
            "conditions": [condition("Ready", ready), condition("FargateProfileReady", all_ready)],
        }))
        .expect("a status")
    }

    fn row(name: &str, phase: &str, failure: Option<&str>) -> Value {
        json!({"name": name, "phase": phase, "ready": phase == "Ready", "failureMessage": failure})
    }

    #[test]
    fn that_profiles_are_begun_with_may_wait_and_what_comes_of_it_may_not() {
        let ready = status("Ready", &json!([row("a", "Ready", None)]), "True");
        for (name, after, expected) in [
            ("nothing", ready.clone(), false),
            (
                "another one",
                status(
                    "Configuring",
                    &json!([row("a", "Ready", None), row("b", "Creating", None)]),
                    "True",
                ),
                true,
            ),
            (
                "it goes",
                status("Configuring", &json!([row("a", "Deleting", None)]), "True"),
                true,
            ),
            ("it is gone", status("Ready", &json!([]), "True"), false),
            (
                "another one is ready",
                status(
                    "Ready",
                    &json!([row("a", "Ready", None), row("b", "Ready", None)]),
                    "True",
                ),
                false,
            ),
            (
                "it failed",
                status("Degraded", &json!([row("a", "Failed", Some("no"))]), "True"),
                false,
            ),
            (
                "it takes too long",
                status(
                    "Configuring",
                    &json!([row("a", "Deleting", Some("late"))]),
                    "True",
                ),
                false,
            ),
            (
                "something else happens too",
                status("Configuring", &json!([row("a", "Deleting", None)]), "False"),
                false,
            ),
        ] {
            assert_eq!(is_all(&ready, &after), expected, "{name}");
        }
        let failed = status("Degraded", &json!([row("a", "Failed", Some("no"))]), "True");
        let again = status("Degraded", &json!([row("a", "Creating", None)]), "True");
        assert!(!is_all(&failed, &again), "a failure that is over is told at once");
    }
}
