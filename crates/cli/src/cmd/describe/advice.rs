//! What a person can do about an object that waits or failed.

use capt_api::marks;
use capt_core::graph::{Cause, Health, Node};
use kube::ResourceExt as _;

use super::{going, once, pausing, profiles};
use crate::look::{
    awaited::Who,
    once::each,
    text,
    view::{Object, View, typed},
};

/// What to do about each sort of failure of a Workspace, by the reason of its condition Failing.
const FAILURES: [(&[&str], &str); 8] = [
    (
        &["EngineMissing", "EngineTooOld"],
        "install Terraform or OpenTofu where the runner runs, and start the runner anew",
    ),
    (&["InputMissing"], "make what the message names; it is noticed"),
    (
        &["InputInvalid", "BackendInModule"],
        "mend what the message names; it is noticed",
    ),
    (
        &["StateLocked"],
        "wait: it is tried again; if who holds the lock is gone, free it by the annotation unlock",
    ),
    (
        &["Denied", "Quota"],
        "see to the credentials, rights or limits that its message names",
    ),
    (
        &[
            "Throttled",
            "Network",
            "Timeout",
            "Settling",
            "StalePlan",
            "Interrupted",
            "PluginCache",
        ],
        "wait: it is tried again by itself",
    ),
    (
        &["PoliciesUnsupported", "NothingToObserve"],
        "change its managementPolicies; it is noticed",
    ),
    (
        &["NamespaceTerminating"],
        "read what its message says: nothing is done in a namespace that goes, and it is noticed",
    ),
];

/// Reasons that another try meets again, until somebody writes something else.
const IN_THE_SPEC: [&str; 12] = [
    "DependencyCycle",
    "InvalidSpec",
    "InvalidVPCConfig",
    "InternalError",
    "NameTooLong",
    "OwnedByAnotherCluster",
    "RegionMismatch",
    "TemplateInvalid",
    "VariableInvalid",
    "VariableMissing",
    "OtherNamespace",
    "WaitNotShared",
];

/// What a person can do about an object and what it waits for.
pub(super) fn about(view: &View<'_>, id: &str, causes: &[Cause], namespace: &str) -> Vec<String> {
    let Some(root) = view.graph.node(id) else {
        return Vec::new();
    };
    if let Some(Object::Workspace(workspace)) = view.object(id).filter(|_| root.status == "Retained") {
        return going::kept(workspace);
    }
    let is_well = matches!(root.health, Health::Good | Health::Unknown);
    let mut advice = import_first(view, id);
    if let Some(Object::ControlPlane(control_plane)) = view.object(id) {
        advice.extend(profiles::advice(view, control_plane, namespace));
    }
    if is_well && causes.is_empty() {
        advice.extend(pausing::of_parts(view, id));
        return each(advice);
    }
    let mut told: Vec<&str> = Vec::new();
    for id in std::iter::once(id).chain(causes.iter().map(|cause| cause.id.as_str())) {
        let Some(node) = view.graph.node(id) else {
            continue;
        };
        let lines = one(view, id, node, namespace);
        advice.extend(once::news(view, id, lines, &told, &advice, namespace));
        told.push(id);
    }
    advice.extend(pausing::of_parts(view, id));
    // What was made and is to change is well, and who should change it is waited for all the same.
    let parts = view.graph.whole(id);
    advice.extend(parts.iter().filter_map(|part| awaited(view, part)));
    let mut advice = each(advice);
    if advice.is_empty() {
        advice.push("wait: it goes on by itself".to_owned());
    }
    advice
}

/// Who has to be there for an object, if nobody looked at it.
fn awaited(view: &View<'_>, id: &str) -> Option<String> {
    let words = match view.awaited(id)?.who {
        Who::Runner => "wait, or see to it that a runner runs: capt up, capt runner or provider-terraform",
        Who::Controller => "wait, or see to it that capt's controllers run",
    };
    Some(words.to_owned())
}

/// What may exist and is not in the state, as each Workspace of an object says it. Another try makes it a second time.
pub(super) fn torn(view: &View<'_>, id: &str) -> Vec<(String, String)> {
    let says = |part: String| {
        let message = view.lacks(&part, "ResourcesMissing")?.to_owned();
        Some((part, message))
    };
    view.graph.whole(id).into_iter().filter_map(says).collect()
}

