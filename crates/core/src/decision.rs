//! What a decision is made of: everything that an executor has to do, and nothing that it has to think about.
//!
//! An executor carries a decision out in this order and stops at the first thing that fails: children in their order
//! (Secrets that follow each other perhaps at the same time), each with what is told of the loss that it makes good,
//! removals, own metadata, status, events. Decisions rely on it: what is written on the object itself says that what came
//! before it is done. Every write is guarded by the uid of what it is meant for, and so cannot hit a namesake.
//!
//! This module must never know what is decided about, nor how it is carried out.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

/// What has to be done for one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<S> {
    /// What must exist.
    pub children: Vec<Desired>,
    /// What must go.
    pub removals: Vec<Removal>,
    /// What changes on the object itself.
    pub own: OwnChange<S>,
    /// What else people should hear about.
    pub events: Vec<Event>,
    /// When to decide again although nothing happened: only for time itself. Facts arrive by watches.
    pub look_again: Option<Duration>,
}

impl<S> Default for Decision<S> {
    fn default() -> Self {
        Self {
            children: Vec::new(),
            removals: Vec::new(),
            own: OwnChange::default(),
            events: Vec::new(),
            look_again: None,
        }
    }
}

impl<S> Decision<S> {
    /// Whether carrying it out writes nothing.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.children.is_empty() && self.removals.is_empty() && self.own.is_empty() && self.events.is_empty()
    }
}

/// Names an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace, if it has one.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

/// An object as it must be, as far as we author it.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// Which object.
    pub target: Target,
    /// What must hold for the write to happen.
    pub guard: Guard,
    /// The fields that we author, all of them, for a forced server-side apply: metadata (labels, annotations,
    /// finalizers, ownerReferences), spec or data. What we authored before and is left out goes.
    pub fields: Value,
    /// Marks that must go, whoever wrote them.
    pub strip: Strip,
    /// Hash of what the fields were rendered from, if they were.
    pub rendered_from: Option<String>,
    /// That somebody took it away, if so. It is told as soon as it is written: no later look sees that it was gone.
    pub loss: Option<Event>,
    /// Nothing else that the decision does or says rests on it, so that it is written at the same time as all of that.
    pub is_beside: bool,
}

/// What must hold for a write to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// There is no such object: it is created, and nothing is changed if it exists.
    Absent,
    /// The object has this uid.
    Uid(String),
}

/// Marks that must go from an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strip {
    /// Labels to remove.
    pub labels: Vec<String>,
    /// Annotations to remove.
    pub annotations: Vec<String>,
    /// Finalizers to remove.
    pub finalizers: Vec<String>,
}

impl Strip {
    /// Whether nothing has to go.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty() && self.finalizers.is_empty()
    }
}

/// An object that must go. Both guards are preconditions of the delete request, so that nothing is deleted that is not
/// what the decision saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// Which object.
    pub target: Target,
    /// Its uid.
    pub uid: String,
    /// Its version when the decision was made.
    pub resource_version: String,
}

/// What changes on the object that is decided about.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnChange<S> {
    /// The change is meant for the object exactly as the decision saw it: the write is refused if somebody wrote since.
    /// Without this, only the uid guards it.
    pub only_if_unchanged: bool,
    /// Finalizers to add.
    pub add_finalizers: Vec<String>,
    /// Finalizers to remove. With the last of them the object goes.
    pub remove_finalizers: Vec<String>,
    /// Annotations to set, or to remove where there is no value.
    pub annotations: BTreeMap<String, Option<String>>,
    /// Labels to set, or to remove where there is no value.
    pub labels: BTreeMap<String, Option<String>>,
    /// Fields of the spec that we own, by name.
    pub spec: BTreeMap<String, Value>,
    /// The whole new status, if it differs from what the object has.
    pub status: Option<S>,
    /// All that the new status tells is that something is under way. It may wait a moment for what comes of that.
    pub tells_progress: bool,
}

impl<S> Default for OwnChange<S> {
    fn default() -> Self {
        Self {
            only_if_unchanged: false,
            add_finalizers: Vec::new(),
            remove_finalizers: Vec::new(),
            annotations: BTreeMap::new(),
            labels: BTreeMap::new(),
            spec: BTreeMap::new(),
            status: None,
            tells_progress: false,
        }
    }
}

impl<S> OwnChange<S> {
    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.add_finalizers.is_empty()
            && self.remove_finalizers.is_empty()
            && self.annotations.is_empty()
            && self.labels.is_empty()
            && self.spec.is_empty()
            && self.status.is_none()
    }

    /// Whether the object is changed, status apart, and only by fields of its spec.
    #[must_use]
    pub fn is_only_spec(&self) -> bool {
        !self.spec.is_empty()
            && self.add_finalizers.is_empty()
            && self.remove_finalizers.is_empty()
            && self.annotations.is_empty()
            && self.labels.is_empty()
    }
}

/// Something that people should hear about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether it is good news.
    pub kind: EventKind,
    /// One word.
    pub reason: String,
    /// More words. Never a secret.
    pub message: String,
}

/// The longest message of an event, in characters.
const MAX_NEWS: usize = 1024;

/// What people should hear of something that is said for a reason. A condition says nothing where nothing is the matter, but
/// that it is over is news.
#[must_use]
pub(crate) fn news(reason: &str, message: &str) -> String {
    let message = match (reason, message) {
        ("NotPaused", "") => "The pause is over",
        ("NotDeleting", "") => "It is not going away any more",
        ("NothingToWaitFor", "") => "Nothing is waited for any more",
        ("NotNeeded", "") => "Nothing has to be approved any more",
        ("VariablesKnown", "") => "All variables are known again",
        ("ClusterFound", "") => "The Cluster that owns it is there",
        (_, message) => message,
    };
    message.chars().take(MAX_NEWS).collect()
}

/// Whether an event is good news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// All is well.
    Normal,
    /// Somebody should look.
    Warning,
}
