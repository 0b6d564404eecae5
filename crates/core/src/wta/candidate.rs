//! A rendering that a paused Workspace does not have, so that a runner can tell what it would change.
//!
//! It travels in an annotation beside the request for a plan, in one write with it: nobody takes it for what the
//! Workspace should have, and a plan of anything else is never taken for the answer.

use std::io::{Read as _, Write as _};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::{conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason, marks};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde_json::Value;

use super::{
    deciding::Deciding,
    identity,
    location::{self, Moved},
    resolve,
    snapshot::{Problem, WorkspaceSeen},
};

/// The longest annotation that is written. All of an object's annotations together must not have twice as much.
const MAX_PACKED: usize = 128 * 1024;
/// No honest rendering comes near this; it bounds what a forged one can make us unpack.
const MAX_UNPACKED: u64 = 16 * 1024 * 1024;

/// What a runner is to plan.
#[derive(Debug, PartialEq)]
pub(super) enum Candidate {
    /// Nobody asks for a plan, or nobody can make one.
    Nothing,
    /// What the Workspace has.
    Present,
    /// This rendering, packed.
    Packed(String),
}

/// What a runner is to plan for a Workspace that is paused.
///
/// # Errors
/// If there is no rendering that could be planned.
pub(super) fn of(deciding: &Deciding<'_>, workspace: &WorkspaceSeen) -> Result<Candidate, Problem> {
    let snapshot = deciding.snapshot;
    let is_asked = identity::annotation(&snapshot.wta.metadata, marks::PLAN_REQUESTED).is_some();
    let (Some(kept), Some(group)) = (deciding.kept, workspace.group) else {
        return Ok(Candidate::Nothing);
    };
    if !is_asked || deciding.is_foreign || deciding.is_deleting() || workspace.deleting {
        return Ok(Candidate::Nothing);
    }
    let fresh = resolve::fresh(deciding)?;
    if !resolve::is_change(kept, fresh) {
        return Ok(Candidate::Present);
    }
    let external_name = location::external_name(snapshot, Some(workspace), &workspace.name);
    let wanted = location::of(snapshot, fresh, group, external_name);
    match location::moved(snapshot, &kept.location, Some(&wanted)) {
        Moved::No => {}
        Moved::ByProviderConfig(message) | Moved::ByRendering(message) => {
            return Err(Problem {
                reason: Reason::StateLocationChanged,
                message,
            });
        }
    }
    match pack(&fresh.spec) {
        packed if packed.len() <= MAX_PACKED => Ok(Candidate::Packed(packed)),
        packed => Err(Problem {
            reason: Reason::TemplateInvalid,
            message: format!(
                "The rendering is too large to be planned while the object is paused: {} bytes, and {MAX_PACKED} is \
                 the most",
                packed.len()
            ),
        }),
    }
}

/// What the annotation [`marks::CANDIDATE`] holds for a spec.
#[must_use]
pub fn pack(spec: &Value) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(spec.to_string().as_bytes());
    STANDARD.encode(encoder.finish().unwrap_or_default())
}

/// The spec that the annotation [`marks::CANDIDATE`] holds.
#[must_use]
pub fn unpack(text: &str) -> Option<Value> {
    let packed = STANDARD.decode(text).ok()?;
    let mut text = Vec::new();
    GzDecoder::new(packed.as_slice())
        .take(MAX_UNPACKED)
        .read_to_end(&mut text)
        .ok()?;
    serde_json::from_slice(&text).ok()
}
