//! How a WorkspaceTemplateApply ends by its owner's will.
//!
//! Consent is written first and the object is deleted by the next decision, which sees the consent: a delete request
//! is guarded by the version that it saw.

use capt_api::marks;
use serde_json::{Value, json};

use super::{
    glance::{Trouble, TroubleClass},
    seen::OwnedSeen,
    standing::trouble,
    wanted::{self, Owner, Role},
};
use crate::{
    commands,
    crds::CrdObstacle,
    decision::{Desired, Removal, Strip},
};

/// What is to become of the infrastructure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is destroyed.
    Destroyed,
    /// It stays.
    Retained,
}

/// The next step to the end.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The owner's will has to be written on the object.
    Mark(Box<Desired>),
    /// The object has to be deleted.
    Remove(Removal),
    /// The object is going, and has to be waited for.
    Wait {
        /// What it does or waits for.
        message: String,
    },
    /// No destruction is consented to while a CustomResourceDefinition is terminating or unreadable.
    Obstructed {
        /// Why, and what to do.
        message: String,
    },
    /// The object is going, and cannot before a person does something.
    Stuck {
        /// Why, and what to do.
        message: String,
    },
}

/// Decides the next step to the end of a WorkspaceTemplateApply that exists and belongs to this owner. `retry` is what a
/// person asks of its owner: another try. Under an `obstacle` no destruction is consented to.
#[must_use]
pub fn end(
    owner: &Owner<'_>,
    role: &Role,
    seen: &OwnedSeen,
    fate: Fate,
    retry: Option<&str>,
    obstacle: Option<&CrdObstacle>,
) -> End {
    if let Some(obstacle) = obstacle.filter(|_| fate == Fate::Destroyed && !seen.is_retained()) {
        return End::Obstructed {
            message: format!(
                "{}. To let the WorkspaceTemplateApply go and keep its infrastructure: {}",
                obstacle.message(),
                commands::kubectl(
                    "patch wtapply",
                    &seen.wta.metadata,
                    "--type merge -p '{\"spec\":{\"retainWorkspaceOnDelete\":true}}'"
                )
            ),
        };
    }
    let is_marked = match fate {
        // A person who set retainWorkspaceOnDelete is not overruled: the mark consents to destruction, and forces none.
        Fate::Destroyed => seen.annotation(marks::LET_GO) == Some("true") && !is_retained_by_owner(seen),
        Fate::Retained => seen.annotation(marks::LET_GO).is_none() && seen.is_retained(),
    };
    let is_asked = retry.is_none() || seen.annotation(marks::RETRY_REQUESTED) == retry;
    if !is_marked || !is_asked {
        return End::Mark(Box::new(marked(owner, role, seen, fate, retry)));
    }
    if seen.is_deleting() {
        let deleting = seen.condition("Deleting");
        let message = deleting
            .filter(|condition| condition.status == "True")
            .map_or_else(String::new, |condition| condition.message.clone());
        return match stuck(seen) {
            Some(message) => End::Stuck { message },
            None => End::Wait { message },
        };
    }
    End::Remove(Removal {
        target: wanted::target(owner.namespace, seen.name()),
        uid: seen.uid().to_owned(),
        resource_version: seen.wta.metadata.resource_version.clone().unwrap_or_default(),
    })
}

/// Why a WorkspaceTemplateApply that goes cannot go before somebody changes something.
#[must_use]
pub fn cannot_go(seen: &OwnedSeen) -> Option<&str> {
    let deleting = seen
        .condition("Deleting")
        .filter(|deleting| deleting.status == "True" && seen.is_deleting())?;
    let is_final = matches!(
        deleting.reason.as_str(),
        "WorkspaceNotOurs"
            | "WorkspaceMovedAway"
            | "RenderingLost"
            | "WorkspaceApiMissing"
            | "WorkspaceGroupMismatch"
            | "CRDTerminating"
            | "NoDurableState"
            | "NamespaceTerminating"
    );
    is_final.then_some(deleting.message.as_str())
}

