//! Decisions about a WorkspaceTemplateApply: which Workspace it has, what that holds, and what may be done to it.
//!
//! The one thing that must never happen is that infrastructure is destroyed without consent, so that every rule about
//! it stands in a file of its own: who owns what (`identity`, [`owner`]), what a runner may do (`policy`), what is kept on
//! purpose (`retention`), when nothing may run (`pausing`), where state lives ([`location`]), what is waited for (`waits`,
//! `turns`), what a person has to approve (`approval`), what `clusterctl move` finds (`moving`) and what
//! provider-terraform needs (`foreign`).
//!
//! This module must never know how facts are gathered or how a decision is carried out.

mod again;
mod approval;
mod body;
pub mod candidate;
mod confinement;
mod deciding;
mod deletion;
mod foreign;
mod identity;
pub mod kept;
pub mod location;
mod moving;
pub mod owner;
mod packing;
mod pausing;
pub mod policy;
mod rendered;
mod requests;
mod resolve;
mod retention;
pub mod snapshot;
pub mod source;
mod status;
mod turns;
mod waits;
mod work;

pub use body::is_default;
pub use confinement::foreign_references;
pub use moving::{LeftBehind, left_behind};
pub use rendered::Rendered;
pub use snapshot::Snapshot;

use capt_api::{
    conditions::workspacetemplateapply::{
        WorkspaceTemplateApplyCondition as Type, WorkspaceTemplateApplyReason as Reason,
    },
    workspacetemplateapply::WorkspaceTemplateApplyStatus,
};
use k8s_openapi::jiff::Timestamp;

use self::{body::Body, candidate::Candidate, deciding::Deciding, identity::Found, policy::Allowed};
use crate::{
    decision::Decision,
    gates::{self, Gates},
};

/// Decides what has to be done for a WorkspaceTemplateApply.
#[must_use]
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Decision<WorkspaceTemplateApplyStatus> {
    // Whoever let go of an object, or moved it to another cluster, has nothing to say about it any more.
    let is_let_go = snapshot.wta.metadata.deletion_timestamp.is_some() && !pausing::is_held(snapshot);
    if is_let_go || pausing::is_being_moved(snapshot) {
        return Decision::default();
    }
    let mut deciding = Deciding::new(snapshot, now);
    gates::pass(&mut deciding);
    deciding.finish()
}

/// The Workspace of an object, if there is one.
#[must_use]
pub fn workspace_of(snapshot: &Snapshot) -> Option<&snapshot::WorkspaceSeen> {
    identity::find(snapshot).ours()
}

/// The group and the name that an object's Workspace has, or would have, if any API serves Workspaces.
#[must_use]
pub fn place_of(snapshot: &Snapshot) -> Option<(crate::render::WorkspaceGroup, String)> {
    resolve::place_of(snapshot, identity::find(snapshot))
}

/// The name that the state of an object's Workspace is, or would be, kept under.
#[must_use]
pub fn external_name_of(snapshot: &Snapshot) -> Option<String> {
    let found = identity::find(snapshot);
    let (_, name) = resolve::place_of(snapshot, found)?;
    Some(location::external_name(snapshot, found.namesake(), &name))
}

impl Deciding<'_> {
    /// Whether the Workspace has all that is wanted although the object was edited: so nothing waits for the end of a pause.
    fn is_taken_back(&self) -> bool {
        let status = self.snapshot.wta.status.as_ref();
        let was_applied = status.is_some_and(|status| status.applied && status.pending_revision.is_none());
        let is_change = |kept| resolve::fresh(self).map_or(true, |fresh| resolve::is_change(kept, fresh));
        was_applied && self.found.ours().is_some() && !self.kept.is_none_or(is_change)
    }

    /// What a runner is to plan of a Workspace that is paused. Where somebody asks for a plan, what stands in its way is
    /// said, and that it does no more.
    fn candidate(&mut self, workspace: &snapshot::WorkspaceSeen) -> Candidate {
        match candidate::of(self, workspace) {
            Ok(Candidate::Nothing) => Candidate::Nothing,
            Ok(Candidate::Present) => {
                let message = "The Workspace is what it should be";
                self.report.say(Type::Applied, true, Reason::Applied, message);
                Candidate::Present
            }
            Ok(packed) => {
                let message = "A change is not applied, because the object is paused";
                self.report.say(Type::Applied, false, Reason::Rendered, message);
                packed
            }
            Err(problem) => {
                self.report
                    .say(Type::Applied, false, problem.reason, problem.message);
                Candidate::Nothing
            }
        }
    }
}

