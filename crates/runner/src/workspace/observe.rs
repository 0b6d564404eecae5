//! From what is known about a Workspace to the plain data that is decided about.

use std::time::Duration;

use capt_api::{
    conditions::workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
    foreign::{
        forprovider::ModuleSource,
        marks::{
            CROSSPLANE_FINALIZER, CROSSPLANE_PAUSED, EXTERNAL_CREATE_FAILED, EXTERNAL_CREATE_PENDING,
            EXTERNAL_CREATE_SUCCEEDED, EXTERNAL_NAME, POLL_INTERVAL, RECONCILE_REQUESTED,
        },
    },
    marks::{
        ALLOW_DESTRUCTIVE, APPROVED, DESTROYED, MEND, MOVED_AWAY, PLAN_REQUESTED, RETAINED, RETRY_REQUESTED,
        STATE_HOME, UNLOCK, WAS_READY, WTA_UID,
    },
};
use k8s_openapi::jiff::Timestamp;

use super::record::Record;
use crate::{
    api::words,
    decide::{Policy, Requests, Running, Snapshot, Whose},
    inputs::{self, Grants, Policies, destroys_on_deletion},
    view::WorkspaceView,
};

/// Nobody is looked at more often than this.
const SHORTEST_POLL: Duration = Duration::from_secs(10);

/// What is the same for all Workspaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Common {
    /// How often to look.
    pub(crate) poll: Option<Duration>,
    /// Spreads times.
    pub(crate) seed: u64,
}

/// What a decision about a Workspace depends on.
pub(crate) fn observe(
    view: &WorkspaceView,
    record: &Record,
    whose: Whose,
    running: Option<Running>,
    common: Common,
) -> Snapshot {
    let annotation = |name: &str| {
        view.annotations
            .get(name)
            .filter(|text| !text.is_empty())
            .cloned()
    };
    let mut memory = record.memory.clone();
    if let Some(memory) = &mut memory {
        memory.is_unfinished |= is_creation_pending(view);
    }
    let paused = record
        .standing
        .condition(Type::Synced)
        .filter(|_| record.standing.has_reason(Type::Synced, Reason::ReconcilePaused));
    let ready = record.standing.condition(Type::Ready);
    let was_ready = was_ready_before(view) && !record.is_changed;
    Snapshot {
        uid: view.uid.clone(),
        name: view.name.clone(),
        generation: view.generation,
        is_deleting: view.deletion.is_some(),
        finalizers: view.finalizers.clone(),
        external_name: annotation(EXTERNAL_NAME),
        home: annotation(STATE_HOME),
        is_paused: is_paused_by_hand(view),
        is_moved_away: view.annotations.contains_key(MOVED_AWAY),
        is_named_by_maker: view.labels.contains_key(WTA_UID),
        is_refused: record.is_refused,
        is_retained: view.annotations.contains_key(RETAINED),
        policies: policy(view),
        requests: requests(view),
        whose,
        said_paused: paused.and_then(|synced| synced.observed_generation),
        poll: poll(view, common.poll),
        running,
        memory,
        inputs: record.inputs.clone(),
        state: record.state.clone(),
        was_made: was_made(view),
        is_to_be_taken_up: was_ready && ready.is_none() && !record.is_looked_up,
        is_taken_up: was_ready && ready.is_some_and(|ready| ready.status == "True"),
        is_unread: is_unread(view),
        is_state_doubted: record.is_state_doubted,
        connection: record.connection.facts,
        rewritten: record.connection.rewritten,
        is_connection_refused: record
            .standing
            .has_reason(Type::Failing, Reason::ConnectionSecretFailed),
        namespace: record.namespace.clone(),
        seed: common.seed,
    }
}

/// Whether nothing may be done, by whichever way that is said.
pub(crate) fn is_paused(view: &WorkspaceView) -> bool {
    is_paused_by_hand(view) || policy(view) == Policy::Paused
}

/// Whether a person paused it.
fn is_paused_by_hand(view: &WorkspaceView) -> bool {
    let by_user = view.annotations.get(CROSSPLANE_PAUSED);
    by_user.is_some_and(|text| text == "true")
}

/// What a Workspace lets us do.
pub(crate) fn policy(view: &WorkspaceView) -> Policy {
    match inputs::policies(view) {
        Ok(Policies::Paused) => Policy::Paused,
        Ok(Policies::Granted(grants)) => Policy::Granted(Grants {
            delete: destroys_on_deletion(view),
            ..grants
        }),
        Err(error) => Policy::Unsupported(words(&error)),
    }
}

/// What people ask for.
pub(crate) fn requests(view: &WorkspaceView) -> Requests {
    let annotation = |name: &str| {
        view.annotations
            .get(name)
            .filter(|text| !text.is_empty())
            .cloned()
    };
    Requests {
        plan: annotation(PLAN_REQUESTED),
        retry: annotation(RETRY_REQUESTED),
        mend: annotation(MEND),
        unlock: annotation(UNLOCK),
        look: annotation(RECONCILE_REQUESTED),
        approved: annotation(APPROVED),
        allow_destructive: annotation(ALLOW_DESTRUCTIVE).as_deref() == Some("true"),
    }
}

