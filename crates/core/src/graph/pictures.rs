//! Pictures of a graph in the languages that programs draw: DOT for Graphviz, and Mermaid.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{Graph, Health, Relation};

/// A graph in DOT. An arrow leads from who needs to what is needed; a dashed one to what is only used.
#[must_use]
pub fn dot(graph: &Graph) -> String {
    let mut text = String::from("digraph capt {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    for (id, node) in graph.nodes() {
        let colour = match node.health {
            Health::Good => "darkgreen",
            Health::Busy => "goldenrod",
            Health::Bad => "red",
            Health::Unknown => "gray",
        };
        let label = format!("{}\\n{}", in_dot(id), in_dot(&node.status));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  \"{}\" [label=\"{label}\", color={colour}];", in_dot(id));
    }
    for (id, _) in graph.nodes() {
        for (needed, relation) in graph.needs(id) {
            let style = match relation {
                Relation::Part => "",
                Relation::Input => " [style=dashed]",
                Relation::Product => " [style=dotted]",
            };
            let _ = writeln!(text, "  \"{}\" -> \"{}\"{style};", in_dot(id), in_dot(needed));
        }
    }
    text + "}\n"
}

/// A graph in Mermaid, with arrows as in [`dot`].
#[must_use]
pub fn mermaid(graph: &Graph) -> String {
    let mut text = String::from("flowchart LR\n");
    let short: BTreeMap<&str, String> = graph
        .nodes()
        .enumerate()
        .map(|(at, (id, _))| (id, format!("n{at}")))
        .collect();
    let name = |id: &str| short.get(id).map(String::as_str).unwrap_or_default();
    for (id, node) in graph.nodes() {
        let class = match node.health {
            Health::Good => "good",
            Health::Busy => "busy",
            Health::Bad => "bad",
            Health::Unknown => "unknown",
        };
        let label = format!("{}<br/>{}", in_mermaid(id), in_mermaid(&node.status));
        let _ = writeln!(text, "  {}[\"{label}\"]:::{class}", name(id));
    }
    for (id, _) in graph.nodes() {
        for (needed, relation) in graph.needs(id) {
            let arrow = match relation {
                Relation::Part => "-->",
                Relation::Input | Relation::Product => "-.->",
            };
            let _ = writeln!(text, "  {} {arrow} {}", name(id), name(needed));
        }
    }
    text + "  classDef good stroke:#2e7d32\n  classDef busy stroke:#f9a825\n  classDef bad stroke:#c62828\n  classDef \
            unknown stroke:#9e9e9e\n"
}

/// What stands between quotes in DOT.
fn in_dot(text: &str) -> String {
    plain(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// What stands between quotes in Mermaid, which has codes of its own for what it would read otherwise.
fn in_mermaid(text: &str) -> String {
    let mut written = String::new();
    for character in plain(text).chars() {
        match character {
            '"' | '#' | '<' | '>' | '&' | '`' => {
                let _ = write!(written, "#{};", u32::from(character));
            }
            _ => written.push(character),
        }
    }
    written
}

fn plain(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}
