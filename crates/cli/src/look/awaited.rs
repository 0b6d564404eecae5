//! Who has to look at an object before anything happens to it.

use std::fmt;

use capt_core::graph::WorkspaceSeen;

use super::view::{Object, View};

/// Somebody who has not looked at something yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    /// Who.
    pub(crate) who: Who,
    /// At what of an object.
    what: &'static str,
}

/// Who looks at objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// One of capt's controllers.
    Controller,
    /// Who runs Terraform.
    Runner,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match self.who {
            Who::Controller => "controller",
            Who::Runner => "runner",
        };
        write!(f, "no {who} has looked at {} yet", self.what)
    }
}

impl View<'_> {
    /// Who has to look at an object before anything happens, if nobody did.
    pub(crate) fn awaited(&self, id: &str) -> Option<Awaited> {
        let is_new = |is_new: bool| {
            is_new.then_some(Awaited {
                who: Who::Controller,
                what: "it",
            })
        };
        let awaited = match self.object(id)? {
            // One that is paused from the beginning has conditions, and no phase.
            Object::Cluster(one) => is_new(one.status.as_ref().is_none_or(|status| {
                let says = status.conditions.as_ref().is_some_and(|all| !all.is_empty());
                status.phase.is_none() && !says
            })),
            Object::CaptCluster(one) => is_new(one.status.is_none()),
            Object::ControlPlane(one) => is_new(one.status.is_none()),
            Object::Apply(one) => is_new(one.status.is_none()),
            Object::Workspace(one) => self.overlooked(id, one).map(|what| Awaited {
                who: Who::Runner,
                what,
            }),
        };
        awaited.filter(|_| !self.is_left_alone(id))
    }

    /// What no runner has looked at of a Workspace. Another runner than ours tells of nothing that it changes or destroys before
    /// that is done, so that nothing can be said of it once it has begun at all.
    fn overlooked(&self, id: &str, workspace: &WorkspaceSeen) -> Option<&'static str> {
        let is_said = |type_: &str| {
            let mut conditions = workspace.conditions.iter();
            conditions.any(|one| one.type_ == type_ && one.status == "True")
        };
        // A runner that is at it says so beside it first.
        let Some(operation) = self.report(id).and_then(|report| report.operation.as_ref()) else {
            let is_new = workspace.conditions.is_empty() && !workspace.deleting;
            return is_new.then_some("it");
        };
        let is_at_rest = operation.ended_at.is_some() && !workspace.paused_by_hand;
        if !is_at_rest || is_said("ApprovalNeeded") {
            return None;
        }
        if workspace.deleting {
            // Who looked at it says so, or what failed.
            let is_well = is_said("Synced") && is_said("Ready") && !is_said("Failing");
            return (is_well && operation.kind != "destroy").then_some("its deletion");
        }
        let is_changed = workspace.generation > Some(operation.generation);
        (is_changed && is_said("Synced")).then_some("what was changed")
    }
}