fn import_first(view: &View<'_>, id: &str) -> Vec<String> {
    let words = |(part, _): (String, String)| {
        format!(
            "import or delete what {} says is missing in the state, before another try makes it a second time",
            typed(&part)
        )
    };
    torn(view, id).into_iter().map(words).collect()
}

/// Whether it leaves the turn to others because it failed when it had it.
fn has_failed(view: &View<'_>, id: &str) -> bool {
    match view.object(id) {
        Some(Object::Apply(apply)) => apply.annotations().contains_key(marks::FAILED),
        _ => false,
    }
}

/// What a person types to mean an object, wherever they are. What is in no namespace is named without one.
pub(super) fn placed(id: &str, namespace: &str) -> String {
    let object = typed(id);
    match namespace.is_empty() || id.starts_with("ClusterWorkspace/") {
        true => object,
        false => format!("{object} -n {namespace}"),
    }
}

fn one(view: &View<'_>, id: &str, node: &Node, namespace: &str) -> Vec<String> {
    let object = placed(id, namespace);
    let name = &node.name;
    match (node.kind.as_str(), node.status.as_str(), node.reason.as_str()) {
        _ if view.is_left_alone(id) => {
            vec!["see to it where it is managed: whoever does that writes its status".to_owned()]
        }
        _ if view.awaited(id).is_some() => awaited(view, id).into_iter().collect(),
        ("WorkspaceTemplateApply", _, "WaitingForTurn") if has_failed(view, id) => vec![format!(
            "mend what it failed with, and try again: capt retry {object}"
        )],
        (_, "Paused", _) => pausing::ways_on(view, id),
        (_, "ApprovalNeeded", _) if going::is_unplanned(&node.message) => going::unplanned(&node.message),
        (_, "ApprovalNeeded", _) => vec![
            format!("look at what it would change: capt plan {object}"),
            format!("approve exactly that: capt approve {object} --plan ID"),
        ],
        ("Secret", "Foreign", _) => vec![format!(
            "delete or rename the Secret {name}, or write another spec.connectionSecretName"
        )],
        ("Secret", "Missing", _) => vec![format!("make the Secret {name}, or see to what should write it")],
        (kind, "Missing", _) => vec![format!(
            "make the {kind} {name}, or name another one that there is"
        )],
        ("CAPTCluster", _, "ClusterNotFound") if node.message.contains("does not exist") => {
            going::ways_out(&node.message)
        }
        ("CAPTCluster", _, "ClusterNotFound") => {
            vec![format!("name {name} in spec.infrastructureRef of a Cluster")]
        }
        ("CAPTControlPlane", _, "WaitingForCluster") => {
            vec![format!("name {name} in spec.controlPlaneRef of a Cluster")]
        }
        (_, _, "TemplateNotShared") => {
            vec![format!(
                "have {namespace} added to spec.sharedWith of the WorkspaceTemplate"
            )]
        }
        (_, _, "WorkspaceTemplateNotFound") => {
            vec!["make the WorkspaceTemplate that it names, or name another one".to_owned()]
        }
        ("CAPTCluster" | "CAPTControlPlane", "Deleting", "DeletionFailed" | "VPCDeletionFailed") => vec![
            "mend what the message names".to_owned(),
            format!("try again: capt retry {object}"),
        ],
        ("Cluster" | "CAPTControlPlane", _, "EndpointNotReady" | "ProbeFailed")
            if node.message.contains("does not answer") =>
        {
            vec![
                "see to it that the API server answers from here, at the address that the message names"
                    .to_owned(),
                "or, if it need not: set spec.endpointCheck of the CAPTControlPlane to Optional".to_owned(),
            ]
        }
        (_, _, "SecretError" | "WaitingForSecret") => going::ways_out_or(
            &node.message,
            "see to the Secret that the message names; it is noticed",
        ),
        (_, _, reason) if going::HELD.contains(&reason) => going::ways_out(&node.message),
        (_, "Deleting", "WaitingForDependents") => {
            let who = node.message.split_once(": ").map_or("", |(_, who)| who);
            vec![format!(
                "delete first what waits for it, unless it goes already: {who}"
            )]
        }
        ("CAPTCluster", "Deleting", "WaitingForControlPlane") => going::network(view, node, namespace),
        ("WorkspaceTemplateApply", "StateDeleted", _) => {
            vec![
                "save the state and let the Secret go, as the message says; nothing of it goes on by itself"
                    .to_owned(),
            ]
        }
        (_, _, "VersionTooLow" | "VersionAhead") => {
            vec!["write another spec.version, as the message says".to_owned()]
        }
        // Another try reads the same outputs again.
        ("CAPTCluster", _, "OutputInvalid") => vec!["mend what the message names; it is noticed".to_owned()],
        (_, _, reason) if IN_THE_SPEC.contains(&reason) => {
            vec!["mend what the message names; it is noticed".to_owned()]
        }
        // What waits for an approval has been named with the object that asks for it, and what is paused with what ends that.
        (_, _, "WaitingForApproval") | ("CAPTControlPlane", "Degraded", "Paused") => Vec::new(),
        ("CAPTCluster" | "CAPTControlPlane", "Failed" | "Degraded", _) => vec![
            "mend what the message names".to_owned(),
            format!("try again: capt retry {object}"),
        ],
        (_, _, "ReconcilePaused") => Vec::new(),
        ("WorkspaceTemplateApply" | "Workspace", "NotSynced", _) => failed(view, id, &object, namespace),
        ("WorkspaceTemplateApply" | "Workspace", "Deleting", _) if failing(view, id).is_some() => {
            failed(view, id, &object, namespace)
        }
        _ => Vec::new(),
    }
}

