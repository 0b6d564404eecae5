//! The last rendering, kept in a Secret, so that neither a vanished template nor a vanished Workspace loses anything.
//!
//! Whoever may write Secrets in the namespace may write it, so that it carries no authority: what it says is checked
//! wherever it is used, like what a template says. It is written before a Workspace is first made, and after one is changed: whatever exists can be made again.

use std::io::Read as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::workspacetemplate::WorkspaceTemplateSpec;
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{location::StateLocation, packing, rendered::Rendered};
use crate::decision::{Desired, Guard, Strip, Target};

/// Key of the Secret that everything is under, as gzipped JSON.
pub const KEY: &str = "rendering";
/// Type of the Secret.
pub const SECRET_TYPE: &str = "infrastructure.cluster.x-k8s.io/rendering";
/// No honest rendering comes near this; it bounds what a forged one can make us unpack.
const MAX_UNPACKED: u64 = 16 * 1024 * 1024;

/// The last rendering, and what has to be remembered with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// The rendering. Without a hash, it is what a Workspace held when it was taken over.
    pub rendering: Rendered,
    /// The template that it was rendered from, for as long as no newer revision is released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<WorkspaceTemplateSpec>,
    /// Where state lives.
    pub location: StateLocation,
    /// The template's label that says that its module makes nothing real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The Workspace was made by the Go implementation, and was not changed since.
    #[serde(default)]
    pub taken_over: bool,
    /// The Workspace was ready once, so that there is something to lose.
    #[serde(default)]
    pub was_ready: bool,
    /// The last approval that counts no more. It is kept here because what a runner reports is not moved with the
    /// object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_approval: Option<String>,
    /// The last word that everything is destroyed (`destroyed`) that counts no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_destroyed: Option<String>,
}

#[cfg(test)]
thread_local! {
    /// How many were packed.
    pub(super) static PACKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Kept {
    /// Whether another one says the same about the Workspace, and only that it was ready is noted otherwise. What is noted is
    /// noted again at the next look if it gets lost.
    pub(super) fn differs_in_notes(&self, other: &Self) -> bool {
        self.was_ready != other.was_ready
            && Self {
                was_ready: other.was_ready,
                ..self.clone()
            } == *other
    }

    /// What is written under [`KEY`], without base64.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        #[cfg(test)]
        PACKED.with(|count| count.set(count.get() + 1));
        packing::pack(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// Reads what is under [`KEY`], without base64.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::from_text(&Self::text(bytes)?)
    }

    /// The text of what is under [`KEY`], without base64, for whoever keeps it to read it later.
    #[must_use]
    pub fn text(bytes: &[u8]) -> Option<String> {
        let mut text = String::new();
        GzDecoder::new(bytes)
            .take(MAX_UNPACKED)
            .read_to_string(&mut text)
            .ok()?;
        Some(text)
    }

    /// Reads the text of what is under [`KEY`].
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The Secret that holds it.
    pub(super) fn secret(&self, owner: &Owner<'_>, guard: Guard) -> Desired {
        Desired {
            target: Target {
                api_version: "v1".to_owned(),
                kind: "Secret".to_owned(),
                namespace: Some(owner.namespace.to_owned()),
                name: crate::names::last_rendering(owner.name).parted().to_owned(),
            },
            guard,
            fields: json!({
                "metadata": {"ownerReferences": [{
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                    "kind": "WorkspaceTemplateApply",
                    "name": owner.name,
                    "uid": owner.uid,
                    "controller": true,
                }]},
                "type": SECRET_TYPE,
                "data": {KEY: STANDARD.encode(self.to_bytes())},
            }),
            strip: Strip::default(),
            rendered_from: Some(self.rendering.hash.clone()),
            loss: None,
            is_beside: false,
        }
    }
}

/// The WorkspaceTemplateApply that a Secret belongs to.
pub(super) struct Owner<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
}

/// The uid of the owner in the fields of the Secret that a decision wrote.
#[must_use]
pub fn owner_in_fields(fields: &Value) -> Option<String> {
    let owner = fields.pointer("/metadata/ownerReferences/0/uid")?;
    owner.as_str().map(str::to_owned)
}

/// Reads the fields of the Secret that a decision wrote.
#[must_use]
pub fn from_fields(fields: &Value) -> Option<Kept> {
    let text = fields.get("data")?.get(KEY)?.as_str()?;
    Kept::from_bytes(&STANDARD.decode(text).ok()?)
}