/// Whether a creation began and nobody wrote down how it ended.
pub(crate) fn is_creation_pending(view: &WorkspaceView) -> bool {
    let time = |name: &str| view.annotations.get(name)?.parse::<Timestamp>().ok();
    let ended = time(EXTERNAL_CREATE_SUCCEEDED).max(time(EXTERNAL_CREATE_FAILED));
    time(EXTERNAL_CREATE_PENDING).is_some_and(|pending| ended.is_none_or(|ended| ended < pending))
}

/// Whether something was made for it, by whatever runner, and nobody says that it is destroyed.
pub(crate) fn was_made(view: &WorkspaceView) -> bool {
    let is_marked = |name: &str| view.annotations.get(name).is_some_and(|text| !text.is_empty());
    let status = view.status.at_provider.as_ref();
    let outputs = status.and_then(|status| status.outputs.as_ref());
    let is_destroyed = view.annotations.get(DESTROYED).is_some_and(|text| text == "true");
    let has_outputs = outputs.is_some_and(|outputs| !outputs.is_empty());
    !is_destroyed && (is_marked(EXTERNAL_CREATE_SUCCEEDED) || has_outputs)
}

/// Whether what it stands for was ready before this object was made.
pub(crate) fn was_ready_before(view: &WorkspaceView) -> bool {
    view.annotations.get(WAS_READY).is_some_and(|text| text == "true")
}

/// Whether somebody else held it, whose state may be where only its module knows. What we hold has its place written
/// down, and what is text was read.
fn is_unread(view: &WorkspaceView) -> bool {
    let is_held = view.finalizers.iter().any(|one| one == CROSSPLANE_FINALIZER);
    let is_known = view
        .annotations
        .get(STATE_HOME)
        .is_some_and(|home| !home.is_empty());
    let is_destroyed = view.annotations.get(DESTROYED).is_some_and(|text| text == "true");
    view.for_provider.source == ModuleSource::Remote && is_held && !is_known && !is_destroyed
}

fn poll(view: &WorkspaceView, common: Option<Duration>) -> Option<Duration> {
    let own = view
        .annotations
        .get(POLL_INTERVAL)
        .and_then(|text| capt_api::duration::Duration(text.clone()).to_std());
    own.or(common)
        .filter(|interval| !interval.is_zero())
        .map(|interval| interval.max(SHORTEST_POLL))
}

#[cfg(test)]
mod tests {
    use capt_api::foreign::Workspace;
    use serde_json::json;

    use super::*;

    fn view(annotations: &serde_json::Value) -> WorkspaceView {
        let object: Workspace = serde_json::from_value(json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
            "metadata": {"name": "vpc", "annotations": annotations},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
        }))
        .expect("a Workspace");
        WorkspaceView::from(&object)
    }

    #[test]
    fn a_creation_is_pending_while_nothing_newer_says_how_it_ended() {
        let cases = [
            (json!({}), false),
            (json!({EXTERNAL_CREATE_PENDING: "2026-01-01T00:00:05Z"}), true),
            (
                json!({EXTERNAL_CREATE_PENDING: "2026-01-01T00:00:05Z", EXTERNAL_CREATE_FAILED: "2026-01-01T00:00:04Z"}),
                true,
            ),
            (
                json!({EXTERNAL_CREATE_PENDING: "2026-01-01T00:00:05Z", EXTERNAL_CREATE_FAILED: "2026-01-01T00:00:05Z"}),
                false,
            ),
            (
                json!({
                    EXTERNAL_CREATE_PENDING: "2026-01-01T00:00:05Z",
                    EXTERNAL_CREATE_FAILED: "2026-01-01T00:00:01Z",
                    EXTERNAL_CREATE_SUCCEEDED: "2026-01-01T00:00:06Z",
                }),
                false,
            ),
            (json!({EXTERNAL_CREATE_PENDING: "soon"}), false),
        ];
        for (annotations, is_pending) in cases {
            assert_eq!(
                is_creation_pending(&view(&annotations)),
                is_pending,
                "{annotations}"
            );
        }
    }

    #[test]
    fn a_workspace_may_say_how_often_it_is_looked_at() {
        let hour = Some(Duration::from_secs(3600));
        let cases = [
            (json!({}), hour, hour),
            (json!({}), None, None),
            (json!({}), Some(Duration::ZERO), None),
            (json!({POLL_INTERVAL: "5m"}), hour, Some(Duration::from_secs(300))),
            (json!({POLL_INTERVAL: "5m"}), None, Some(Duration::from_secs(300))),
            (json!({POLL_INTERVAL: "1s"}), hour, Some(SHORTEST_POLL)),
            (json!({POLL_INTERVAL: "0s"}), hour, None),
            (json!({POLL_INTERVAL: "often"}), hour, hour),
        ];
        for (annotations, common, expected) in cases {
            assert_eq!(poll(&view(&annotations), common), expected, "{annotations}");
        }
    }
}