/// In which way an object, or the Workspace that it made, fails. What made one says only that it failed.
fn failing<'a>(view: &View<'a>, id: &str) -> Option<&'a str> {
    let parts: Vec<&str> = std::iter::once(id).chain(view.graph.made_by(id)).collect();
    parts.into_iter().find_map(|part| match view.object(part) {
        Some(Object::Workspace(workspace)) => workspace
            .conditions
            .iter()
            .find(|condition| condition.type_ == "Failing" && condition.status == "True")
            .map(|condition| condition.reason.as_str()),
        _ => None,
    })
}

/// What to do about a state that is gone, out of what the runner says. Nothing was run.
fn state_lost(message: &str) -> Vec<String> {
    let message = text::plain(message);
    let mut advice =
        vec!["put the state back where the message says that it is missing; it is noticed".to_owned()];
    let commands = message.split(". ").filter_map(|sentence| {
        let (what, command) = sentence.split_once(": kubectl ")?;
        let what = what.trim_start_matches("If ").trim_start_matches("To ");
        let command = command.split_once("; ").map_or(command, |(command, _)| command);
        Some(match sentence.starts_with("If ") {
            true => format!("or, if {what}: kubectl {command}"),
            false => format!("or, to {what}: kubectl {command}"),
        })
    });
    advice.extend(commands);
    advice
}

fn failed(view: &View<'_>, id: &str, object: &str, namespace: &str) -> Vec<String> {
    let failing = failing(view, id);
    let is_going = view.graph.node(id).is_some_and(|node| node.status == "Deleting");
    let known = failing.and_then(|reason| FAILURES.iter().find(|(reasons, _)| reasons.contains(&reason)));
    let mut advice = vec![format!("see what Terraform said: capt logs {object}")];
    let first = import_first(view, id);
    if !first.is_empty() {
        advice.extend(first);
        advice.push(format!("try again only then: capt retry {object}"));
        return advice;
    }
    let lost = std::iter::once(id).chain(view.graph.made_by(id));
    if let Some(lost) = lost.into_iter().find_map(|part| view.lacks(part, "StateMissing")) {
        return state_lost(lost);
    }
    match known {
        Some((_, way)) => advice.push((*way).to_owned()),
        None => advice.push("mend what the message names".to_owned()),
    }
    if is_going && known.is_none_or(|(_, way)| !way.starts_with("wait")) {
        advice.extend(going::failed(view, id, namespace));
    }
    // Whatever is tried again by itself needs nobody to ask for it.
    if known.is_none_or(|(_, way)| !way.starts_with("wait") && !way.ends_with("noticed")) {
        advice.push(format!("try again: capt retry {object}"));
    }
    advice
}
