//! The owner of a WorkspaceTemplateApply, and its consent.

use capt_api::{
    WorkspaceTemplateApply, conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason, marks,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::snapshot::{Problem, Snapshot};
use crate::names;

/// How an owner is recorded in a label. Names survive `clusterctl move`, uids do not.
#[must_use]
pub fn label(kind: &str, name: &str) -> String {
    names::label_value(&format!("{kind}.{name}"))
}

/// The kinds that say by marks what becomes of the infrastructure of what they own.
const SPEAKING: [&str; 2] = ["CAPTCluster", TAKING_TURNS];

/// The kind whose children operate in turns.
const TAKING_TURNS: &str = "CAPTControlPlane";

/// The owner that is recorded on an object: by its label, or else by its owner reference, which a label must then be
/// made of.
#[must_use]
pub fn recorded(wta: &WorkspaceTemplateApply) -> Option<String> {
    let labels = wta.metadata.labels.as_ref();
    labels
        .and_then(|labels| labels.get(marks::OWNER).cloned())
        .or_else(|| referenced(wta))
}

/// The owner that the owner references name: the controller, or else one that speaks, or else any. Whoever is named there
/// takes the object with it when it goes, and that must not be taken for the wish of a person.
pub(super) fn referenced(wta: &WorkspaceTemplateApply) -> Option<String> {
    let references = wta.metadata.owner_references.as_deref().unwrap_or_default();
    let find = |is_it: fn(&OwnerReference) -> bool| references.iter().find(|one| is_it(one));
    find(|one| one.controller == Some(true))
        .or_else(|| find(|one| SPEAKING.contains(&one.kind.as_str())))
        .or_else(|| find(|_| true))
        .map(|one| label(&one.kind, &one.name))
}

/// The owner that is recorded on an object, if it is of a kind that knows nothing of our marks. Whether it is still there
/// cannot be known, and it has nothing to say but whether the object goes.
#[must_use]
pub fn silent(wta: &WorkspaceTemplateApply) -> Option<String> {
    recorded(wta).filter(|owner| !SPEAKING.iter().any(|kind| is_of_kind(owner, kind)))
}

/// An owner as people call it, where a label has `kind.name`.
#[must_use]
pub fn in_words(label: &str) -> String {
    label.replacen('.', " ", 1)
}

/// Whether the owner that is recorded on an object is of the kind that hands out turns, also if it is gone.
pub(super) fn takes_turns(wta: &WorkspaceTemplateApply) -> bool {
    recorded(wta).is_some_and(|owner| is_of_kind(&owner, TAKING_TURNS))
}

fn is_of_kind(owner: &str, kind: &str) -> bool {
    let rest = owner.strip_prefix(kind);
    rest.is_some_and(|rest| rest.starts_with('.'))
}

/// Whether the object had an owner and has none any more.
pub(super) fn is_orphan(snapshot: &Snapshot) -> bool {
    let wta = &snapshot.wta;
    recorded(wta).is_some() && silent(wta).is_none() && snapshot.owner.is_none()
}

/// Why nothing is made or changed for an owner that is going away: what it has is only to be ended.
pub(super) fn stops_changes(snapshot: &Snapshot) -> Option<Problem> {
    let owner = snapshot.owner.as_ref()?;
    owner.deleting.then(|| Problem {
        reason: Reason::WaitingForOwner,
        message: "The owner is going away, so that nothing is made or changed any more".to_owned(),
    })
}

/// Whether the owner consents to the destruction of what the object made.
pub(super) fn lets_go(wta: &WorkspaceTemplateApply) -> bool {
    wta.metadata
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(marks::LET_GO))
        .is_some_and(|value| value == "true")
}
