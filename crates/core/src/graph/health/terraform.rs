//! What Terraform is run for, and by which template.

use capt_api::{
    WorkspaceTemplate, WorkspaceTemplateApply, conditions::find_condition,
    foreign::workspace::WorkspaceCondition,
};

use super::{Health, Node, Said, going_or_paused, has_failed, is_false, is_true, named, node, turned};
use crate::graph::build::WorkspaceSeen;

pub(in crate::graph) fn apply(wta: &WorkspaceTemplateApply) -> Node {
    let status = wta.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let at = |type_: &str| find_condition(conditions, type_);
    // What was written last is not real yet. Whoever never says of which generation he speaks does not tell that either.
    let speaks = |type_: &str| at(type_).is_some_and(|said| said.observed_generation.is_some());
    let is_real = status.is_real(status.last_applied_revision.as_ref());
    let is_behind = !is_real && (speaks("Synced") || speaks("Ready"));
    // What failed before is the past while it is tried again.
    let is_tried = status.progress.as_ref().is_some_and(|now| now.attempt.is_some());
    let said = going_or_paused(&wta.metadata, conditions).unwrap_or_else(|| {
        let (word, health, why) = if is_true(at("ApprovalNeeded")) {
            ("ApprovalNeeded", Health::Busy, at("ApprovalNeeded"))
        } else if is_true(at("Waiting")) {
            // A circle does not open by itself.
            let is_circle = at("Waiting").is_some_and(|waiting| waiting.reason == "DependencyCycle");
            let health = if is_circle { Health::Bad } else { Health::Busy };
            ("Waiting", health, at("Waiting"))
        } else if !status.applied {
            ("NotApplied", Health::Busy, at("Applied"))
        } else if is_false(at("Synced")) && !is_tried {
            ("NotSynced", Health::Bad, at("Synced"))
        } else if is_false(at("StateKept")) {
            ("StateDeleted", Health::Bad, at("StateKept"))
        } else if is_true(at("Ready")) && is_true(at("Synced")) && !is_behind {
            ("Ready", Health::Good, at("Ready"))
        } else {
            (
                "Working",
                Health::Busy,
                at("Ready").filter(|_| !is_behind && !is_tried),
            )
        };
        Said {
            word,
            health,
            why,
            since: turned(why),
        }
    });
    node("WorkspaceTemplateApply", &wta.metadata, &said)
}

pub(in crate::graph) fn template(template: &WorkspaceTemplate) -> Node {
    let status = template.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let going = going_or_paused(&template.metadata, conditions).map(|said| Said {
        // What a template waits for that goes is said by who uses it.
        why: said.why.or_else(|| find_condition(conditions, "InUse")),
        ..said
    });
    let said = going.unwrap_or_else(|| {
        let ready = find_condition(conditions, "Ready");
        let (word, health) = if is_false(ready) {
            ("NotReady", Health::Bad)
        } else {
            ("Ready", Health::Good)
        };
        Said {
            word,
            health,
            why: ready,
            since: turned(ready),
        }
    });
    node("WorkspaceTemplate", &template.metadata, &said)
}

pub(in crate::graph) fn workspace(workspace: &WorkspaceSeen) -> Node {
    let at = |type_: &str| {
        let mut conditions = workspace.conditions.iter();
        conditions.find(|condition| condition.type_ == type_)
    };
    let is = |type_: &str, status: &str| at(type_).is_some_and(|condition| condition.status == status);
    // Its spec is another one than what it says it is in sync with.
    let observed = at("Synced").and_then(|synced| synced.observed_generation);
    let is_behind = observed.is_some_and(|observed| workspace.generation.is_some_and(|now| observed < now));
    let failed = at("Synced").filter(|synced| has_failed(&synced.status, &synced.reason));
    let (word, health, why) = if workspace.deleting && failed.is_some() {
        ("Deleting", Health::Bad, failed)
    } else if workspace.deleting {
        ("Deleting", Health::Busy, at("Ready"))
    } else if workspace.retained {
        ("Retained", Health::Good, at("Synced"))
    } else if at("Synced").is_some_and(|synced| synced.reason == "ReconcilePaused") {
        ("Paused", Health::Busy, at("Synced"))
    } else if is("ApprovalNeeded", "True") {
        ("ApprovalNeeded", Health::Busy, at("ApprovalNeeded"))
    } else if is("Synced", "False") && !workspace.is_tried {
        ("NotSynced", Health::Bad, at("Synced"))
    } else if is("Ready", "True") && is("Synced", "True") && !is_behind {
        ("Ready", Health::Good, at("Ready"))
    } else {
        let why = at("Ready").filter(|_| !is_behind && !workspace.is_tried);
        ("Working", Health::Busy, why)
    };
    let kept = "It was kept on purpose when what it was made for went";
    Node {
        reason: why.map_or_else(String::new, |why| why.reason.clone()),
        message: why
            .and_then(|why: &WorkspaceCondition| why.message.clone())
            .filter(|_| word != "Retained")
            .unwrap_or_else(|| {
                if word == "Retained" {
                    kept.to_owned()
                } else {
                    String::new()
                }
            }),
        since: why.map(|why| why.last_transition_time.0),
        created_at: workspace.created_at,
        ..named("Workspace", &workspace.name, word, health)
    }
}
