//! Which Workspace belongs to a WorkspaceTemplateApply.
//!
//! Identity is the namespace and the name that the labels say. The uid is carried along, but an object that its owner
//! made again, or that was moved to another cluster, has a new one and is still the same.

use std::{collections::BTreeMap, sync::Arc};

use capt_api::{foreign::marks as foreign_marks, marks};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::{
    moving,
    snapshot::{Runner, Snapshot, WorkspaceSeen},
};
use crate::{names, render::WorkspaceGroup};

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found<'a> {
    /// No Workspace.
    Absent,
    /// Ours.
    Ours(&'a WorkspaceSeen),
    /// Made by the Go implementation for this object: ours, once it carries our labels.
    Legacy(&'a WorkspaceSeen),
    /// Perhaps made by the Go implementation for this object, of which nothing says so.
    PerhapsLegacy(&'a WorkspaceSeen),
    /// Kept on purpose, and the object says to take it back.
    TakenBack(&'a WorkspaceSeen),
    /// Kept on purpose.
    Retained(&'a WorkspaceSeen),
    /// Left here by an object of the same name that lives elsewhere now, with the state.
    LeftBehind(&'a WorkspaceSeen),
    /// Somebody else's.
    NotOurs(&'a WorkspaceSeen),
    /// Several that say they are ours.
    Several(&'a WorkspaceSeen, &'a WorkspaceSeen),
}

impl<'a> Found<'a> {
    /// The Workspace that may be written to.
    pub(super) fn ours(self) -> Option<&'a WorkspaceSeen> {
        match self {
            Self::Ours(workspace) | Self::Legacy(workspace) | Self::TakenBack(workspace) => Some(workspace),
            _ => None,
        }
    }

    /// The Workspace whose name and state are those that the object's own has or would have.
    pub(super) fn namesake(self) -> Option<&'a WorkspaceSeen> {
        match self {
            Self::LeftBehind(workspace) => Some(workspace),
            found => found.ours(),
        }
    }
}

/// The group and name that the object's annotation says.
pub(super) fn recorded(snapshot: &Snapshot) -> Option<(WorkspaceGroup, &str)> {
    let (group, name) = annotation(&snapshot.wta.metadata, marks::WORKSPACE)?.split_once('/')?;
    Some((WorkspaceGroup::from_name(group)?, name))
}

/// Whether the object's annotation says this Workspace.
pub(super) fn is_recorded(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let recorded = recorded(snapshot).map(|(group, name)| (Some(group), name));
    recorded == Some((workspace.group, workspace.name.as_str()))
}

/// The Workspace of the object.
pub(super) fn find(snapshot: &Snapshot) -> Found<'_> {
    if let Some((group, name)) = recorded(snapshot)
        && let Some(workspace) = at(snapshot, group, name)
    {
        return judge(snapshot, workspace);
    }
    let mut ours = snapshot
        .workspaces
        .iter()
        .filter(|workspace| carries_our_identity(snapshot, workspace));
    if let Some(first) = ours.next() {
        return match ours.next() {
            Some(second) => Found::Several(first, second),
            None if moving::is_left_behind(snapshot, first) && !consents_to_take_back(snapshot, first) => {
                Found::LeftBehind(first)
            }
            None => Found::Ours(first),
        };
    }
    if recorded(snapshot).is_some() {
        return Found::Absent;
    }
    snapshot
        .workspaces
        .iter()
        .find(|workspace| {
            is_legacy(snapshot, workspace)
                || could_be_legacy(snapshot, workspace)
                || could_be_taken_back(snapshot, workspace)
        })
        .map_or(Found::Absent, |workspace| judge(snapshot, workspace))
}

/// The group that the object's Workspace is or may be in, if Workspaces of that group cannot be read: one that is not seen
/// there may well exist, and what is seen may be old.
pub(super) fn hidden(snapshot: &Snapshot, found: Found<'_>) -> Option<WorkspaceGroup> {
    let kept = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref());
    // That the record is gone means no more than that destruction began.
    let known = found
        .ours()
        .and_then(|workspace| workspace.group)
        .or_else(|| recorded(snapshot).map(|(group, _)| group))
        .or_else(|| kept.and_then(|kept| WorkspaceGroup::from_name(&kept.location.group)));
    let status = snapshot.wta.status.as_ref();
    let had_one =
        status.is_some_and(|status| status.workspace_name.is_some()) || has_legacy_finalizer(snapshot);
    [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped]
        .into_iter()
        .filter(|group| known.map_or(had_one, |known| known == *group))
        .find(|group| snapshot.served.hides(*group))
}

/// What to do where Workspaces of a group cannot be read.
pub(super) fn let_read(group: WorkspaceGroup) -> String {
    let role = match group {
        WorkspaceGroup::Namespaced => "a Role in this namespace",
        WorkspaceGroup::ClusterScoped => "a ClusterRole",
    };
    format!(
        "The controllers cannot read Workspaces of the group {0}. Give them {role} that allows get, list and watch of \
         workspaces.{0}, and let the API serve their version v1beta1",
        group.name()
    )
}

fn judge<'a>(snapshot: &Snapshot, workspace: &'a WorkspaceSeen) -> Found<'a> {
    if carries_our_identity(snapshot, workspace) {
        Found::Ours(workspace)
    } else if is_retained(workspace) {
        if consents_to_take_back(snapshot, workspace) {
            Found::TakenBack(workspace)
        } else {
            Found::Retained(workspace)
        }
    } else if is_legacy(snapshot, workspace) {
        Found::Legacy(workspace)
    } else if could_be_legacy(snapshot, workspace) {
        Found::PerhapsLegacy(workspace)
    } else if is_stripped(snapshot, workspace) {
        Found::Ours(workspace)
    } else {
        Found::NotOurs(workspace)
    }
}

