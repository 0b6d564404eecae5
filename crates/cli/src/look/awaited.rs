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

    /// What no runner has looked at of a Workspace.
    fn overlooked(&self, id: &str, workspace: &WorkspaceSeen) -> Option<&'static str> {
        let condition = |type_: &str| workspace.conditions.iter().find(|one| one.type_ == type_);
        let operation = self.report(id).and_then(|report| report.operation.as_ref());
        let is_begun = operation.is_some_and(|operation| operation.ended_at.is_none());
        if workspace.paused_by_hand || is_begun {
            return None;
        }
        if workspace.deleting {
            // What goes before anybody looked at it is not waited for, and who looked at it says so, or what failed.
            let is_said = |type_: &str| condition(type_).is_some_and(|one| one.status == "True");
            let is_well = is_said("Synced") && is_said("Ready") && !is_said("Failing");
            let is_begun = operation.is_some_and(|operation| operation.kind == "destroy");
            return (is_well && !is_begun).then_some("its deletion");
        }
        // A runner that is at it says so beside it first.
        if workspace.conditions.is_empty() {
            return operation.is_none().then_some("it");
        }
        let observed = condition("Synced").and_then(|synced| synced.observed_generation);
        let is_changed = observed.is_some() && workspace.generation > observed;
        is_changed.then_some("what was changed")
    }
}