/// What went wrong with the destruction of what a WorkspaceTemplateApply that goes has made. What went wrong before is no news
/// about that.
#[must_use]
pub fn destruction_trouble(seen: &OwnedSeen) -> Option<&Trouble> {
    let is_at_it = seen
        .workspace
        .as_ref()
        .is_some_and(|workspace| workspace.deleting)
        && seen
            .condition("Deleting")
            .is_some_and(|deleting| deleting.reason == "Destroying");
    trouble(seen).filter(|_| is_at_it && seen.is_deleting())
}

/// What the destruction of what a WorkspaceTemplateApply that goes has made failed with for good, as who runs Terraform
/// remembers it, also while others have the turn. A person who asked for another try is answered first.
#[must_use]
pub fn gave_up(seen: &OwnedSeen) -> Option<&str> {
    let run = seen.run.as_ref().filter(|run| !run.is_running)?;
    let asked = seen.annotation(marks::RETRY_REQUESTED);
    let is_answered = asked.is_none() || run.retry_answered.as_deref() == asked;
    run.failed_end
        .as_deref()
        .filter(|_| is_answered && seen.is_deleting())
}

/// Why it cannot go, or that its infrastructure could not be destroyed, and what to do.
fn stuck(seen: &OwnedSeen) -> Option<String> {
    if let Some(message) = cannot_go(seen) {
        return Some(message.to_owned());
    }
    // What is kept is not destroyed any more, and what failed with that is over.
    if seen.is_retained() {
        return None;
    }
    let trouble = destruction_trouble(seen).filter(|trouble| trouble.class == TroubleClass::Terminal);
    let message = trouble
        .map(|trouble| trouble.message.as_str())
        .or_else(|| gave_up(seen))?;
    let message = message.trim_end_matches(['.', '\n']);
    Some(format!(
        "Terraform could not destroy it: {message}. Mend that, and ask for another try: {}",
        seen.retry_command()
    ))
}

/// Whether it is the owner itself who said that the infrastructure stays, which it then can take back.
fn is_retained_by_owner(seen: &OwnedSeen) -> bool {
    seen.is_retained() && wanted::is_as_authored(seen)
}

/// The object as it is, with the owner's will written on it.
fn marked(owner: &Owner<'_>, role: &Role, seen: &OwnedSeen, fate: Fate, retry: Option<&str>) -> Desired {
    let mut annotations = wanted::requests(Some(seen));
    if let Some(retry) = retry {
        annotations.insert(marks::RETRY_REQUESTED.to_owned(), retry.to_owned());
    }
    if let Some(hash) = seen.annotation(marks::AUTHORED) {
        annotations.insert(marks::AUTHORED.to_owned(), hash.to_owned());
    }
    let mut spec = serde_json::to_value(&seen.wta.spec).unwrap_or_default();
    let mut strip = Strip::default();
    match fate {
        Fate::Destroyed => {
            annotations.insert(marks::LET_GO.to_owned(), "true".to_owned());
            if is_retained_by_owner(seen)
                && let Value::Object(fields) = &mut spec
            {
                fields.insert("retainWorkspaceOnDelete".to_owned(), json!(false));
            }
        }
        Fate::Retained => {
            if let Value::Object(fields) = &mut spec {
                fields.insert("retainWorkspaceOnDelete".to_owned(), json!(true));
            }
            strip.annotations.push(marks::LET_GO.to_owned());
        }
    }
    Desired {
        target: wanted::target(owner.namespace, seen.name()),
        guard: wanted::guard(Some(seen)),
        fields: json!({
            "metadata": {
                "labels": wanted::labels(owner, role),
                "annotations": annotations,
                "ownerReferences": [owner.reference()],
            },
            "spec": spec,
        }),
        strip,
        rendered_from: None,
        loss: None,
        is_beside: false,
    }
}
