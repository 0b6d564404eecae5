//! Hashes that stay the same for as long as what they are taken of does.

use std::{collections::BTreeMap, fmt::Write as _};

use capt_api::workspacetemplate::{VariableDeclaration, WorkspaceTemplateSpec};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// 128 bits: short enough for a label, long enough that nobody finds a second text for one hash that was approved.
const BYTES: usize = 16;

/// The revision of a template: a hash of everything in it that a rendering or its approval depends on.
///
/// Descriptions, versions, tags and whom the template is shared with leave it alone, so that editing them rolls
/// nothing out.
#[must_use]
pub fn revision(template: &WorkspaceTemplateSpec) -> String {
    let declared = template.variables.as_deref().unwrap_or_default();
    let variables: BTreeMap<&str, Value> = declared
        .iter()
        .map(|variable| (&*variable.name, essence(variable)))
        .collect();
    hash(
        "revision",
        &json!({
            "spec": template.template.spec,
            "variables": variables,
            "writeConnectionSecretToRef": template.write_connection_secret_to_ref,
        }),
    )
}

/// A hash of a value, apart from those of other roles. Maps are hashed in the order of their keys.
pub(super) fn hash(role: &str, value: &Value) -> String {
    let mut hasher = Sha256::new();
    hasher.update(role.as_bytes());
    hasher.update([0]);
    hasher.update(value.to_string().as_bytes());
    hasher
        .finalize()
        .iter()
        .take(BYTES)
        .fold(String::with_capacity(BYTES * 2), |mut hex, byte| {
            // Writing to a String does not fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

/// A value as JSON; what cannot be JSON is none of ours, and counts as null.
pub(super) fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn essence(variable: &VariableDeclaration) -> Value {
    json!({
        "default": variable.default,
        "required": variable.required.unwrap_or_default(),
        "replaces": variable.replaces.unwrap_or_default(),
    })
}
