//! What a WorkspaceTemplateApply is to be, as far as its owner says.

use std::collections::BTreeMap;

use capt_api::{
    INFRASTRUCTURE_GROUP, VERSION, foreign::marks as foreign_marks, marks,
    references::WorkspaceTemplateReference,
};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{failure, seen::OwnedSeen};
use crate::{
    decision::{Desired, Guard, Strip, Target},
    names,
    wta::owner,
};

/// Who owns WorkspaceTemplateApplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Group and version.
    pub api_version: &'a str,
    /// Kind.
    pub kind: &'a str,
    /// Namespace, which is also that of all that it owns.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
    /// uid.
    pub uid: &'a str,
    /// Name of the Cluster that it belongs to, if it does.
    pub cluster: Option<&'a str>,
}

impl Owner<'_> {
    /// How it is recorded on what it owns.
    #[must_use]
    pub fn label(&self) -> String {
        owner::label(self.kind, self.name)
    }

    /// An owner reference to it.
    #[must_use]
    pub fn reference(&self) -> Value {
        json!({
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": true,
        })
    }

    /// Labels of everything that it makes.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.cluster
            .map(|cluster| {
                (
                    foreign_marks::CLUSTER_NAME.to_owned(),
                    names::label_value(cluster),
                )
            })
            .into_iter()
            .collect()
    }
}

/// What a WorkspaceTemplateApply is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The network.
    Vpc,
    /// The EKS cluster.
    Eks,
    /// The Fargate profile of this name.
    FargateProfile(String),
    /// Something that the Go implementation needed and nothing here does.
    Remnant,
}

impl Role {
    /// As it is written in a label.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Vpc => "vpc".to_owned(),
            Self::Eks => "eks".to_owned(),
            Self::FargateProfile(name) => names::label_value(&format!("fargate-profile.{name}")),
            Self::Remnant => "remnant".to_owned(),
        }
    }

    /// Whether nothing else can be called as something for this role is called. A spec may give the EKS cluster any name,
    /// also one that a profile would have.
    pub(super) fn names_are_its_own(&self) -> bool {
        matches!(self, Self::Vpc | Self::Eks)
    }
}

/// What a WorkspaceTemplateApply is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// The template to fill.
    pub template: WorkspaceTemplateReference,
    /// The revision of the template that is released to it (see [`super::release()`]).
    pub revision: Option<String>,
    /// Values of variables.
    pub variables: BTreeMap<String, String>,
    /// The Secret that the outputs are written to; the template decides if there is none.
    pub connection_secret: Option<String>,
    /// Secrets that must exist before.
    pub wait_for_secrets: Vec<String>,
    /// Workspaces that must be ready before.
    pub wait_for_workspaces: Vec<String>,
    /// Keep the infrastructure when it goes.
    pub retain: bool,
    /// What a person asks of its owner: another try. Passed on, and then the owner may forget it.
    pub retry: Option<String>,
}

impl Wanted {
    /// What has to be written, if anything has.
    #[must_use]
    pub fn change(&self, owner: &Owner<'_>, seen: Option<&OwnedSeen>) -> Option<Desired> {
        let spec = self.spec(owner, seen);
        let hash = hash(&spec);
        let mut annotations = requests(seen);
        if let Some(retry) = &self.retry {
            annotations.insert(marks::RETRY_REQUESTED.to_owned(), retry.clone());
        }
        annotations.insert(marks::AUTHORED.to_owned(), hash.clone());
        // Only those that take turns can be made to forget.
        if let Some(failed) = seen.filter(|_| self.role != Role::Vpc).and_then(failure::mark) {
            annotations.insert(marks::FAILED.to_owned(), failed);
        }
        let desired = Desired {
            target: target(owner.namespace, &self.name),
            guard: guard(seen),
            fields: json!({
                "metadata": {
                    "labels": labels(owner, &self.role),
                    "annotations": annotations,
                    "ownerReferences": [owner.reference()],
                },
                "spec": spec,
            }),
            strip: strip(seen),
            rendered_from: Some(hash),
            loss: None,
            is_beside: false,
        };
        let is_there = seen.is_some_and(|seen| desired.strip.is_empty() && has(seen, &desired.fields));
        (!is_there).then_some(desired)
    }

    /// Whether another template is wanted than the one that the Workspace was made from, which cannot be changed.
    #[must_use]
    pub fn changes_template(&self, owner: &Owner<'_>, seen: &OwnedSeen) -> bool {
        let namespace = |reference: &WorkspaceTemplateReference| {
            let namespace = reference.namespace.as_deref();
            namespace.unwrap_or(owner.namespace).to_owned()
        };
        let present = &seen.wta.spec.template_ref;
        seen.has_workspace()
            && (present.name != self.template.name || namespace(present) != namespace(&self.template))
    }

