//! Workspaces as we author them, and whether one already is what it should be.

use std::collections::{BTreeMap, BTreeSet};

use capt_api::{foreign::marks as foreign_marks, marks};
use serde_json::{Map, Value, json};

use super::{
    candidate::Candidate,
    deciding::Deciding,
    foreign, identity, pausing,
    policy::{self, Allowed},
    requests,
    snapshot::{WorkspaceSeen, workspace_target},
    source, turns,
};
use crate::{
    decision::{Desired, Guard, Strip},
    render::WorkspaceGroup,
};

/// A Workspace as it should be.
pub(super) struct Body {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    finalizers: Vec<String>,
    spec: Value,
    strip: Strip,
    rendered_from: Option<String>,
}

impl Body {
    /// A Workspace of ours with this spec, in which a runner may do this.
    pub(super) fn new(
        deciding: &Deciding<'_>,
        present: Option<&WorkspaceSeen>,
        external_name: String,
        mut spec: Value,
        allowed: &Allowed,
    ) -> Self {
        if let Value::Object(fields) = &mut spec {
            let policies = policies(deciding, present, allowed);
            fields.insert("managementPolicies".to_owned(), policies);
        }
        let is_nobodys = present.is_some_and(|present| foreign::is_nobodys(deciding.snapshot, present));
        let mut labels = identity::labels(deciding.snapshot, deciding.is_foreign || is_nobodys);
        if let Some(value) = source::sandbox(deciding.snapshot) {
            labels.insert(marks::SANDBOX.to_owned(), value);
        }
        let used_approval = deciding.kept.and_then(|kept| kept.used_approval.as_deref());
        let mut annotations = requests::passed_down(deciding.snapshot, deciding.is_foreign, used_approval);
        annotations.insert(foreign_marks::EXTERNAL_NAME.to_owned(), external_name);
        // Of the interval only that is ours that the object has: a person may set it on the Workspace itself.
        for mark in [foreign_marks::POLL_INTERVAL, marks::SHARED_WITH] {
            if let Some(value) = identity::annotation(&deciding.snapshot.wta.metadata, mark) {
                annotations.insert(mark.to_owned(), value.to_owned());
            }
        }
        if let Some(mend) = turns::mend(deciding.snapshot, present).filter(|_| !deciding.is_foreign) {
            annotations.insert(marks::MEND.to_owned(), mend);
        }
        // It is not taken away here: the runner writes it too, and removes it when something is made.
        if !deciding.is_foreign && requests::is_told_destroyed(deciding.snapshot, deciding.kept, present) {
            annotations.insert(marks::DESTROYED.to_owned(), "true".to_owned());
        }
        // A Workspace that is there already has its state labelled without it.
        let says_so = |present: &WorkspaceSeen| present.annotations.contains_key(marks::STATE_MOVES);
        if !deciding.is_foreign
            && pausing::belongs_to_cluster(deciding.snapshot)
            && present.is_none_or(says_so)
        {
            annotations.insert(marks::STATE_MOVES.to_owned(), "true".to_owned());
        }
        // Status does not move, and with it went that all was well.
        let was_ready = match present {
            Some(present) => present.annotations.contains_key(marks::WAS_READY),
            None => deciding.kept.is_some_and(|kept| kept.was_ready),
        };
        if !deciding.is_foreign && was_ready {
            annotations.insert(marks::WAS_READY.to_owned(), "true".to_owned());
        }
        let mut strip = Strip::default();
        let mut finalizers = Vec::new();
        if let Some(present) = present {
            // What we authored once and leave out would go, and with it the runner's hold on the object.
            if present
                .finalizers
                .iter()
                .any(|name| name == foreign_marks::CROSSPLANE_FINALIZER)
            {
                finalizers.push(foreign_marks::CROSSPLANE_FINALIZER.to_owned());
            }
            strip.labels = gone(&present.labels, &labels, &[marks::RUNNER, marks::SANDBOX]);
            strip.annotations = gone(&present.annotations, &annotations, &requests::ALL);
            let others = [
                marks::RETAINED,
                marks::ADOPTABLE_BY,
                marks::SHARED_WITH,
                marks::CANDIDATE,
                marks::STATE_MOVES,
                marks::MOVED_AWAY,
                marks::WAS_READY,
            ];
            strip
                .annotations
                .extend(gone(&present.annotations, &annotations, &others));
        }
        Self {
            labels,
            annotations,
            finalizers,
            spec,
            strip,
            rendered_from: None,
        }
    }

