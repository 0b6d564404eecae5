//! A decision about a WorkspaceTemplateApply while it is being made.

use capt_api::{
    conditions::{
        Word as _, find_condition,
        workspacetemplateapply::{
            WorkspaceTemplateApplyCondition as Type, WorkspaceTemplateApplyReason as Reason,
        },
    },
    foreign::marks as foreign_marks,
    marks,
    workspacetemplateapply::WorkspaceTemplateApplyStatus,
};
use k8s_openapi::jiff::Timestamp;

use super::{
    foreign,
    identity::{self, Found},
    kept::{Kept, Owner},
    owner, pausing, policy,
    snapshot::{Snapshot, WorkspaceSeen},
    status::{self, Report},
};
use crate::{
    crds,
    decision::{Decision, Desired, Guard, OwnChange, Removal},
    render::WorkspaceGroup,
};

/// What is known, and what was decided so far.
pub(super) struct Deciding<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) now: Timestamp,
    pub(super) found: Found<'a>,
    /// provider-terraform acts on the Workspace.
    pub(super) is_foreign: bool,
    /// It may, as far as anybody can tell.
    pub(super) may_be_foreign: bool,
    pub(super) kept: Option<&'a Kept>,
    pub(super) children: Vec<Desired>,
    pub(super) removals: Vec<Removal>,
    pub(super) own: OwnChange<WorkspaceTemplateApplyStatus>,
    pub(super) report: Report,
}

