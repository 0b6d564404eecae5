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
use crate::{
    captcluster::{is_externally_managed, serves},
    controlplane::progress::PAUSED,
};

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

/// Reasons by which an owner says that something of it cannot be destroyed.
const DELETION_FAILED: [&str; 2] = ["DeletionFailed", "VPCDeletionFailed"];

/// Why a network that serves is about to be another one, or would be if a person said so.
const CHANGING: [&str; 3] = ["VPCUpdating", "Retrying", "WaitingForApproval"];

/// Reasons by which a network that serves says that a change of it is refused or failed.
const REFUSED: [&str; 6] = [
    "InvalidVPCConfig",
    "OutputInvalid",
    "WorkspaceTemplateNotFound",
    "TemplateNotShared",
    "VPCUpdateFailed",
    "WorkspaceNotOurs",
];

/// What is told of something that goes, also during a pause.
const GOES: &str = "It is being deleted";

/// One word, whether it is good, the condition that says why, and since when the word is true, if that is known: a
/// condition that says why may have turned at another time.
struct Said<'a> {
    word: &'a str,
    health: Health,
    why: Option<&'a Condition>,
    since: Option<Timestamp>,
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

/// A Secret of which somebody else has the name.
pub(super) fn taken(name: &str, created_at: Option<Timestamp>, whose: &str) -> Node {
    Node {
        created_at,
        message: format!("{whose}, and no outputs are written to it"),
        ..named("Secret", name, "Foreign", Health::Bad)
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
                since: turned(available),
            }
        } else {
            Said {
                word: status.phase.as_deref().unwrap_or("Pending"),
                health: Health::Busy,
                why: cause(conditions).or(available),
                since: None,
            }
        }
    });
    node("Cluster", &cluster.metadata, &said)
}

/// What keeps a Cluster from being available, the first that others follow from: a cluster that is not made is not reached.
fn cause(conditions: &[Condition]) -> Option<&Condition> {
    let causes = [
        "InfrastructureReady",
        "ControlPlaneAvailable",
        "WorkersAvailable",
        "RemoteConnectionProbe",
    ];
    let mut found = causes
        .into_iter()
        .filter_map(|type_| find_condition(conditions, type_));
    found.find(|condition| condition.status != "True")
}

pub(super) fn captcluster(captcluster: &CAPTCluster) -> Node {
    let status = captcluster.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let said = going_or_paused(&captcluster.metadata, conditions).unwrap_or_else(|| {
        let ready = find_condition(conditions, "Ready");
        let failed = find_condition(conditions, "VPCFailed");
        // Who else manages it need not know our conditions, and what we said before it took over counts no more.
        let is_served = is_externally_managed(&captcluster.metadata) && serves(captcluster);
        let (ready, failed) = match is_served && !is_true(ready) {
            true => (None, None),
            false => (ready, failed),
        };
        let is_ready = ready.map_or_else(|| serves(captcluster), |ready| is_true(Some(ready)));
        let (word, health, why, since) = match (is_ready, is_true(failed)) {
            (true, false) if ready.is_some_and(|ready| CHANGING.contains(&ready.reason.as_str())) => {
                ("Ready", Health::Busy, ready, ready)
            }
            // It serves as it is, and what somebody wants of it cannot be done.
            (true, false) if ready.is_some_and(|ready| REFUSED.contains(&ready.reason.as_str())) => {
                ("Degraded", Health::Bad, ready, None)
            }
            (true, false) => ("Ready", Health::Good, ready, ready),
            // It serves, and a change of it failed.
            (true, true) => ("Degraded", Health::Bad, failed, failed),
            (false, is_failed) if status.failure_reason.is_some() => {
                ("Failed", Health::Bad, ready, failed.filter(|_| is_failed))
            }
            (false, _) => ("NotReady", Health::Busy, ready, ready),
        };
        Said {
            word,
            health,
            why,
            since: turned(since),
        }
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
            Some(ControlPlaneState::Deleting) => ("Deleting", Health::Busy),
        };
        // Where it serves and yet something is the matter, the summary says only that it can be used.
        let ready = find_condition(conditions, "Ready");
        let why = ready.or_else(|| find_condition(conditions, "Available"));
        // Conditions have fewer turns than there are states.
        let state = match status.state {
            Some(ControlPlaneState::Ready) => ready,
            Some(ControlPlaneState::Failed) => find_condition(conditions, "Failed"),
            Some(ControlPlaneState::Provisioning) => find_condition(conditions, "RollingOut"),
            _ => None,
        };
        let since = turned(state.filter(|state| is_true(Some(state))));
        // It is ready all through a change of it.
        let changed = status
            .progress
            .iter()
            .flat_map(|progress| progress.history.iter().flatten())
            .filter(|record| record.operation != PAUSED && status.state == Some(ControlPlaneState::Ready))
            .filter_map(|record| record.end_time.as_ref().map(|time| time.0))
            .max();
        Said {
            word,
            health,
            why,
            since: since.map(|since| changed.map_or(since, |changed| changed.max(since))),
        }
    });
    node("CAPTControlPlane", &control_plane.metadata, &said)
}

