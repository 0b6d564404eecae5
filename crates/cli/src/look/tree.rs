//! A cluster and all that it is made of, as a tree: how it is with each, how far it is, and why it waits.

use capt_core::graph::{Graph, Health, Place, age, branches};
use kube::Client;
use serde::Serialize;

use super::{
    gather::Scope,
    group::{Gathered as Everything, Part},
    once, pause,
    style::{Colour, Style, colour, glyph},
    table::{Cell, header, laid_out, widths},
    view::{View, typed},
    ways,
};
use crate::objects::CallError;

/// Things that are waited for and are told.
const MANY_CAUSES: usize = 5;

/// An object with all that it is made of, as it was at some time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered {
    /// Everything of its namespace.
    pub(crate) part: Part,
    /// The object, as the graph calls it: `Cluster/demo`.
    pub(crate) root: String,
    /// When it was so.
    pub(crate) now: k8s_openapi::jiff::Timestamp,
}

/// Reads a Cluster and all that it is made of. One that is not there is no error: see [`Gathered::is_there`].
pub(crate) async fn gather(client: &Client, namespace: &str, name: &str) -> Result<Gathered, CallError> {
    let scope = Scope::Namespace(namespace.to_owned());
    let everything = super::gather(client, &scope).await?;
    Ok(Gathered::of(everything, namespace, &format!("Cluster/{name}")))
}

impl Gathered {
    /// One object of what was read.
    pub(crate) fn of(mut everything: Everything, namespace: &str, root: &str) -> Self {
        Self {
            part: everything.namespaces.remove(namespace).unwrap_or_default(),
            root: root.to_owned(),
            now: everything.now,
        }
    }

    /// The object exists.
    pub(crate) fn is_there(&self) -> bool {
        View::new(&self.part).object(&self.root).is_some()
    }

    /// The object, all that is made for it, and all that these need.
    pub(crate) fn graph(&self) -> Graph {
        View::new(&self.part).graph.around(&self.root)
    }
}

/// Draws the tree, and says below it what is waited for.
pub(crate) fn render(gathered: &Gathered, style: Style) -> String {
    let view = View::new(&gathered.part);
    let root = &gathered.root;
    if view.object(root).is_none() {
        return format!("There is no {}.\n", typed(root));
    }
    let mut rows = vec![header(["NAME", "STATE", "DONE", "AGE", "WHY"])];
    for branch in branches(&view.graph, root) {
        let Some(node) = view.graph.node(&branch.id) else {
            continue;
        };
        let id = &branch.id;
        let paint = colour(node.health);
        let name = |before: &str| Cell::from(format!("{}{before}{}", branch.lines, typed(id)));
        rows.push(match branch.place {
            Place::Again => vec![name(""), Cell::in_colour("(above)", Colour::Dim)],
            Place::Lacking => vec![name("needs "), Cell::in_colour(&node.status, paint)],
            Place::Made => vec![
                name(&format!("{} ", glyph(node.health))),
                Cell::in_colour(&node.status, paint),
                percent(view.percent(id)).into(),
                node.created_at
                    .map_or_else(String::new, |time| age(time, gathered.now))
                    .into(),
                Cell {
                    text: view.why(id),
                    colour: (node.health == Health::Bad).then_some(Colour::Red),
                },
            ],
        });
    }
    let summary = Some(summary(&view, root)).filter(|summary| !summary.is_empty());
    let summary = summary.unwrap_or_else(|| standing(&view, root));
    laid_out(&rows, &widths(&rows, &[]), style) + "\n" + &summary + &ways_on(&view, root)
}

/// How it is with an object that waits for nothing else.
fn standing(view: &View<'_>, root: &str) -> String {
    let status = view.graph.node(root).map(|node| node.status.as_str());
    let own = typed(root) + " ";
    let sources: Vec<String> = pause::pauses(view, root)
        .iter()
        .map(|pause| pause.source())
        .map(|source| match source.strip_prefix(&own) {
            Some(rest) => format!("it {rest}"),
            None => source,
        })
        .collect();
    let why = match view.why(root) {
        _ if status == Some("Paused") && !sources.is_empty() => {
            format!(", because {}.", sources.join(", and "))
        }
        why if why.is_empty() => ".".to_owned(),
        why => format!(": {why}"),
    };
    format!("{} is {}{why}\n", typed(root), status.unwrap_or("Unknown"))
}

/// How all goes on that is waited for and is paused, or that stands still all the same.
fn ways_on(view: &View<'_>, root: &str) -> String {
    let is_paused = |id: &String| view.graph.node(id).is_some_and(|node| node.status == "Paused");
    let causes = view.causes(root).into_iter().map(|cause| cause.id);
    let paused = causes.filter(is_paused).take(MANY_CAUSES);
    let ways = paused.flat_map(|id| ways::ways_on(view, &id));
    let below = ways::ways_on_below(view, root).into_iter().take(MANY_CAUSES);
    let ways = once::each(ways.chain(below).collect()).into_iter();
    ways.map(|way| format!("To {way}\n")).collect()
}

/// What the object waits for in the end.
pub(crate) fn summary(view: &View<'_>, root: &str) -> String {
    let Some(node) = view.graph.node(root) else {
        return String::new();
    };
    let is_well = node.health == Health::Good;
    let mut text = match is_well {
        true => format!("{} is {}.\n", typed(root), node.status.to_lowercase()),
        false => String::new(),
    };
    for cause in view
        .causes(root)
        .iter()
        .filter(|cause| cause.id != *root)
        .take(MANY_CAUSES)
    {
        let state = view.graph.node(&cause.id).map(|node| node.status.as_str());
        let why = Some(view.why(&cause.id)).filter(|why| !why.is_empty());
        let before = match is_well {
            true => format!("But {}", typed(&cause.id)),
            false => format!("{} waits for {}, which", typed(root), typed(&cause.id)),
        };
        text.push_str(&format!(
            "{before} is {}{}\n",
            state.unwrap_or("Unknown"),
            why.map_or_else(|| ".".to_owned(), |why| format!(": {why}")),
        ));
    }
    text
}

/// A tree as data.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tree {
    object: String,
    kind: String,
    name: String,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<i32>,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    made: Vec<Tree>,
}

/// The tree as data. What was there before is not there again.
pub(crate) fn data(gathered: &Gathered) -> Option<Tree> {
    let view = View::new(&gathered.part);
    let mut seen = std::collections::BTreeSet::new();
    grown(&view, &gathered.root, &mut seen)
}

fn grown(view: &View<'_>, id: &str, seen: &mut std::collections::BTreeSet<String>) -> Option<Tree> {
    let node = view.graph.node(id)?;
    if !seen.insert(id.to_owned()) {
        return None;
    }
    let needs = view
        .graph
        .needs(id)
        .filter(|(_, relation)| *relation == capt_core::graph::Relation::Input);
    let made: Vec<&str> = view.graph.made_by(id).collect();
    Some(Tree {
        object: typed(id),
        kind: node.kind.clone(),
        name: node.name.clone(),
        state: node.status.clone(),
        ready: view.is_ready(id),
        percent: view.percent(id),
        reason: node.reason.clone(),
        message: node.message.clone(),
        needs: needs.map(|(needed, _)| typed(needed)).collect(),
        made: made
            .into_iter()
            .filter_map(|child| grown(view, child, seen))
            .collect(),
    })
}

/// A share as people write it.
pub(crate) fn percent(share: Option<i32>) -> String {
    share.map_or_else(String::new, |share| format!("{share}%"))
}

#[cfg(test)]
mod tests;
