//! Changes that a person has to approve before they reach a Workspace.
//!
//! Our runner plans, and asks by itself when a plan would destroy something; here its question is only passed on.
//! provider-terraform applies whatever it finds, so that a change must be held back before it is written.

use capt_api::{
    conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason,
    foreign::forprovider::{ForProvider, ModuleSource},
    marks,
};
use serde_json::Value;

use super::{
    body, identity,
    kept::Kept,
    rendered::Rendered,
    snapshot::{Problem, Snapshot},
};

/// Why a change must not be written yet. `kept` is what the Workspace has.
pub(super) fn holds_back(
    snapshot: &Snapshot,
    kept: &Kept,
    wanted: &Rendered,
    is_foreign: bool,
) -> Option<Problem> {
    let differences = body::differences(&kept.rendering.spec, &wanted.spec);
    let is_approved = asks_for_no_approvals(snapshot) || is_approved(snapshot, &wanted.hash);
    if kept.taken_over && !is_approved {
        return Some(Problem {
            reason: Reason::AdoptedChange,
            message: format!(
                "The Workspace was taken over, and this would be the first change of it, in {differences}. To let it \
                 happen, approve {}",
                wanted.hash
            ),
        });
    }
    if !is_foreign || !kept.was_ready {
        return None;
    }
    if let Some(module) = unpinned_module(&wanted.spec) {
        return Some(Problem {
            reason: Reason::ModuleNotPinned,
            message: format!(
                "The module {module} names no fixed version, so that nobody can know what an update brings. Add \
                 ?ref= with a tag or a commit"
            ),
        });
    }
    let is_harmless =
        !kept.rendering.guarded_hash.is_empty() && kept.rendering.guarded_hash == wanted.guarded_hash;
    if is_harmless || is_approved {
        return None;
    }
    Some(Problem {
        reason: Reason::DestructiveChange,
        message: format!(
            "The runner cannot plan, so that this change, in {differences}, may destroy or replace infrastructure. To \
             let it happen, approve {}",
            wanted.hash
        ),
    })
}

/// Whether an approval names this.
pub(super) fn is_approved(snapshot: &Snapshot, what: &str) -> bool {
    !what.is_empty() && identity::annotation(&snapshot.wta.metadata, marks::APPROVED) == Some(what)
}

/// Whether the object waives approvals.
pub(super) fn asks_for_no_approvals(snapshot: &Snapshot) -> bool {
    identity::annotation(&snapshot.wta.metadata, marks::ALLOW_DESTRUCTIVE) == Some("true")
}

/// The address of a module that is fetched from somewhere, where it may be another one tomorrow.
fn unpinned_module(spec: &Value) -> Option<String> {
    let for_provider: ForProvider = serde_json::from_value(spec.get("forProvider")?.clone()).ok()?;
    let is_pinned = for_provider.source != ModuleSource::Remote || is_pinned(&for_provider.module);
    (!is_pinned).then_some(for_provider.module)
}

fn is_pinned(address: &str) -> bool {
    let Some((_, query)) = address.split_once('?') else {
        return false;
    };
    query.split('&').any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match name {
            // Names that everybody knows to move.
            "ref" | "rev" => !matches!(
                value,
                "" | "HEAD" | "main" | "master" | "develop" | "trunk" | "latest"
            ),
            "checksum" | "version" | "versionId" | "generation" => !value.is_empty(),
            _ => false,
        }
    })
}
