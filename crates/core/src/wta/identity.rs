//! Which Workspace belongs to a WorkspaceTemplateApply.
//!
//! Identity is the namespace and the name that the labels say. The uid is carried along, but an object that its owner
//! made again, or that was moved to another cluster, has a new one and is still the same.

use std::{collections::BTreeMap, sync::Arc};

use capt_api::{foreign::marks as foreign_marks, marks};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{
    moving,
    snapshot::{Runner, Snapshot, WorkspaceSeen, workspace_target},
    waits,
};
use crate::{commands, names, render::WorkspaceGroup};

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found<'a> {
    /// No Workspace.
    Absent,
    /// Ours.
    Ours(&'a WorkspaceSeen),
    /// Made by the Go implementation for this object, as an administrator says: ours, once it carries our labels.
    Legacy(&'a WorkspaceSeen),
    /// Claimed as made by the Go implementation for this object, which no administrator confirms.
    PerhapsLegacy(&'a WorkspaceSeen),
    /// It may be adopted, and the object asks for it.
    TakenBack(&'a WorkspaceSeen),
    /// It may be adopted, and the object does not ask for it.
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
///
/// Identity labels prove it: a tenant cannot write them on an object outside its namespace. The object's annotation only says
/// where to look, and what it leads to is judged by what stands there.
pub(super) fn find(snapshot: &Snapshot) -> Found<'_> {
    let ours: Vec<&WorkspaceSeen> = snapshot
        .workspaces
        .iter()
        .map(Arc::as_ref)
        .filter(|workspace| carries_our_identity(snapshot, workspace))
        .collect();
    if let Some(workspace) = ours.iter().find(|workspace| is_recorded(snapshot, workspace)) {
        return Found::Ours(workspace);
    }
    match ours.as_slice() {
        [] => {}
        [one] if moving::is_left_behind(snapshot, one) && !consents_to_adopt(snapshot, one) => {
            return Found::LeftBehind(one);
        }
        [one] => return Found::Ours(one),
        [first, second, ..] => return Found::Several(first, second),
    }
    if let Some((group, name)) = recorded(snapshot) {
        return at(snapshot, group, name).map_or(Found::Absent, |workspace| judge(snapshot, workspace));
    }
    snapshot
        .workspaces
        .iter()
        .find(|workspace| {
            is_legacy(snapshot, workspace)
                || could_be_legacy(snapshot, workspace)
                || is_to_be_adopted(snapshot, workspace)
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
    if carries_an_identity(workspace) {
        Found::NotOurs(workspace)
    } else if permits_adoption(snapshot, workspace) {
        if consents_to_adopt(snapshot, workspace) {
            Found::TakenBack(workspace)
        } else {
            Found::Retained(workspace)
        }
    } else if is_retained(workspace) {
        Found::NotOurs(workspace)
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

/// Whether a name is one that is derived from the object's own.
pub(super) fn is_own_name(snapshot: &Snapshot, name: &str) -> bool {
    let metadata = &snapshot.wta.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let own = names::workspace(namespace, metadata.name.as_deref().unwrap_or_default());
    name == own.preferred() || name == own.parted()
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

/// The Workspace that was ours before its labels were removed, so that they can be restored. A cluster-scoped one proves it
/// by the name that its state is kept under; in the object's own namespace the uid in our status is proof enough.
///
/// Destruction needs more than that: whoever removed the labels may have wanted to keep what it stands for.
fn is_stripped(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let status = snapshot.wta.status.as_ref();
    let uid = status.and_then(|status| status.workspace_uid.as_deref());
    let is_the_same = match uid.filter(|_| workspace.group == Some(WorkspaceGroup::Namespaced)) {
        Some(uid) => uid == workspace.uid,
        None => is_made_as_recorded(snapshot, workspace),
    };
    !carries_an_identity(workspace) && snapshot.wta.metadata.deletion_timestamp.is_none() && is_the_same
}

/// Whether a Workspace is the one that was to be made. Its name was free when it was recorded, and only a Workspace of this
/// namespace keeps its state under this name.
fn is_made_as_recorded(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let namespace = snapshot.wta.metadata.namespace.as_deref().unwrap_or_default();
    let state = workspace.annotations.get(foreign_marks::EXTERNAL_NAME);
    is_recorded(snapshot, workspace) && state == Some(&names::external_name(namespace, &workspace.name))
}

/// Whether an administrator marked a cluster-scoped Workspace as made by the Go implementation for this object. The mark stays
/// when the Workspace is adopted, and with it its references to other namespaces.
pub(super) fn is_marked_legacy(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    workspace.group == Some(WorkspaceGroup::ClusterScoped)
        && workspace.annotations.get(marks::LEGACY_OF) == Some(&waits::key(snapshot))
}

/// The Go implementation marks nothing on a Workspace, and what it leaves on our side anyone in the namespace can write. So
/// only the mark of an administrator counts.
fn is_legacy(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    is_marked_legacy(snapshot, workspace) && !carries_an_identity(workspace) && !is_retained(workspace)
}

/// Whether the object claims that the Go implementation made a Workspace for it: then nothing is made beside it before an
/// administrator says whether that is true.
fn could_be_legacy(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let metadata = &snapshot.wta.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let plain = names::workspace(namespace, metadata.name.as_deref().unwrap_or_default());
    let status = snapshot.wta.status.as_ref();
    let claimed = status
        .and_then(|status| status.workspace_name.as_deref())
        .unwrap_or(plain.preferred());
    has_legacy_finalizer(snapshot)
        && recorded(snapshot)
            .is_none_or(|record| record == (WorkspaceGroup::ClusterScoped, workspace.name.as_str()))
        && workspace.group == Some(WorkspaceGroup::ClusterScoped)
        && !carries_an_identity(workspace)
        && !is_retained(workspace)
        && workspace.name == claimed
}

fn has_legacy_finalizer(snapshot: &Snapshot) -> bool {
    let finalizers = snapshot.wta.metadata.finalizers.as_deref().unwrap_or_default();
    finalizers
        .iter()
        .any(|finalizer| finalizer == marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER)
}

/// A Workspace that the object asks to adopt, or may adopt and has the name that its own would have.
fn is_to_be_adopted(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let metadata = &snapshot.wta.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let plain = names::workspace(namespace, metadata.name.as_deref().unwrap_or_default());
    let is_plain = workspace.name == plain.preferred() && permits_adoption(snapshot, workspace);
    !carries_an_identity(workspace) && (is_plain || consents_to_adopt(snapshot, workspace))
}

/// Whether a Workspace lets itself be adopted by the object: the namespace that retained it, or an administrator, says so on it.
fn permits_adoption(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
    let namespace = snapshot.wta.metadata.namespace.as_deref();
    let retained_by = workspace.annotations.get(marks::RETAINED);
    let retained_by = retained_by
        .and_then(|key| key.split_once('/'))
        .map(|(namespace, _)| namespace);
    workspace.annotations.get(marks::ADOPTABLE_BY) == Some(&waits::key(snapshot))
        || (retained_by.is_some() && retained_by == namespace)
}

fn consents_to_adopt(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> bool {
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

/// What an administrator types to name the object in an annotation of a Workspace.
pub(super) fn permit_command(
    snapshot: &Snapshot,
    group: WorkspaceGroup,
    workspace: &str,
    annotation: &str,
) -> String {
    let namespace = snapshot.wta.metadata.namespace.as_deref().unwrap_or_default();
    let metadata = ObjectMeta {
        name: Some(workspace.to_owned()),
        namespace: workspace_target(group, namespace, workspace).namespace,
        ..ObjectMeta::default()
    };
    let value = format!("{annotation}={}", waits::key(snapshot));
    commands::kubectl(
        &format!("annotate workspaces.{}", group.name()),
        &metadata,
        &value,
    )
}

/// The value of an annotation.
pub(super) fn annotation<'a>(metadata: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(name).map(String::as_str)
}