pub(super) fn apply(wta: &WorkspaceTemplateApply) -> Node {
    let status = wta.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let at = |type_: &str| find_condition(conditions, type_);
    // What was written last is not real yet. Whoever never says of which generation he speaks does not tell that either.
    let speaks = |type_: &str| at(type_).is_some_and(|said| said.observed_generation.is_some());
    let is_behind =
        status.last_applied_revision != status.ready_revision && (speaks("Synced") || speaks("Ready"));
    let said = going_or_paused(&wta.metadata, conditions).unwrap_or_else(|| {
        let (word, health, why) = if is_true(at("ApprovalNeeded")) {
            ("ApprovalNeeded", Health::Busy, at("ApprovalNeeded"))
        } else if is_true(at("Waiting")) {
            // A circle does not open by itself.
            let is_circle = at("Waiting").is_some_and(|waiting| waiting.reason == "DependencyCycle");
            let health = if is_circle { Health::Bad } else { Health::Busy };
            ("Waiting", health, at("Waiting"))
        } else if !status.applied {
            ("NotApplied", Health::Busy, at("Applied"))
        } else if is_false(at("Synced")) {
            ("NotSynced", Health::Bad, at("Synced"))
        } else if is_true(at("Ready")) && is_true(at("Synced")) && !is_behind {
            ("Ready", Health::Good, at("Ready"))
        } else {
            ("Working", Health::Busy, at("Ready").filter(|_| !is_behind))
        };
        Said {
            word,
            health,
            why,
            since: turned(why),
        }
    });
    node("WorkspaceTemplateApply", &wta.metadata, &said)
}

pub(super) fn template(template: &WorkspaceTemplate) -> Node {
    let status = template.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let going = going_or_paused(&template.metadata, conditions).map(|said| Said {
        // What a template waits for that goes is said by who uses it.
        why: said.why.or_else(|| find_condition(conditions, "InUse")),
        ..said
    });
    let said = going.unwrap_or_else(|| {
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
            since: turned(ready),
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
    // Its spec is another one than what it says it is in sync with.
    let observed = at("Synced").and_then(|synced| synced.observed_generation);
    let is_behind = observed.is_some_and(|observed| workspace.generation.is_some_and(|now| observed < now));
    let failed = at("Synced").filter(|synced| has_failed(&synced.status, &synced.reason));
    let (word, health, why) = if workspace.deleting && failed.is_some() {
        ("Deleting", Health::Bad, failed)
    } else if workspace.deleting {
        ("Deleting", Health::Busy, at("Ready"))
    } else if workspace.retained {
        ("Retained", Health::Good, at("Synced"))
    } else if at("Synced").is_some_and(|synced| synced.reason == "ReconcilePaused") {
        ("Paused", Health::Busy, at("Synced"))
    } else if is("ApprovalNeeded", "True") {
        ("ApprovalNeeded", Health::Busy, at("ApprovalNeeded"))
    } else if is("Synced", "False") {
        ("NotSynced", Health::Bad, at("Synced"))
    } else if is("Ready", "True") && is("Synced", "True") && !is_behind {
        ("Ready", Health::Good, at("Ready"))
    } else {
        ("Working", Health::Busy, at("Ready").filter(|_| !is_behind))
    };
    let kept = "It was kept on purpose when what it was made for went";
    Node {
        reason: why.map_or_else(String::new, |why| why.reason.clone()),
        message: why
            .and_then(|why: &WorkspaceCondition| why.message.clone())
            .filter(|_| word != "Retained")
            .unwrap_or_else(|| {
                if word == "Retained" {
                    kept.to_owned()
                } else {
                    String::new()
                }
            }),
        since: why.map(|why| why.last_transition_time.0),
        created_at: workspace.created_at,
        ..named("Workspace", &workspace.name, word, health)
    }
}

/// Going and pausing come before anything else, in this order: what goes may be paused too, and then stays.
fn going_or_paused<'a>(metadata: &ObjectMeta, conditions: &'a [Condition]) -> Option<Said<'a>> {
    let paused = find_condition(conditions, "Paused").filter(|paused| is_true(Some(paused)));
    let (word, why, since) = if paused.is_some() {
        // What becomes of it when the pause ends says more than that there is one.
        let goes = find_condition(conditions, "Deleting").filter(|goes| {
            is_true(Some(goes)) && goes.reason == "Paused" && metadata.deletion_timestamp.is_some()
        });
        ("Paused", goes.or(paused), turned(paused))
    } else {
        let time = metadata.deletion_timestamp.as_ref()?;
        ("Deleting", find_condition(conditions, "Deleting"), Some(time.0))
    };
    let synced = find_condition(conditions, "Synced");
    let is_stuck = why.is_some_and(|why| {
        DELETION_FAILED.contains(&why.reason.as_str())
            || (why.reason == "Destroying"
                && synced.is_some_and(|synced| has_failed(&synced.status, &synced.reason)))
    });
    Some(Said {
        word,
        health: if is_stuck { Health::Bad } else { Health::Busy },
        why,
        since,
    })
}

/// Whether a condition Synced says that Terraform failed.
fn has_failed(status: &str, reason: &str) -> bool {
    status == "False" && reason == "ReconcileError"
}

/// When a condition became what it is.
fn turned(condition: Option<&Condition>) -> Option<Timestamp> {
    condition.map(|condition| condition.last_transition_time.0)
}

fn is_true(condition: Option<&Condition>) -> bool {
    condition.is_some_and(|condition| condition.status == "True")
}

fn is_false(condition: Option<&Condition>) -> bool {
    condition.is_some_and(|condition| condition.status == "False")
}

fn node(kind: &str, metadata: &ObjectMeta, said: &Said<'_>) -> Node {
    let mut message = said.why.map_or_else(String::new, |why| why.message.clone());
    if said.word == "Paused" && metadata.deletion_timestamp.is_some() && !message.contains(GOES) {
        message = format!("{GOES}. {message}");
    }
    Node {
        reason: said.why.map_or_else(String::new, |why| why.reason.clone()),
        message,
        since: said.since,
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
