//! Changes that a person has to approve before they reach a Workspace.
//!
//! Our runner plans, and asks by itself when a plan would destroy something; here its question is only passed on.
//! provider-terraform applies whatever it finds, so that a change must be held back before it is written.

use capt_api::{
    approval,
    conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason,
    foreign::forprovider::{ForProvider, ModuleSource},
    marks,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::{
    body, identity,
    kept::Kept,
    rendered::Rendered,
    snapshot::{PendingPlan, Problem, Snapshot},
};
use crate::{commands, render::WorkspaceGroup};

/// Why a change must not be written yet. `kept` is what the Workspace has.
pub(super) fn holds_back(
    snapshot: &Snapshot,
    kept: &Kept,
    wanted: &Rendered,
    is_foreign: bool,
) -> Option<Problem> {
    let differences = body::differences(&kept.rendering.spec, &wanted.spec);
    let used_up = kept.used_approval.as_deref();
    let is_approved =
        asks_for_no_approvals(snapshot) || approval::counts(given(snapshot), &wanted.hash, used_up);
    if kept.taken_over && !is_approved {
        return Some(Problem {
            reason: Reason::AdoptedChange,
            message: format!(
                "The Workspace was taken over, and this would be the first change of it, in {differences}.{} To let it \
                 happen: {}",
                if is_foreign {
                    to_compare(snapshot)
                } else {
                    String::new()
                },
                command(snapshot, &wanted.hash, used_up)
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
             let it happen: {}",
            command(snapshot, &wanted.hash, used_up)
        ),
    })
}

/// What a person compares where nobody can plan.
fn to_compare(snapshot: &Snapshot) -> String {
    let Some((group, name)) = super::place_of(snapshot) else {
        return String::new();
    };
    let is_scoped = group == WorkspaceGroup::Namespaced;
    let workspace = ObjectMeta {
        name: Some(name),
        namespace: snapshot.wta.metadata.namespace.clone().filter(|_| is_scoped),
        ..ObjectMeta::default()
    };
    let what = format!("get workspaces.{}", group.name());
    format!(
        " Its runner cannot plan, so compare what it has with the WorkspaceTemplate {}: {}.",
        snapshot.wta.spec.template_ref.name,
        commands::kubectl(&what, &workspace, "-o yaml")
    )
}

/// What to say of a plan of our runner, as long as it waits for an approval.
pub(super) fn of_plan(snapshot: &Snapshot, kept: Option<&Kept>, plan: &PendingPlan) -> Option<String> {
    let kept = kept.and_then(|kept| kept.used_approval.as_deref());
    let told = snapshot.used_approval.as_deref();
    let counts = |used_up| approval::counts(given(snapshot), &plan.id, used_up);
    if asks_for_no_approvals(snapshot) || (counts(kept) && counts(told)) {
        return None;
    }
    let used_up = if counts(kept) { told } else { kept };
    let command = command(snapshot, &plan.id, used_up);
    Some(format!(
        "{}. Look at the plan, and to let it happen: {command}",
        plan.summary
    ))
}

/// The approval that counts no more once the Workspace has this rendering, and this one is still to come.
///
/// An approval of a rendering is used up when the Workspace has it; until then nothing that a runner says matters,
/// because it cannot tell what an approval names. One of a plan is used up when the runner says so.
pub(super) fn used_up(
    snapshot: &Snapshot,
    before: Option<&Kept>,
    rendering: &str,
    pending: Option<&str>,
) -> Option<String> {
    let used_now = given(snapshot).filter(|value| {
        let name = approval::names(value);
        let is_answered = snapshot.used_approval.as_deref() == Some(*value) && pending != Some(name);
        (!rendering.is_empty() && name == rendering) || is_answered
    });
    match used_now {
        Some(value) => Some(value.to_owned()),
        None => before.and_then(|before| before.used_approval.clone()),
    }
}

/// The approval that the object has.
fn given(snapshot: &Snapshot) -> Option<&str> {
    identity::annotation(&snapshot.wta.metadata, marks::APPROVED)
}

/// What a person types to approve something.
fn command(snapshot: &Snapshot, what: &str, used_up: Option<&str>) -> String {
    let plan = format!("--plan {what}");
    let mut text = crate::commands::capt("approve wtapply", &snapshot.wta.metadata, &plan);
    if approval::is_used_up(given(snapshot), what, used_up) {
        text.push_str(". An approval counts once, and the one that the object has is used up");
    }
    text
}

/// Whether the object waives approvals.
pub(super) fn asks_for_no_approvals(snapshot: &Snapshot) -> bool {
    identity::annotation(&snapshot.wta.metadata, marks::ALLOW_DESTRUCTIVE) == Some("true")
}

/// The address of a module that is fetched from somewhere, where it may be another one tomorrow.
fn unpinned_module(spec: &Value) -> Option<String> {
    let for_provider: ForProvider = serde_json::from_value(spec.get("forProvider")?.clone()).ok()?;
    let is_pinned = for_provider.source != ModuleSource::Remote || is_pinned(&for_provider.module);
    (!is_pinned).then(|| speakable(&for_provider.module))
}

/// An address without what may be secret in it: who it is fetched as, and its settings.
fn speakable(address: &str) -> String {
    let address = match address.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((_, place)) => format!("{scheme}://(redacted)@{place}"),
            None => address.to_owned(),
        },
        None => address.to_owned(),
    };
    match address.split_once('?') {
        Some((place, _)) => place.to_owned(),
        None => address,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_in_an_address_that_is_told() {
        for (address, told) in [
            (
                "git::https://example.org/vpc.git",
                "git::https://example.org/vpc.git",
            ),
            (
                "git::https://user:hun'ter,2@example.org/vpc.git?ref=main",
                "git::https://(redacted)@example.org/vpc.git",
            ),
            (
                "git::https://user:p?w/d@example.org/vpc.git",
                "git::https://(redacted)@example.org/vpc.git",
            ),
            (
                "git::ssh://git@example.org/vpc.git?sshkey=c2VjcmV0",
                "git::ssh://(redacted)@example.org/vpc.git",
            ),
            ("git@example.org:vpc.git", "git@example.org:vpc.git"),
            (
                "https://example.org/vpc.zip?token=abc",
                "https://example.org/vpc.zip",
            ),
        ] {
            assert_eq!(speakable(address), told);
        }
    }
}
