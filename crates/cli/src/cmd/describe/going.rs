//! What a person can do about an object that goes and does not get on, or that is kept.

use capt_api::marks;
use capt_core::graph::{Node, WorkspaceSeen};
use kube::ResourceExt as _;

use crate::look::{
    text,
    view::{View, typed},
};

/// Reasons with which nothing more happens until somebody says what becomes of it. Their messages tell the ways out.
pub(super) const HELD: [&str; 10] = [
    "CRDTerminating",
    "ConsentMissing",
    "NamespaceTerminating",
    "NoDurableState",
    "OwnerGone",
    "RenderingLost",
    "WorkspaceApiMissing",
    "WorkspaceGroupMismatch",
    "WorkspaceNotOurs",
    "WorkspaceRetained",
];

/// How the sentences of a message begin that tell a way out.
const WAY_OUT: [&str; 10] = [
    "To ",
    "First ",
    "If it is, ",
    "Take ",
    "Bring ",
    "Make it again",
    "Write ",
    "Delete ",
    "Destroy ",
    "Mend ",
];

/// The ways out that a message tells, or all that it tells if none is marked as one.
pub(super) fn ways_out(message: &str) -> Vec<String> {
    let message = text::plain(message);
    let sentences: Vec<&str> = message.split(". ").collect();
    let is_way = |sentence: &&str| WAY_OUT.iter().any(|start| sentence.starts_with(start));
    match sentences.iter().position(is_way) {
        Some(first) => sentences[first..]
            .iter()
            .map(|sentence| lowered(sentence))
            .collect(),
        None => vec![message],
    }
}

/// The same, or something else if none is marked as one.
pub(super) fn ways_out_or(message: &str, otherwise: &str) -> Vec<String> {
    let message = text::plain(message);
    let ways = message.split("; to have it written again: ").nth(1);
    let mut advice = vec![otherwise.to_owned()];
    advice.extend(ways.map(|command| format!("or have it written again: {command}")));
    advice
}

/// Whether a change waits for an approval where nobody can plan it, by what is said about it.
pub(super) fn is_unplanned(message: &str) -> bool {
    message.contains("cannot plan")
}

/// What to do about such a change.
pub(super) fn unplanned(message: &str) -> Vec<String> {
    let text = text::plain(message);
    let compare = text
        .split(". ")
        .find_map(|sentence| sentence.split_once("so compare "));
    let compare = compare.map(|(_, what)| format!("compare {what}"));
    let ways = ways_out(message).into_iter();
    compare.into_iter().chain(ways).collect()
}

/// As it is written within a list of things to do.
fn lowered(sentence: &str) -> String {
    let mut characters = sentence.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).collect()
}

/// A network stays as long as control planes are in it that nobody deleted.
pub(super) fn network(view: &View<'_>, node: &Node, namespace: &str) -> Vec<String> {
    let is_named = |name: &str| {
        let mut words = node
            .message
            .split(|character: char| character.is_whitespace() || ",/".contains(character));
        words.any(|word| word == name)
    };
    let planes = view.part.snapshot.control_planes.iter();
    planes
        .filter(|plane| plane.metadata.deletion_timestamp.is_none() && is_named(&plane.name_any()))
        .map(|plane| {
            format!(
                "delete what needs this network, or the Cluster of both: kubectl delete captcontrolplane {} -n {namespace}",
                plane.name_any()
            )
        })
        .collect()
}

/// What is kept on purpose does not go on at all.
pub(super) fn kept(workspace: &WorkspaceSeen) -> Vec<String> {
    vec![format!(
        "leave it: it was kept on purpose; or take it back with a WorkspaceTemplateApply that has the annotation {}={}",
        marks::ADOPT_RETAINED,
        workspace.name
    )]
}

/// What a destruction that failed can be mended by. No template changes what is destroyed with.
pub(super) fn failed(view: &View<'_>, id: &str, namespace: &str) -> Vec<String> {
    let parts = std::iter::once(id).chain(view.graph.made_by(id));
    let workspace = parts
        .into_iter()
        .find(|part| part.contains("Workspace/"))
        .unwrap_or(id);
    let maker = view.makers(workspace).next().unwrap_or(id);
    let mut ways = Vec::new();
    if let Some((_, name)) = workspace.split_once('/') {
        ways.push(format!(
            "mend what it is destroyed with, which the template does not change any more: spec.forProvider of \
             workspace/{name}"
        ));
    }
    if let Some(name) = typed(maker).strip_prefix("wtapply/") {
        ways.push(format!(
            "or keep it: kubectl patch wtapply {name} -n {namespace} --type merge -p \
             '{{\"spec\":{{\"retainWorkspaceOnDelete\":true}}}}'"
        ));
    }
    ways
}
