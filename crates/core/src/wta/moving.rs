//! What `clusterctl move` has to find: a mark that makes it wait, and state that goes along.

use capt_api::{foreign::marks as foreign_marks, marks};
use serde_json::json;

use super::{
    deciding::Deciding,
    identity, pausing, policy,
    snapshot::{Snapshot, StateSecretSeen, WorkspaceSeen},
};
use crate::decision::{Desired, Event, EventKind, Guard, Strip, Target};

/// What to tell about a Workspace whose object was moved away: it is still there, without its state, and only a person knows
/// when it is not needed any more.
#[must_use]
pub fn left_behind(workspace: &WorkspaceSeen) -> Option<Event> {
    let is_kept = workspace.annotations.contains_key(marks::RETAINED);
    if workspace.deleting || is_kept || !policy::is_nothing(&workspace.spec) {
        return None;
    }
    Some(Event {
        kind: EventKind::Warning,
        reason: "LeftBehind".to_owned(),
        message:
            "Its WorkspaceTemplateApply was moved away, and nobody acts on it. Once all is well on the other \
                  side, delete it: its connection Secret and its report go with it, its infrastructure stays"
                .to_owned(),
    })
}

/// Keeps clusterctl waiting, or lets it go on.
pub(super) fn block(deciding: &mut Deciding<'_>, is_blocked: bool) {
    let is_marked =
        identity::annotation(&deciding.snapshot.wta.metadata, foreign_marks::BLOCK_MOVE).is_some();
    if is_marked != is_blocked {
        let value = is_blocked.then(|| "true".to_owned());
        deciding
            .own
            .annotations
            .insert(foreign_marks::BLOCK_MOVE.to_owned(), value);
    }
}

/// State is held, and goes along with the Cluster that it belongs to.
pub(super) fn hold_state(deciding: &mut Deciding<'_>) {
    let moves = pausing::belongs_to_cluster(deciding.snapshot);
    for secret in &deciding.snapshot.state_secrets {
        // Nothing can be held that is already going.
        if !secret.deleting && (secret.moves != moves || !secret.is_held) {
            let change = state_secret(deciding.snapshot, secret, moves, true);
            deciding.children.push(change);
        }
    }
}

/// State is nobody's any more; it is still held.
pub(super) fn unlabel_state(deciding: &mut Deciding<'_>) {
    for secret in &deciding.snapshot.state_secrets {
        if secret.moves {
            let change = state_secret(deciding.snapshot, secret, false, secret.is_held);
            deciding.children.push(change);
        }
    }
}

/// State describes nothing any more and may go.
pub(super) fn release_state(deciding: &mut Deciding<'_>) {
    for secret in &deciding.snapshot.state_secrets {
        if secret.is_held {
            let change = state_secret(deciding.snapshot, secret, secret.moves, false);
            deciding.children.push(change);
        }
    }
}

fn state_secret(snapshot: &Snapshot, secret: &StateSecretSeen, moves: bool, is_held: bool) -> Desired {
    let mut metadata = json!({});
    let mut strip = Strip::default();
    if moves {
        metadata["labels"] = json!({foreign_marks::MOVE: ""});
    } else if secret.moves {
        strip.labels.push(foreign_marks::MOVE.to_owned());
    }
    if is_held {
        metadata["finalizers"] = json!([marks::TERRAFORM_STATE_FINALIZER]);
    } else if secret.is_held {
        strip.finalizers.push(marks::TERRAFORM_STATE_FINALIZER.to_owned());
    }
    Desired {
        target: Target {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            namespace: snapshot.wta.metadata.namespace.clone(),
            name: secret.name.clone(),
        },
        guard: Guard::Uid(secret.uid.clone()),
        fields: json!({"metadata": metadata}),
        strip,
        rendered_from: None,
    }
}