/// The name for a new Workspace: the plain one, unless somebody else has it.
pub(super) fn new_name(snapshot: &Snapshot, group: WorkspaceGroup) -> String {
    let metadata = &snapshot.wta.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let name = names::workspace(namespace, metadata.name.as_deref().unwrap_or_default());
    name.choose(|name| at(snapshot, group, name).is_some()).to_owned()
}

/// The labels that say whose a Workspace is, and who runs it.
pub(super) fn labels(snapshot: &Snapshot, is_foreign: bool) -> BTreeMap<String, String> {
    let metadata = &snapshot.wta.metadata;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut labels = BTreeMap::from([
        (marks::WTA_NAMESPACE.to_owned(), text(&metadata.namespace)),
        (
            marks::WTA_NAME.to_owned(),
            names::label_value(metadata.name.as_deref().unwrap_or_default()),
        ),
        (marks::WTA_UID.to_owned(), text(&metadata.uid)),
    ]);
    if let Runner::Ours { label: Some(label) } = &snapshot.runner
        && !is_foreign
    {
        labels.insert(marks::RUNNER.to_owned(), label.clone());
    }
    labels
}

/// Whether a Workspace was kept on purpose.
pub(super) fn is_retained(workspace: &WorkspaceSeen) -> bool {
    workspace.annotations.contains_key(marks::RETAINED)
}

fn at<'a>(snapshot: &'a Snapshot, group: WorkspaceGroup, name: &str) -> Option<&'a WorkspaceSeen> {
    let mut workspaces = snapshot.workspaces.iter().map(Arc::as_ref);
    workspaces.find(|workspace| workspace.group == Some(group) && workspace.name == name)
}

fn carries_our_identity(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let wanted = labels(snapshot, true);
    [marks::WTA_NAMESPACE, marks::WTA_NAME].iter().all(|label| {
        workspace.labels.contains_key(*label) && workspace.labels.get(*label) == wanted.get(*label)
    })
}

/// Whether somebody's labels are on a Workspace.
pub(super) fn carries_an_identity(workspace: &WorkspaceSeen) -> bool {
    [marks::WTA_NAMESPACE, marks::WTA_NAME, marks::WTA_UID]
        .iter()
        .any(|label| workspace.labels.contains_key(*label))
}