impl<'a> Deciding<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, now: Timestamp) -> Self {
        let found = identity::find(snapshot);
        Self {
            snapshot,
            now,
            found,
            is_foreign: foreign::is_foreign(snapshot, found.ours()),
            may_be_foreign: foreign::may_be_foreign(snapshot, found.ours()),
            kept: snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref()),
            children: Vec::new(),
            removals: Vec::new(),
            own: OwnChange::default(),
            report: Report::default(),
        }
    }

    pub(super) fn namespace(&self) -> &'a str {
        self.snapshot
            .wta
            .metadata
            .namespace
            .as_deref()
            .unwrap_or_default()
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.snapshot.wta.metadata.deletion_timestamp.is_some()
    }

    fn has_finalizer(&self, name: &str) -> bool {
        let finalizers = self
            .snapshot
            .wta
            .metadata
            .finalizers
            .as_deref()
            .unwrap_or_default();
        finalizers.iter().any(|finalizer| finalizer == name)
    }

    /// What must be on the object before anything is made for it: our hold, and the name of its owner.
    pub(super) fn prepare(&mut self) {
        if self.is_deleting() {
            return;
        }
        if !self.has_finalizer(marks::WORKSPACETEMPLATEAPPLY_FINALIZER) {
            self.own
                .add_finalizers
                .push(marks::WORKSPACETEMPLATEAPPLY_FINALIZER.to_owned());
        }
        // The old finalizer also says whose the Workspace is, until the Workspace itself says so.
        if self.has_finalizer(marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER)
            && !matches!(self.found, Found::Legacy(_) | Found::PerhapsLegacy(_))
            && identity::hidden(self.snapshot, self.found).is_none()
        {
            self.own
                .remove_finalizers
                .push(marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER.to_owned());
        }
        let labels = self.snapshot.wta.metadata.labels.as_ref();
        if labels.is_none_or(|labels| !labels.contains_key(marks::OWNER))
            && let Some(owner) = owner::referenced(&self.snapshot.wta)
        {
            self.own.labels.insert(marks::OWNER.to_owned(), Some(owner));
        }
        // What the Go implementation made does not say which Cluster it is paused and moved with.
        let cluster = self
            .snapshot
            .owner
            .as_ref()
            .and_then(|owner| owner.cluster.as_ref());
        if let Some(cluster) = cluster.filter(|_| !pausing::belongs_to_cluster(self.snapshot)) {
            let label = foreign_marks::CLUSTER_NAME.to_owned();
            self.own.labels.insert(label, Some(cluster.clone()));
        }
    }

    /// Says on the object which Workspace exists or must be destroyed.
    pub(super) fn record(&mut self, group: WorkspaceGroup, name: &str) {
        if identity::recorded(self.snapshot) != Some((group, name)) {
            self.own.annotations.insert(
                marks::WORKSPACE.to_owned(),
                Some(format!("{}/{name}", group.name())),
            );
        }
    }

    /// Like [`Self::record`], for a Workspace that is there.
    pub(super) fn record_present(&mut self, workspace: &WorkspaceSeen) {
        if let Some(group) = workspace.group {
            self.record(group, &workspace.name);
        }
    }

    /// Says on the object that nothing must be destroyed any more.
    pub(super) fn record_nothing(&mut self) {
        if identity::annotation(&self.snapshot.wta.metadata, marks::WORKSPACE).is_some() {
            self.own.annotations.insert(marks::WORKSPACE.to_owned(), None);
        }
    }

    /// The Secret that keeps a rendering, if it has to be written.
    pub(super) fn keep(&mut self, kept: &Kept) {
        let metadata = &self.snapshot.wta.metadata;
        // Without its owner it would neither go nor be moved together with the object.
        let is_owned = self
            .snapshot
            .kept
            .as_ref()
            .is_some_and(|seen| seen.owner == metadata.uid);
        // In a namespace that goes nothing can be made.
        let cannot_be_made = self.snapshot.kept.is_none() && self.snapshot.namespace_terminating;
        if (self.kept == Some(kept) && is_owned) || cannot_be_made {
            return;
        }
        let owner = Owner {
            namespace: self.namespace(),
            name: metadata.name.as_deref().unwrap_or_default(),
            uid: metadata.uid.as_deref().unwrap_or_default(),
        };
        let guard = match &self.snapshot.kept {
            Some(seen) => Guard::Uid(seen.uid.clone()),
            None => Guard::Absent,
        };
        let is_only_noted = is_owned && self.kept.is_some_and(|known| known.differs_in_notes(kept));
        let secret = kept.secret(&owner, guard);
        self.children.push(Desired {
            is_beside: is_only_noted,
            ..secret
        });
    }

    /// Lets go of the object.
    pub(super) fn go(&mut self) {
        for finalizer in [
            marks::WORKSPACETEMPLATEAPPLY_FINALIZER,
            marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER,
        ] {
            if self.has_finalizer(finalizer) {
                self.own.remove_finalizers.push(finalizer.to_owned());
            }
        }
    }

    /// Whether the object says that it is paused.
    fn was_paused(&self) -> bool {
        let status = self.snapshot.wta.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_deref());
        let paused = find_condition(conditions.unwrap_or_default(), Type::Paused.as_str());
        paused.is_some_and(|paused| paused.status == "True")
    }

    /// Says something by a condition and by the message.
    pub(super) fn say(&mut self, type_: Type, holds: bool, reason: Reason, message: impl Into<String>) {
        let message = message.into();
        self.report.message = Some(message.clone());
        self.report.say(type_, holds, reason, message);
    }

    /// The decision.
    pub(super) fn finish(mut self) -> Decision<WorkspaceTemplateApplyStatus> {
        let is_prepared = self.own.add_finalizers.is_empty() && self.own.labels.is_empty();
        let starts_blocking = self
            .own
            .annotations
            .get(capt_api::foreign::marks::BLOCK_MOVE)
            .is_some_and(Option::is_some);
        if !self.is_deleting() && (!is_prepared || starts_blocking) {
            // A grant that somebody else gave is taken back at once; everything else waits until the marks are there.
            self.children
                .retain(|child| is_prepared && policy::is_nothing(&child.fields["spec"]));
            self.removals.clear();
            // What was paused stays so until more than a mark is written, and is decided about as such.
            if self.was_paused() && is_prepared {
                return Decision {
                    children: self.children,
                    own: self.own,
                    ..Decision::default()
                };
            }
        }
        // Whoever goes lets its state go too.
        if !self.is_deleting() {
            status::say_held_state(&mut self);
        }
        let events = status::events(&self);
        // Nobody can write the status of an object that is gone.
        let is_leaving = self.is_deleting() && !self.own.remove_finalizers.is_empty();
        if !is_leaving {
            let status = status::status(&self, self.now);
            let before = self.snapshot.wta.status.as_ref().map(status::our_part);
            if before.as_ref() != Some(&status) {
                self.own.status = Some(status);
            }
        }
        Decision {
            children: self.children,
            removals: self.removals,
            own: self.own,
            events,
            look_again: self.snapshot.crd_obstacle.as_ref().map(|_| crds::LOOK_AGAIN),
        }
    }
}
