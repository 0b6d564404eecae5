//! How an object is, in one word, as its own status says.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    captcontrolplane::ControlPlaneState,
    conditions::find_condition,
    foreign::{Cluster, workspace::WorkspaceCondition},
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta},
    jiff::Timestamp,
};

use super::{Node, build::WorkspaceSeen};

/// Whether it is well with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// It is.
    Good,
    /// Something is under way.
    Busy,
    /// It is not.
    Bad,
    /// Nobody says.
    Unknown,
}

/// One word, whether it is good, and the condition that says why.
struct Said<'a> {
    word: &'a str,
    health: Health,
    why: Option<&'a Condition>,
}

/// An object that is named and not there.
pub(super) fn missing(kind: &str, name: &str) -> Node {
    named(kind, name, "Missing", Health::Bad)
}

/// An object of a kind that nothing is known about.
pub(super) fn stranger(kind: &str, name: &str) -> Node {
    named(kind, name, "Unknown", Health::Unknown)
}

pub(super) fn secret(name: &str, created_at: Option<Timestamp>) -> Node {
    Node {
        created_at,
        ..named("Secret", name, "Present", Health::Good)
    }
}

pub(super) fn cluster(cluster: &Cluster) -> Node {
    let status = cluster.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let available = find_condition(conditions, "Available");
    let said = going_or_paused(&cluster.metadata, conditions).unwrap_or_else(|| {
        if is_true(available) {
            Said {
                word: "Available",
                health: Health::Good,
                why: available,
            }
        } else {
            Said {
                word: status.phase.as_deref().unwrap_or("Pending"),
                health: Health::Busy,
                why: available,
            }
        }
    });
    node("Cluster", &cluster.metadata, &said)
}

pub(super) fn captcluster(captcluster: &CAPTCluster) -> Node {
    let status = captcluster.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let said = going_or_paused(&captcluster.metadata, conditions).unwrap_or_else(|| {
        let ready = find_condition(conditions, "Ready");
        let failed = find_condition(conditions, "VPCFailed");
        let (word, health, why) = match (is_true(ready), is_true(failed)) {
            (true, false) => ("Ready", Health::Good, ready),
            // It serves, and a change of it failed.
            (true, true) => ("Ready", Health::Bad, failed),
            (false, _) if status.failure_reason.is_some() => ("Failed", Health::Bad, ready),
            (false, _) => ("NotReady", Health::Busy, ready),
        };
        Said { word, health, why }
    });
    node("CAPTCluster", &captcluster.metadata, &said)
}

pub(super) fn control_plane(control_plane: &CAPTControlPlane) -> Node {
    let status = control_plane.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let said = going_or_paused(&control_plane.metadata, conditions).unwrap_or_else(|| {
        let (word, health) = match status.state {
            None | Some(ControlPlaneState::Pending) => ("Pending", Health::Busy),
            Some(ControlPlaneState::Validating) => ("Validating", Health::Busy),
            Some(ControlPlaneState::Provisioning) => ("Provisioning", Health::Busy),
            Some(ControlPlaneState::Configuring) => ("Configuring", Health::Busy),
            Some(ControlPlaneState::Ready) => ("Ready", Health::Good),
            Some(ControlPlaneState::Degraded) => ("Degraded", Health::Bad),
            Some(ControlPlaneState::Recovering) => ("Recovering", Health::Busy),
            Some(ControlPlaneState::Failed) => ("Failed", Health::Bad),
        };
        // While it serves and yet something is the matter, the summary is what tells.
        let summary = find_condition(conditions, "Available");
        let why = if health == Health::Bad && status.ready {
            summary
        } else {
            find_condition(conditions, "Ready").or(summary)
        };
        Said { word, health, why }
    });
    node("CAPTControlPlane", &control_plane.metadata, &said)
}

