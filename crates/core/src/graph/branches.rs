//! An object and all that is made for it as a tree, whatever is drawn of it.

use std::collections::BTreeSet;

use super::{Graph, Health, Relation};

/// One line of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The lines that lead to it.
    pub lines: String,
    /// Which object.
    pub id: String,
    /// Why it is here.
    pub place: Place,
}

/// Why an object is in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is the root, or made for what it hangs from.
    Made,
    /// The same, but it was drawn before with all that hangs from it.
    Again,
    /// What it hangs from uses it, and it is not well.
    Lacking,
}

/// An object, all that is made for it, and what these use and is not well, in the order in which they are drawn.
#[must_use]
pub fn branches(graph: &Graph, root: &str) -> Vec<Branch> {
    let mut growing = Growing {
        graph,
        drawn: BTreeSet::new(),
        branches: Vec::new(),
    };
    growing.grow(root, "", "");
    growing.branches
}

struct Growing<'a> {
    graph: &'a Graph,
    drawn: BTreeSet<String>,
    branches: Vec<Branch>,
}

impl Growing<'_> {
    fn grow(&mut self, id: &str, lines: &str, indent: &str) {
        if self.graph.node(id).is_none() {
            return;
        }
        let is_new = self.drawn.insert(id.to_owned());
        self.push(id, lines, if is_new { Place::Made } else { Place::Again });
        if !is_new {
            return;
        }
        let made = self.graph.made_by(id).map(|child| (child, Place::Made));
        let lacking = self.graph.needs(id).filter(|(needed, relation)| {
            let node = self.graph.node(needed);
            *relation == Relation::Input && node.is_some_and(|node| node.health != Health::Good)
        });
        let below: Vec<(&str, Place)> = made
            .chain(lacking.map(|(needed, _)| (needed, Place::Lacking)))
            .collect();
        let count = below.len();
        for (at, (child, place)) in below.into_iter().enumerate() {
            let (fork, further) = if at + 1 == count {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            let (lines, indent) = (format!("{indent}{fork}"), format!("{indent}{further}"));
            if place == Place::Lacking {
                self.push(child, &lines, place);
            } else {
                self.grow(child, &lines, &indent);
            }
        }
    }

    fn push(&mut self, id: &str, lines: &str, place: Place) {
        self.branches.push(Branch {
            lines: lines.to_owned(),
            id: id.to_owned(),
            place,
        });
    }
}
