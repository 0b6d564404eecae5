//! Steps that are going on and may not take for ever.

use std::time::Duration;

use capt_api::{
    CAPTCluster, CAPTControlPlane, captcontrolplane::ControlPlaneState, conditions::find_condition,
};
use capt_core::{
    captcluster::timeouts as vpc,
    controlplane::{progress, timeouts as plane},
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};

use super::description::RunningTimeout;
use crate::look::view::{Object, View};

/// When it is for what waits: paused time does not count, and a pause that goes on stands in no history yet.
fn counted_until(conditions: Option<&[Condition]>, now: Timestamp) -> Timestamp {
    let paused = find_condition(conditions.unwrap_or_default(), "Paused");
    paused
        .filter(|paused| paused.status == "True")
        .map_or(now, |paused| paused.last_transition_time.0.min(now))
}

/// The timeouts that run for an object. They are told as far as its status tells when the steps began.
pub(super) fn running(view: &View<'_>, id: &str, now: Timestamp) -> Vec<RunningTimeout> {
    match view.object(id) {
        Some(Object::CaptCluster(one)) => of_network(one, now),
        Some(Object::ControlPlane(one)) => of_control_plane(view, id, one, now),
        _ => Vec::new(),
    }
}

fn of_network(captcluster: &CAPTCluster, now: Timestamp) -> Vec<RunningTimeout> {
    let status = captcluster.status.clone().unwrap_or_default();
    let now = counted_until(status.conditions.as_deref(), now);
    let conditions = status.conditions.unwrap_or_default();
    let creating = find_condition(&conditions, "VPCCreating").filter(|one| one.status == "True");
    let Some(since) = creating.map(|creating| creating.last_transition_time.0) else {
        return Vec::new();
    };
    let elapsed = vpc::elapsed(since, status.pauses.as_deref().unwrap_or_default(), now);
    let limit = vpc::Step::Vpc.limit(&captcluster.spec);
    vec![timeout("VPC ready", since, limit, elapsed)]
}

fn of_control_plane(
    view: &View<'_>,
    id: &str,
    control_plane: &CAPTControlPlane,
    now: Timestamp,
) -> Vec<RunningTimeout> {
    let status = control_plane.status.clone().unwrap_or_default();
    let now = counted_until(status.conditions.as_deref(), now);
    let history = status
        .progress
        .and_then(|progress| progress.history)
        .unwrap_or_default();
    let spec = &control_plane.spec;
    let one = |word, step: plane::Step, since| {
        timeout(
            word,
            since,
            step.limit(spec),
            plane::elapsed(since, &history, now),
        )
    };
    if status.initialized {
        let update = progress::running(&history).filter(|record| record.operation == progress::UPDATE);
        let update = update.map(|record| one("Update", plane::Step::Update, progress::step_began(record)));
        return update.into_iter().collect();
    }
    let Some(began) = progress::running(&history)
        .filter(|record| record.operation == progress::CREATE)
        .map(|record| record.start_time.0)
    else {
        return Vec::new();
    };
    let Some(ready_since) = infrastructure_ready(view, id) else {
        return vec![one("Network ready", plane::Step::Vpc, began)];
    };
    if matches!(status.state, None | Some(ControlPlaneState::Pending)) {
        return Vec::new();
    }
    let mut steps = vec![one(
        "Control plane serves",
        plane::Step::ControlPlane,
        ready_since.max(began),
    )];
    steps.extend(
        workspace_made(view, id).map(|made| one("Workspace ready", plane::Step::Workspace, made.max(began))),
    );
    steps
}

/// Since when the network of a control plane is ready.
fn infrastructure_ready(view: &View<'_>, id: &str) -> Option<Timestamp> {
    view.graph.needs(id).find_map(|(needed, _)| {
        let Some(Object::CaptCluster(captcluster)) = view.object(needed) else {
            return None;
        };
        let status = captcluster.status.as_ref()?;
        let ready = find_condition(status.conditions.as_deref()?, "Ready")?;
        (ready.status == "True").then_some(ready.last_transition_time.0)
    })
}

/// When the Workspace of a control plane was made, if it is not ready yet.
fn workspace_made(view: &View<'_>, id: &str) -> Option<Timestamp> {
    let mut applies = view.graph.made_by(id);
    applies.find_map(|apply| {
        view.graph
            .made_by(apply)
            .find_map(|made| match view.object(made) {
                Some(Object::Workspace(workspace)) if view.is_ready(made) == Some(false) => {
                    workspace.created_at
                }
                _ => None,
            })
    })
}

fn timeout(step: &'static str, since: Timestamp, limit: Duration, elapsed: Duration) -> RunningTimeout {
    let words = |length: Duration| capt_api::duration::Duration::from(length).to_string();
    let left = limit.checked_sub(elapsed).filter(|left| !left.is_zero());
    RunningTimeout {
        step,
        since,
        limit: words(limit),
        left: left.map(words),
    }
}
