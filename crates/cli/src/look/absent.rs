//! What is named and is not there.

use capt_core::graph::{Graph, Health, Node, Relation};

use super::group::Part;

/// What is not there, but is only yet to come, was taken away or may not be looked at, is not missing.
pub(super) fn not_missing(part: &Part, graph: &Graph, id: &str, node: &Node) -> Option<Node> {
    let place = id.strip_prefix("WorkspaceTemplate/");
    let is_hidden = match node.kind.as_str() {
        "Secret" => part.secrets_unseen,
        "Workspace" => part.workspaces_unseen,
        _ => place.is_some_and(|place| part.templates_unseen.contains(place)),
    };
    if is_hidden {
        return Some(Node {
            status: "Unknown".to_owned(),
            health: Health::Unknown,
            message: "You may not look at it".to_owned(),
            ..node.clone()
        });
    }
    let is = |id: &str, is: fn(&Node) -> bool| graph.node(id).is_some_and(is);
    let owners = || {
        let owners = graph.needed_by(id);
        owners.filter(|(_, relation)| *relation == Relation::Part)
    };
    if owners().any(|(owner, _)| is(owner, |owner| owner.status == "Deleting")) {
        return Some(Node {
            status: "Gone".to_owned(),
            health: Health::Good,
            ..node.clone()
        });
    }
    // A Secret is written by what it needs, and a part is made by what needs it.
    let writers = graph
        .needs(id)
        .filter(|(_, relation)| *relation == Relation::Product);
    let is_made = matches!(node.kind.as_str(), "WorkspaceTemplateApply" | "Workspace");
    let makers = owners().filter(|_| is_made);
    let is_awaited = writers
        .chain(makers)
        .any(|(maker, _)| is(maker, |maker| maker.health != Health::Good));
    is_awaited.then(|| Node {
        status: "Pending".to_owned(),
        health: Health::Busy,
        message: "to be made".to_owned(),
        ..node.clone()
    })
}