pub(super) fn apply(wta: &WorkspaceTemplateApply) -> Node {
    let status = wta.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let at = |type_: &str| find_condition(conditions, type_);
    let said = going_or_paused(&wta.metadata, conditions).unwrap_or_else(|| {
        let (word, health, why) = if is_true(at("ApprovalNeeded")) {
            ("ApprovalNeeded", Health::Busy, at("ApprovalNeeded"))
        } else if is_true(at("Waiting")) {
            ("Waiting", Health::Busy, at("Waiting"))
        } else if !status.applied {
            ("NotApplied", Health::Busy, at("Applied"))
        } else if is_false(at("Synced")) {
            ("NotSynced", Health::Bad, at("Synced"))
        } else if is_true(at("Ready")) && is_true(at("Synced")) {
            ("Ready", Health::Good, at("Ready"))
        } else {
            ("Working", Health::Busy, at("Ready"))
        };
        Said { word, health, why }
    });
    node("WorkspaceTemplateApply", &wta.metadata, &said)
}

pub(super) fn template(template: &WorkspaceTemplate) -> Node {
    let status = template.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let said = going_or_paused(&template.metadata, conditions).unwrap_or_else(|| {
        let ready = find_condition(conditions, "Ready");
        let (word, health) = if is_false(ready) {
            ("NotReady", Health::Bad)
        } else {
            ("Ready", Health::Good)
        };
        Said {
            word,
            health,
            why: ready,
        }
    });
    node("WorkspaceTemplate", &template.metadata, &said)
}

pub(super) fn workspace(workspace: &WorkspaceSeen) -> Node {
    let at = |type_: &str| {
        let mut conditions = workspace.conditions.iter();
        conditions.find(|condition| condition.type_ == type_)
    };
    let is = |type_: &str, status: &str| at(type_).is_some_and(|condition| condition.status == status);
    let (word, health, why) = if workspace.deleting {
        ("Deleting", Health::Busy, at("Ready"))
    } else if at("Synced").is_some_and(|synced| synced.reason == "ReconcilePaused") {
        ("Paused", Health::Busy, at("Synced"))
    } else if is("Synced", "False") {
        ("NotSynced", Health::Bad, at("Synced"))
    } else if is("Ready", "True") && is("Synced", "True") {
        ("Ready", Health::Good, at("Ready"))
    } else {
        ("Working", Health::Busy, at("Ready"))
    };
    Node {
        reason: why.map_or_else(String::new, |why| why.reason.clone()),
        message: why
            .and_then(|why: &WorkspaceCondition| why.message.clone())
            .unwrap_or_default(),
        since: why.map(|why| why.last_transition_time.0),
        created_at: workspace.created_at,
        ..named("Workspace", &workspace.name, word, health)
    }
}

/// Going and pausing come before anything else, in this order: what goes may be paused too, and then stays.
fn going_or_paused<'a>(metadata: &ObjectMeta, conditions: &'a [Condition]) -> Option<Said<'a>> {
    let paused = find_condition(conditions, "Paused").filter(|paused| is_true(Some(paused)));
    let (word, why) = if paused.is_some() {
        ("Paused", paused)
    } else if metadata.deletion_timestamp.is_some() {
        ("Deleting", find_condition(conditions, "Deleting"))
    } else {
        return None;
    };
    Some(Said {
        word,
        health: Health::Busy,
        why,
    })
}

fn is_true(condition: Option<&Condition>) -> bool {
    condition.is_some_and(|condition| condition.status == "True")
}

fn is_false(condition: Option<&Condition>) -> bool {
    condition.is_some_and(|condition| condition.status == "False")
}

fn node(kind: &str, metadata: &ObjectMeta, said: &Said<'_>) -> Node {
    Node {
        reason: said.why.map_or_else(String::new, |why| why.reason.clone()),
        message: said.why.map_or_else(String::new, |why| why.message.clone()),
        since: said.why.map(|why| why.last_transition_time.0),
        created_at: metadata.creation_timestamp.as_ref().map(|time| time.0),
        ..named(
            kind,
            metadata.name.as_deref().unwrap_or_default(),
            said.word,
            said.health,
        )
    }
}

fn named(kind: &str, name: &str, status: &str, health: Health) -> Node {
    Node {
        kind: kind.to_owned(),
        name: name.to_owned(),
        status: status.to_owned(),
        health,
        reason: String::new(),
        message: String::new(),
        created_at: None,
        since: None,
    }
}
