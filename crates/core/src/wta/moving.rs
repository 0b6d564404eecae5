//! What `clusterctl move` has to find: a mark that makes it wait, and state that goes along.

use std::collections::BTreeMap;

use capt_api::{foreign::marks as foreign_marks, marks};
use serde_json::json;

use super::{
    deciding::Deciding,
    identity, location, pausing, policy,
    snapshot::{Snapshot, StateSecretSeen, WorkspaceSeen},
};
use crate::{
    decision::{Desired, Event, EventKind, Guard, Strip, Target},
    render::WorkspaceGroup,
};

/// What to do about a Workspace whose object was moved away.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftBehind {
    /// The marks that it gets.
    pub annotations: BTreeMap<String, Option<String>>,
    /// What people should hear.
    pub event: Event,
}

/// What to do about a Workspace whose object was moved away: it is still there, without its state, and only a person knows
/// when it is not needed any more. From now on nobody takes it for one's own: its infrastructure lives, and is managed
/// elsewhere.
#[must_use]
pub fn left_behind(workspace: &WorkspaceSeen) -> Option<LeftBehind> {
    let is_kept = workspace.annotations.contains_key(marks::RETAINED);
    if workspace.deleting || is_kept || !policy::is_nothing(&workspace.spec) {
        return None;
    }
    let is_marked = is_marked(workspace);
    let mark = (marks::MOVED_AWAY.to_owned(), Some("true".to_owned()));
    Some(LeftBehind {
        annotations: (!is_marked).then_some(mark).into_iter().collect(),
        event: Event {
            kind: EventKind::Warning,
            reason: "LeftBehind".to_owned(),
            message: "Its WorkspaceTemplateApply was moved away, and nobody acts on it. Once all is well on the other \
                      side, delete it: its connection Secret and its report go with it, its infrastructure stays"
                .to_owned(),
        },
    })
}

/// Whether it is known that the object of a Workspace was moved away.
pub(super) fn is_marked(workspace: &WorkspaceSeen) -> bool {
    workspace.annotations.contains_key(marks::MOVED_AWAY)
}

/// Whether the infrastructure of a Workspace that carries an object's name is managed elsewhere, although the object itself
/// did not come from there. Where nobody saw the move there is no mark; then a Workspace that an earlier object left paused,
/// and whose state was in a Secret beside it that is not here any more, is taken for moved.
pub(super) fn is_left_behind(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    if is_marked(workspace) {
        return true;
    }
    let annotation = |name: &str| workspace.annotations.get(name).map(String::as_str);
    let is_anothers = workspace.labels.get(marks::WTA_UID) != snapshot.wta.metadata.uid.as_ref();
    let had_state = was_beside(snapshot, workspace)
        && annotation(foreign_marks::EXTERNAL_CREATE_SUCCEEDED).is_some()
        && annotation(marks::DESTROYED).is_none();
    is_anothers && had_state && snapshot.state_secrets.is_empty() && policy::is_nothing(&workspace.spec)
}

/// Whether the state of a Workspace was in a Secret of the object's own namespace, which goes along with a move.
fn was_beside(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let namespace = snapshot.wta.metadata.namespace.as_deref().unwrap_or_default();
    let home = workspace.annotations.get(marks::STATE_HOME);
    home.is_some_and(|home| home.starts_with(&format!("secret/{namespace}/")))
}

/// Why such a Workspace is left alone, and what a person can do.
pub(super) fn moved_away(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> String {
    let metadata = &snapshot.wta.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let target = workspace.target(namespace);
    let group = workspace.group.map_or("", WorkspaceGroup::name);
    let place = target
        .namespace
        .map_or_else(String::new, |namespace| format!(" -n {namespace}"));
    let consent = format!("{}={}", marks::ADOPT_RETAINED, workspace.name);
    let delete = format!("kubectl delete workspaces.{group} {}{place}", workspace.name);
    // Without the mark the runner would bring the state back that it still has.
    let delete = match is_marked(workspace) {
        true => delete,
        false => format!(
            "kubectl annotate workspaces.{group} {}{place} {}=true && {delete}",
            workspace.name,
            marks::MOVED_AWAY
        ),
    };
    // Whatever is made under the same name finds a state that did not go along, and with it what lives elsewhere.
    let anew = match was_beside(snapshot, workspace) && snapshot.state_secrets.is_empty() {
        true => format!("To make new infrastructure: {delete}"),
        false => {
            "To make new infrastructure, use another name: its state can be reached from here too".to_owned()
        }
    };
    format!(
        "The Workspace {0} was left here without its state when a Cluster was moved to another management cluster. What it \
         stands for is managed there, and would be managed twice. Delete this object here if it belongs there too. {anew}. To \
         take it over, only if it is managed nowhere else: {1}",
        workspace.name,
        crate::commands::kubectl("annotate wtapply", metadata, &consent),
    )
}

/// Why clusterctl must not move an object that rests, and what a person can do: its state would stay.
pub(super) fn obstacle(deciding: &Deciding<'_>) -> Option<String> {
    let snapshot = deciding.snapshot;
    let metadata = &snapshot.wta.metadata;
    let may_have_state = location::may_have_state(snapshot, deciding.found.ours());
    if !pausing::belongs_to_cluster(snapshot)
        || !may_have_state
        || identity::annotation(metadata, marks::MOVES_WITHOUT_STATE) == Some("true")
    {
        return None;
    }
    let namespace = location::other_namespace(snapshot, deciding.found.ours())?;
    let consent = format!("{}=true", marks::MOVES_WITHOUT_STATE);
    Some(format!(
        "clusterctl is kept from moving it, because its state is in Secrets of the namespace {namespace}, which stay. To move \
         it all the same, while clusterctl waits bring those Secrets to the same namespace of the other side, then: {}",
        crate::commands::kubectl("annotate wtapply", metadata, &consent),
    ))
}

/// A consent to move counts for the pause that it was given in: the next move would find another state.
pub(super) fn end_consent(deciding: &mut Deciding<'_>) {
    let mark = marks::MOVES_WITHOUT_STATE;
    if identity::annotation(&deciding.snapshot.wta.metadata, mark).is_some() {
        deciding.own.annotations.insert(mark.to_owned(), None);
    }
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
        loss: None,
        is_beside: false,
    }
}
