//! The owner of a WorkspaceTemplateApply, and its consent.

use capt_api::{WorkspaceTemplateApply, marks};

use super::snapshot::Snapshot;
use crate::names;

/// How an owner is recorded in a label. Names survive `clusterctl move`, uids do not.
#[must_use]
pub fn label(kind: &str, name: &str) -> String {
    names::label_value(&format!("{kind}.{name}"))
}

/// The kinds that say by marks what becomes of the infrastructure of what they own.
const SPEAKING: [&str; 2] = ["CAPTCluster", "CAPTControlPlane"];

/// The owner that is recorded on an object: by its label, or else by its owner reference, which a label must then be
/// made of.
#[must_use]
pub fn recorded(wta: &WorkspaceTemplateApply) -> Option<String> {
    let labels = wta.metadata.labels.as_ref();
    labels
        .and_then(|labels| labels.get(marks::OWNER).cloned())
        .or_else(|| referenced(wta))
}

/// The owner that the owner references name.
pub(super) fn referenced(wta: &WorkspaceTemplateApply) -> Option<String> {
    let references = wta.metadata.owner_references.as_deref().unwrap_or_default();
    references
        .iter()
        .find(|reference| reference.controller == Some(true))
        .or_else(|| {
            references
                .iter()
                .find(|reference| SPEAKING.contains(&reference.kind.as_str()))
        })
        .map(|reference| label(&reference.kind, &reference.name))
}

/// The owner that is recorded on an object, if it is of a kind that knows nothing of our marks. Whether it is still there
/// cannot be known, and it has nothing to say but whether the object goes.
pub(super) fn silent(wta: &WorkspaceTemplateApply) -> Option<String> {
    recorded(wta).filter(|owner| {
        let speaks = |kind: &&str| {
            owner
                .strip_prefix(*kind)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        !SPEAKING.iter().any(speaks)
    })
}

/// Whether the object had an owner and has none any more.
pub(super) fn is_orphan(snapshot: &Snapshot) -> bool {
    let wta = &snapshot.wta;
    recorded(wta).is_some() && silent(wta).is_none() && snapshot.owner.is_none()
}

/// Whether the owner consents to the destruction of what the object made.
pub(super) fn lets_go(wta: &WorkspaceTemplateApply) -> bool {
    wta.metadata
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(marks::LET_GO))
        .is_some_and(|value| value == "true")
}
