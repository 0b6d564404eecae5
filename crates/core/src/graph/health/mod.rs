//! How an object is, in one word, as its own status says.

mod clusters;
mod terraform;

use capt_api::conditions::find_condition;
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta},
    jiff::Timestamp,
};

pub(super) use clusters::{captcluster, cluster, control_plane};
pub(super) use terraform::{apply, template, workspace};

use super::Node;

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