impl Gates for Deciding<'_> {
    /// What was decided is in the object itself.
    type Answer = ();

    fn paused(&mut self) -> Option<()> {
        self.prepare();
        let Some(sources) = pausing::asked_by(self.snapshot) else {
            self.report.say(Type::Paused, false, Reason::NotPaused, "");
            return None;
        };
        let hidden = identity::hidden(self.snapshot, self.found);
        let workspaces = match self.found {
            // What is not seen as it is cannot be written to.
            _ if hidden.is_some() => Vec::new(),
            Found::Several(first, second) => vec![first, second],
            found => found.ours().into_iter().collect(),
        };
        // What it may do is about to be overwritten, and has to be remembered.
        if let (Found::Legacy(workspace), None) = (self.found, self.kept) {
            let baseline = resolve::baseline(self, workspace, true);
            self.keep(&baseline);
        }
        for workspace in &workspaces {
            let candidate = self.candidate(workspace);
            if !policy::is_nothing(&workspace.spec) || candidate != Candidate::Nothing {
                let body = Body::restating(self, workspace, &Allowed::Nothing).planned(candidate);
                let change = body.change(workspace, self.namespace());
                self.children.extend(change);
            }
        }
        if let Some(workspace) = self.found.ours() {
            self.record_present(workspace);
        }
        self.report.is_as_observed = self.is_taken_back();
        moving::hold_state(self);
        let is_at_rest = pausing::is_at_rest(self.snapshot, self.found);
        let obstacle = moving::obstacle(self);
        moving::block(self, !is_at_rest || obstacle.is_some());
        let mut afterwards = String::new();
        if self.is_deleting() {
            let message = deletion::after_the_pause(self);
            afterwards = format!(". {message}");
            self.report.say(Type::Deleting, true, Reason::Paused, message);
        }
        if let Some(obstacle) = obstacle {
            afterwards = format!("{afterwards}. {obstacle}");
        }
        if is_at_rest {
            let message = format!("Nothing is done, because {sources}{afterwards}");
            self.say(Type::Paused, true, Reason::Paused, message);
        } else {
            let is_ignored = |workspace| self.may_be_foreign && foreign::has_policies_off(workspace);
            let message = if let Some(group) = hidden {
                let unread = identity::let_read(group);
                format!(
                    "Whether an operation runs is not known. {unread}; to be paused, because {sources}{afterwards}"
                )
            } else if let Found::PerhapsLegacy(workspace) = self.found {
                format!(
                    "Whether an operation runs is not known, because nobody said whether the Workspace {} is this object's; to \
                     be paused, because {sources}{afterwards}",
                    workspace.name
                )
            } else if self.found.ours().is_some_and(is_ignored) {
                format!(
                    "{}; to be paused, because {sources}{afterwards}",
                    work::POLICIES_OFF
                )
            } else {
                let is_at_work = |workspace| pausing::is_at_work(self.snapshot, workspace);
                let first = if workspaces.iter().copied().any(is_at_work) {
                    status::RUNS_ON
                } else {
                    // That it takes a moment until the runner says so is no news.
                    self.report.no_news = Some(Type::Paused);
                    "The runner has not said yet that nothing runs"
                };
                format!("{first}; to be paused, because {sources}{afterwards}")
            };
            self.say(Type::Paused, true, Reason::Pausing, message);
        }
        Some(())
    }

    fn deletion(&mut self) -> Option<()> {
        if !self.is_deleting() {
            moving::block(self, true);
            moving::end_consent(self);
            self.report.say(Type::Deleting, false, Reason::NotDeleting, "");
            return None;
        }
        deletion::decide(self);
        Some(())
    }

    fn owner(&mut self) -> Option<()> {
        // What an orphan already has is kept as it is.
        let is_made = self.kept.is_some() || self.found.ours().is_some();
        if is_made || !owner::is_orphan(self.snapshot) {
            return None;
        }
        self.say(
            Type::Waiting,
            true,
            Reason::OwnerGone,
            "The owner is gone, so that nobody says what is wanted and nothing is made",
        );
        Some(())
    }

    fn validity(&mut self) -> Option<()> {
        work::tell_variables(self);
        let problem = work::invalid(self)?;
        work::refuse(self, problem);
        Some(())
    }

    fn work(&mut self) {
        self.report.message = Some(String::new());
        work::decide(self);
    }
}

#[cfg(test)]
mod tests;