    /// A Workspace that keeps the spec that it has, except for what a runner may do.
    pub(super) fn restating(deciding: &Deciding<'_>, present: &WorkspaceSeen, allowed: &Allowed) -> Self {
        let name = super::location::external_name(deciding.snapshot, Some(present), &present.name);
        Self::new(deciding, Some(present), name, present.spec.clone(), allowed)
    }

    /// A Workspace that is nobody's any more, and is kept.
    pub(super) fn retained(present: &WorkspaceSeen, retained_by: String) -> Self {
        let mut spec = present.spec.clone();
        if policy::grants_destruction(&spec)
            && let Value::Object(fields) = &mut spec
        {
            fields.insert("managementPolicies".to_owned(), Allowed::Nothing.policies());
        }
        let kept = |from: &BTreeMap<String, String>, name: &str| {
            from.get(name).map(|value| (name.to_owned(), value.clone()))
        };
        let labels = [marks::RUNNER, marks::SANDBOX]
            .into_iter()
            .filter_map(|name| kept(&present.labels, name))
            .collect();
        let mut annotations: BTreeMap<String, String> =
            kept(&present.annotations, foreign_marks::EXTERNAL_NAME)
                .into_iter()
                .collect();
        annotations.insert(marks::RETAINED.to_owned(), retained_by);
        let strip = Strip {
            labels: gone(
                &present.labels,
                &labels,
                &[marks::WTA_NAMESPACE, marks::WTA_NAME, marks::WTA_UID],
            ),
            annotations: [
                gone(&present.annotations, &annotations, &requests::ALL),
                gone(
                    &present.annotations,
                    &annotations,
                    &[
                        marks::CANDIDATE,
                        marks::STATE_MOVES,
                        marks::MOVED_AWAY,
                        marks::WAS_READY,
                        marks::ADOPTABLE_BY,
                        marks::SHARED_WITH,
                    ],
                ),
            ]
            .concat(),
            finalizers: Vec::new(),
        };
        let finalizers = present
            .finalizers
            .iter()
            .filter(|name| *name == foreign_marks::CROSSPLANE_FINALIZER)
            .cloned()
            .collect();
        Self {
            labels,
            annotations,
            finalizers,
            spec,
            strip,
            rendered_from: None,
        }
    }

    /// As one that is nobody's from the beginning, and is kept.
    pub(super) fn kept(mut self, retained_by: String) -> Self {
        for label in [marks::WTA_NAMESPACE, marks::WTA_NAME, marks::WTA_UID] {
            self.labels.remove(label);
        }
        self.annotations
            .retain(|name, _| name == foreign_marks::EXTERNAL_NAME);
        self.annotations.insert(marks::RETAINED.to_owned(), retained_by);
        self
    }

    /// With the runner's finalizer, so that nobody but the runner ends the object.
    pub(super) fn held_by_runner(mut self) -> Self {
        if self.finalizers.is_empty() {
            self.finalizers
                .push(foreign_marks::CROSSPLANE_FINALIZER.to_owned());
        }
        self
    }

    /// With what is to be planned while it is paused. Where nothing is, a request for a plan stays behind.
    pub(super) fn planned(mut self, candidate: Candidate) -> Self {
        match candidate {
            Candidate::Nothing => {
                self.annotations.remove(marks::PLAN_REQUESTED);
            }
            Candidate::Present => {}
            Candidate::Packed(text) => {
                self.annotations.insert(marks::CANDIDATE.to_owned(), text);
                self.strip.annotations.retain(|mark| mark != marks::CANDIDATE);
            }
        }
        self
    }

    /// With the hash of what its spec was rendered from.
    pub(super) fn rendered_from(mut self, hash: &str) -> Self {
        self.rendered_from = Some(hash.to_owned());
        self
    }

    /// A new Workspace.
    pub(super) fn create(self, group: WorkspaceGroup, namespace: &str, name: &str) -> Desired {
        Desired {
            target: workspace_target(group, namespace, name),
            guard: Guard::Absent,
            fields: self.fields(),
            strip: Strip::default(),
            rendered_from: self.rendered_from,
            loss: None,
            is_beside: false,
        }
    }

    /// What has to be written, if anything has.
    pub(super) fn change(self, present: &WorkspaceSeen, namespace: &str) -> Option<Desired> {
        (!self.is_already(present)).then(|| self.write(present, namespace))
    }

    /// Writes it even if the Workspace has all of it: it may have more, which we authored once.
    pub(super) fn write(self, present: &WorkspaceSeen, namespace: &str) -> Desired {
        Desired {
            target: present.target(namespace),
            guard: Guard::Uid(present.uid.clone()),
            fields: self.fields(),
            strip: self.strip,
            rendered_from: self.rendered_from,
            loss: None,
            is_beside: false,
        }
    }

