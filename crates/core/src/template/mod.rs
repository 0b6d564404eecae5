//! Decisions about a WorkspaceTemplate: it is held for as long as somebody uses it, and says whether it can be rendered.
//!
//! This module must never know who the users are; their number and names are facts that it is given.

use capt_api::{
    WorkspaceTemplate,
    conditions::{
        condition, set_condition,
        workspacetemplate::{WorkspaceTemplateCondition as Type, WorkspaceTemplateReason as Reason},
    },
    foreign, marks,
    workspacetemplate::WorkspaceTemplateObjectStatus,
};
use k8s_openapi::jiff::Timestamp;

use crate::{
    decision::{Decision, Event, EventKind},
    gates::{self, Gates},
    render,
};

/// How many users a message names.
const NAMED_USERS: usize = 5;

/// What is known when it is decided about a WorkspaceTemplate.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The object itself.
    pub template: WorkspaceTemplate,
    /// WorkspaceTemplateApplies that refer to it, as `namespace/name`, also while they are going away. Those of namespaces
    /// that it does not consent to do not use it: they neither hold it nor are told of.
    pub users: Vec<String>,
}

/// Decides what has to be done for a WorkspaceTemplate.
#[must_use]
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Decision<WorkspaceTemplateObjectStatus> {
    let mut deciding = Deciding {
        snapshot,
        users: users(snapshot),
        now,
        decision: Decision::default(),
    };
    gates::pass(&mut deciding);
    deciding.decision
}

/// Who may use the template and refers to it. Whoever did so under a consent that is gone keeps its last rendering and needs
/// the template no more.
fn users(snapshot: &Snapshot) -> Vec<String> {
    let own = snapshot.template.metadata.namespace.as_deref();
    let shared = snapshot.template.spec.shared_with.as_deref().unwrap_or_default();
    let may_use = |user: &&String| {
        let namespace = user.split_once('/').map(|(namespace, _)| namespace);
        namespace == own
            || shared
                .iter()
                .any(|name| name == "*" || Some(name.as_str()) == namespace)
    };
    snapshot.users.iter().filter(may_use).cloned().collect()
}

struct Deciding<'a> {
    snapshot: &'a Snapshot,
    users: Vec<String>,
    now: Timestamp,
    decision: Decision<WorkspaceTemplateObjectStatus>,
}

impl Gates for Deciding<'_> {
    type Answer = ();

    fn paused(&mut self) -> Option<()> {
        let annotations = self.snapshot.template.metadata.annotations.as_ref();
        annotations
            .is_some_and(|annotations| annotations.contains_key(foreign::marks::PAUSED))
            .then_some(())
    }

    fn deletion(&mut self) -> Option<()> {
        self.snapshot.template.metadata.deletion_timestamp.as_ref()?;
        if self.users.is_empty() {
            self.release();
        } else {
            let users = self.named_users();
            let message = format!("It goes when its last user is gone: {users}");
            self.report(true, Reason::WaitingForUsers, message);
        }
        Some(())
    }

    fn owner(&mut self) -> Option<()> {
        None
    }

    fn validity(&mut self) -> Option<()> {
        None
    }

    fn work(&mut self) {
        if self.users.is_empty() {
            self.release();
            self.report(false, Reason::Unused, "Nobody uses it".to_owned());
        } else {
            let finalizer = marks::WORKSPACETEMPLATE_FINALIZER;
            if self.has_finalizer(finalizer) {
                self.remove_finalizer(marks::LEGACY_WORKSPACETEMPLATE_FINALIZER);
            } else {
                self.decision.own.add_finalizers.push(finalizer.to_owned());
            }
            let message = format!("Used by {}", self.named_users());
            self.report(true, Reason::Used, message);
        }
    }
}

impl Deciding<'_> {
    fn has_finalizer(&self, name: &str) -> bool {
        let finalizers = self.snapshot.template.metadata.finalizers.as_deref();
        finalizers
            .unwrap_or_default()
            .iter()
            .any(|finalizer| finalizer == name)
    }

    fn remove_finalizer(&mut self, name: &str) {
        if self.has_finalizer(name) {
            self.decision.own.remove_finalizers.push(name.to_owned());
        }
    }

    fn release(&mut self) {
        self.remove_finalizer(marks::WORKSPACETEMPLATE_FINALIZER);
        self.remove_finalizer(marks::LEGACY_WORKSPACETEMPLATE_FINALIZER);
    }

    fn named_users(&self) -> String {
        let mut users = self.users.clone();
        users.sort();
        let more = users.len().saturating_sub(NAMED_USERS);
        users.truncate(NAMED_USERS);
        let users = users.join(", ");
        match more {
            0 => users,
            more => format!("{users} and {more} more"),
        }
    }

    fn report(&mut self, is_used: bool, reason: Reason, message: String) {
        let template = &self.snapshot.template;
        let generation = template.metadata.generation;
        let old = template.status.clone().unwrap_or_default();
        let mut new = old.clone();
        let mut conditions = old.conditions.clone().unwrap_or_default();
        let (is_valid, validity, problem) = validity(template);
        for (type_, holds, reason, message) in [
            (Type::Ready, is_valid, validity, problem),
            (Type::InUse, is_used, reason, message),
        ] {
            let before =
                capt_api::conditions::find_condition(&conditions, capt_api::conditions::Word::as_str(type_));
            let word = capt_api::conditions::Word::as_str(reason);
            let is_news = before.is_none_or(|before| before.reason != word);
            if is_news
                && matches!(
                    reason,
                    Reason::InvalidHole | Reason::InvalidModule | Reason::WaitingForUsers
                )
            {
                self.decision.events.push(Event {
                    kind: if type_ == Type::Ready {
                        EventKind::Warning
                    } else {
                        EventKind::Normal
                    },
                    reason: word.to_owned(),
                    message: message.clone(),
                });
            }
            set_condition(
                &mut conditions,
                condition(type_, holds, reason, message, generation, self.now),
            );
        }
        new.conditions = Some(conditions);
        new.users = i64::try_from(self.users.len()).ok();
        new.revision = Some(render::revision(&template.spec));
        new.observed_generation = generation;
        if new != old {
            self.decision.own.status = Some(new);
        }
    }
}

/// Whether a template can be rendered by whoever fills its holes.
fn validity(template: &WorkspaceTemplate) -> (bool, Reason, String) {
    match render::holes(&template.spec) {
        Ok(_) => (true, Reason::Valid, "It can be rendered".to_owned()),
        Err(problems) => {
            let is_module = problems
                .iter()
                .any(|problem| matches!(problem, render::RenderProblem::Module { .. }));
            let reason = if is_module {
                Reason::InvalidModule
            } else {
                Reason::InvalidHole
            };
            let message: Vec<String> = problems.iter().map(ToString::to_string).collect();
            (false, reason, message.join("; "))
        }
    }
}

#[cfg(test)]
mod tests;