    fn spec(&self, owner: &Owner<'_>, seen: Option<&OwnedSeen>) -> Map<String, Value> {
        // What a Workspace was made from stays, also in the way that it is written.
        let template = match seen {
            Some(seen) if seen.has_workspace() => &seen.wta.spec.template_ref,
            _ => &self.template,
        };
        let mut spec = Map::new();
        let mut set = |name: &str, value: Value| {
            spec.insert(name.to_owned(), value);
        };
        set("templateRef", json!(template));
        // A revision is one of the template that is referred to, and means nothing to another one.
        let kept = seen
            .filter(|seen| self.changes_template(owner, seen))
            .map(|seen| seen.wta.spec.template_revision.as_ref());
        if let Some(revision) = kept.unwrap_or(self.revision.as_ref()) {
            set("templateRevision", json!(revision));
        }
        set("variables", json!(self.variables));
        if let Some(name) = &self.connection_secret {
            set(
                "writeConnectionSecretToRef",
                json!({"name": name, "namespace": owner.namespace}),
            );
        }
        let named = |names: &[String]| -> Vec<Value> {
            let one = |name: &String| json!({"name": name, "namespace": owner.namespace});
            names.iter().map(one).collect()
        };
        if !self.wait_for_secrets.is_empty() {
            set("waitForSecrets", json!(named(&self.wait_for_secrets)));
        }
        // What is left out goes only if nobody else wrote it too, as clusterctl does where it moves something to.
        let is_left_over =
            seen.is_some_and(|seen| seen.wta.spec.wait_for_workspaces.is_some() && is_as_authored(seen));
        if !self.wait_for_workspaces.is_empty() || is_left_over {
            set("waitForWorkspaces", json!(named(&self.wait_for_workspaces)));
        }
        if self.retain {
            set("retainWorkspaceOnDelete", json!(true));
        }
        spec
    }
}

/// Marks that must go: consent that was given by somebody else or before the owner changed its mind, and the memory of a
/// failure that is over.
fn strip(seen: Option<&OwnedSeen>) -> Strip {
    let has = |mark: &str| seen.is_some_and(|seen| seen.annotation(mark).is_some());
    let is_well = seen.is_some_and(OwnedSeen::holds);
    let marks = [(marks::LET_GO, true), (marks::FAILED, is_well)];
    Strip {
        annotations: marks
            .into_iter()
            .filter(|(mark, must_go)| *must_go && has(mark))
            .map(|(mark, _)| mark.to_owned())
            .collect(),
        ..Strip::default()
    }
}

/// Names a WorkspaceTemplateApply.
pub(super) fn target(namespace: &str, name: &str) -> Target {
    Target {
        api_version: format!("{INFRASTRUCTURE_GROUP}/{VERSION}"),
        kind: "WorkspaceTemplateApply".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}

pub(super) fn guard(seen: Option<&OwnedSeen>) -> Guard {
    seen.map_or(Guard::Absent, |seen| Guard::Uid(seen.uid().to_owned()))
}

pub(super) fn labels(owner: &Owner<'_>, role: &Role) -> BTreeMap<String, String> {
    let mut labels = owner.labels();
    labels.insert(marks::OWNER.to_owned(), owner.label());
    labels.insert(marks::ROLE.to_owned(), role.label());
    labels
}

/// What people asked for on the object itself. Stated again, because what is authored once and left out goes.
pub(super) fn requests(seen: Option<&OwnedSeen>) -> BTreeMap<String, String> {
    seen.and_then(|seen| seen.annotation(marks::RETRY_REQUESTED))
        .map(|token| (marks::RETRY_REQUESTED.to_owned(), token.to_owned()))
        .into_iter()
        .collect()
}

/// Whether an object has all of these fields. It may have more, which other people added.
pub(super) fn has(seen: &OwnedSeen, fields: &Value) -> bool {
    let metadata = &seen.wta.metadata;
    let actual = json!({
        "metadata": {"labels": metadata.labels, "annotations": metadata.annotations},
        "spec": seen.wta.spec,
    });
    let mut wanted = fields.clone();
    let references = wanted
        .get_mut("metadata")
        .and_then(Value::as_object_mut)
        .and_then(|metadata| metadata.remove("ownerReferences"));
    let is_owned = references
        .as_ref()
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .all(|wanted| {
            let present = metadata.owner_references.as_deref().unwrap_or_default();
            present.iter().any(|present| covers(&json!(present), wanted))
        });
    is_owned && covers(&actual, &wanted)
}

/// Whether a value has all that another has. Texts in maps may be more, lists may not.
fn covers(actual: &Value, wanted: &Value) -> bool {
    match (actual, wanted) {
        (Value::Object(actual), Value::Object(wanted)) => wanted
            .iter()
            .all(|(name, wanted)| covers(actual.get(name).unwrap_or(&Value::Null), wanted)),
        (actual, wanted) => actual == wanted,
    }
}

/// Fields of the spec that an owner authors.
const AUTHORED_FIELDS: [&str; 7] = [
    "templateRef",
    "templateRevision",
    "variables",
    "writeConnectionSecretToRef",
    "waitForSecrets",
    "waitForWorkspaces",
    "retainWorkspaceOnDelete",
];

/// Whether all that an owner has to say about an object is as the owner said it, and nobody said more.
pub(super) fn is_as_authored(seen: &OwnedSeen) -> bool {
    let Ok(Value::Object(mut present)) = serde_json::to_value(&seen.wta.spec) else {
        return false;
    };
    let spec: Map<String, Value> = AUTHORED_FIELDS
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), present.remove(name)?)))
        .collect();
    seen.annotation(marks::AUTHORED) == Some(&hash(&spec))
}

fn hash(spec: &Map<String, Value>) -> String {
    let text = serde_json::to_vec(spec).unwrap_or_default();
    let digest = Sha256::digest(text);
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