    fn is_already(&self, present: &WorkspaceSeen) -> bool {
        let has = |from: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>| {
            wanted.iter().all(|(name, value)| from.get(name) == Some(value))
        };
        self.strip.is_empty()
            && has(&present.labels, &self.labels)
            && has(&present.annotations, &self.annotations)
            && self
                .finalizers
                .iter()
                .all(|name| present.finalizers.contains(name))
            && covers(&present.spec, &self.spec)
    }

    fn fields(&self) -> Value {
        let mut metadata = Map::new();
        metadata.insert("labels".to_owned(), json!(self.labels));
        metadata.insert("annotations".to_owned(), json!(self.annotations));
        if !self.finalizers.is_empty() {
            metadata.insert("finalizers".to_owned(), json!(self.finalizers));
        }
        json!({"metadata": metadata, "spec": self.spec})
    }
}

/// What to write to allow this. A creation of provider-terraform goes on with what it had: it would turn nothing into
/// everything when it ends.
fn policies(deciding: &Deciding<'_>, present: Option<&WorkspaceSeen>, allowed: &Allowed) -> Value {
    let creating = present.filter(|present| {
        deciding.may_be_foreign && *allowed == Allowed::Nothing && foreign::is_creating(present)
    });
    match creating {
        None => allowed.policies(),
        Some(present) if policy::grants_destruction(&present.spec) => Allowed::Life(None).policies(),
        Some(present) => present
            .spec
            .get("managementPolicies")
            .cloned()
            .unwrap_or_default(),
    }
}

/// The marks among these that an object has and should not have.
fn gone(has: &BTreeMap<String, String>, should: &BTreeMap<String, String>, marks: &[&str]) -> Vec<String> {
    marks
        .iter()
        .filter(|mark| has.contains_key(**mark) && !should.contains_key(**mark))
        .map(|mark| (*mark).to_owned())
        .collect()
}

/// Whether a value has all that another has. It may have more, which defaults and other people added.
pub(super) fn covers(actual: &Value, wanted: &Value) -> bool {
    match (actual, wanted) {
        (Value::Object(actual), Value::Object(wanted)) => wanted
            .iter()
            .all(|(name, wanted)| covers(actual.get(name).unwrap_or(&Value::Null), wanted)),
        (Value::Array(actual), Value::Array(wanted)) => {
            actual.len() == wanted.len()
                && actual
                    .iter()
                    .zip(wanted)
                    .all(|(actual, wanted)| covers(actual, wanted))
        }
        (actual, wanted) => actual == wanted,
    }
}

/// Where two specs differ, without their values, which may be secret.
pub(super) fn differences(one: &Value, other: &Value) -> String {
    const MANY: usize = 10;
    let mut paths = Vec::new();
    differing(one, other, String::new(), &mut paths);
    let more = paths.len().saturating_sub(MANY);
    paths.truncate(MANY);
    let paths = paths.join(", ");
    match more {
        0 => paths,
        more => format!("{paths} and {more} more"),
    }
}

fn differing(one: &Value, other: &Value, path: String, paths: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(first), Value::Object(second)) => {
            let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
            for name in names {
                let of = |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                differing(&of(first), &of(second), path, paths);
            }
        }
        _ if one != other && !(is_default(&path, one) && is_default(&path, other)) => paths.push(path),
        _ => {}
    }
}

/// Whether a field of a Workspace's spec means the same as if it were not there, because that is its default.
#[must_use]
pub fn is_default(path: &str, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) if path == "deletionPolicy" => text == "Delete",
        Value::String(text) => matches!(text.as_str(), "" | "Always" | "HCL"),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// Whether two specs mean the same: each has what the other has, except for what defaults add.
pub(super) fn means_the_same(one: &Value, other: &Value) -> bool {
    let fields = |spec: &Value| match spec.get("forProvider") {
        Some(Value::Object(fields)) => fields.clone(),
        _ => Map::new(),
    };
    let is_default = |value: &Value| is_default("", value);
    let (one, other) = (fields(one), fields(other));
    let has = |all: &Map<String, Value>, some: &Map<String, Value>| {
        some.iter().all(|(name, value)| {
            all.get(name)
                .map_or(is_default(value), |found| covers(found, value))
        })
    };
    has(&one, &other)
        && one
            .iter()
            .all(|(name, value)| other.contains_key(name) || is_default(value))
}