/// The Workspace that was ours before its labels were taken away, so that they can be given back.
///
/// Destruction needs more than that: who took the labels away may have wanted to keep what it stands for.
fn is_stripped(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let status = snapshot.wta.status.as_ref();
    let is_the_same = match status.and_then(|status| status.workspace_uid.as_deref()) {
        Some(uid) => uid == workspace.uid,
        None => is_made_as_recorded(snapshot, workspace),
    };
    !carries_an_identity(workspace) && snapshot.wta.metadata.deletion_timestamp.is_none() && is_the_same
}

/// Whether a Workspace is the one that was to be made, although nobody wrote down yet that it was. Its name was free when it was
/// recorded, and it keeps its state under a name that nobody else would think of.
fn is_made_as_recorded(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let namespace = snapshot.wta.metadata.namespace.as_deref().unwrap_or_default();
    let state = workspace.annotations.get(foreign_marks::EXTERNAL_NAME);
    let is_recorded = recorded(snapshot)
        .is_some_and(|(group, name)| workspace.group == Some(group) && workspace.name == name);
    is_recorded && state == Some(&names::external_name(namespace, &workspace.name))
}

/// The Go implementation marks nothing on a Workspace; its finalizer and status on our side are all there is. Where the
/// status was lost, as happens to it, the name tells together with where the Workspace hands its outputs to, or a person.
fn is_legacy(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let status = snapshot.wta.status.as_ref();
    let named = status.and_then(|status| status.workspace_name.as_deref());
    let was_legacy = !carries_an_identity(workspace) && has_legacy_finalizer(snapshot);
    was_legacy
        && match named {
            Some(named) => named == workspace.name,
            None => {
                could_be_legacy(snapshot, workspace)
                    && (hands_out_here(snapshot, workspace) || consents_to_take_back(snapshot, workspace))
            }
        }
}

/// Whether the Go implementation may have made a Workspace for this object and then failed to write that down: it has the
/// only name that it would give it, and is nobody's.
fn could_be_legacy(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let metadata = &snapshot.wta.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let plain = names::workspace(namespace, metadata.name.as_deref().unwrap_or_default());
    let status = snapshot.wta.status.as_ref();
    has_legacy_finalizer(snapshot)
        && recorded(snapshot)
            .is_none_or(|record| record == (WorkspaceGroup::ClusterScoped, workspace.name.as_str()))
        && status.is_none_or(|status| status.workspace_name.is_none())
        && workspace.group == Some(WorkspaceGroup::ClusterScoped)
        && !carries_an_identity(workspace)
        && !is_retained(workspace)
        && workspace.name == plain.preferred()
}

fn has_legacy_finalizer(snapshot: &Snapshot) -> bool {
    let finalizers = snapshot.wta.metadata.finalizers.as_deref().unwrap_or_default();
    finalizers
        .iter()
        .any(|finalizer| finalizer == marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER)
}

/// Whether a cluster-scoped Workspace writes its outputs into the object's namespace, which those of other namespaces that
/// compete for its name do not.
fn hands_out_here(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let into = workspace.spec.pointer("/writeConnectionSecretToRef/namespace");
    into.is_some() && into.and_then(Value::as_str) == snapshot.wta.metadata.namespace.as_deref()
}

/// A retained Workspace that the object names, or that has the name that its own would have.
fn could_be_taken_back(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let metadata = &snapshot.wta.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let plain = names::workspace(namespace, metadata.name.as_deref().unwrap_or_default());
    is_retained(workspace)
        && !carries_an_identity(workspace)
        && (workspace.name == plain.preferred() || consents_to_take_back(snapshot, workspace))
}

fn consents_to_take_back(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let metadata = &snapshot.wta.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let plain = names::workspace(namespace, metadata.name.as_deref().unwrap_or_default());
    match annotation(metadata, marks::ADOPT_RETAINED) {
        Some("true") => workspace.name == plain.preferred(),
        Some(name) => {
            let group = workspace.group.map_or("", WorkspaceGroup::name);
            name == workspace.name || name == format!("{group}/{}", workspace.name)
        }
        None => false,
    }
}

/// The value of an annotation.
pub(super) fn annotation<'a>(metadata: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(name).map(String::as_str)
}
