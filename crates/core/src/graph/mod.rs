//! What depends on what: clusters, their networks and control planes, and all that these are made of.
//!
//! There is one direction: an object needs another. In which way decides what follows from it: a part is made by the
//! one that needs it and goes before it, an input is used and goes after its users, a product goes before its maker.
//!
//! This module must never know how the objects were gathered, nor on what a picture of them is drawn.

mod branches;
mod build;
mod cycle;
mod going;
mod health;
mod impact;
mod pictures;
mod tree;
mod waiting;

pub use branches::{Branch, Place, branches};
pub use build::{SecretSeen, Snapshot, WorkspaceSeen, build, workspace_id};
pub use cycle::Cycle;
pub use health::Health;
pub use impact::{Touch, Touched};
pub use pictures::{dot, mermaid};
pub use tree::{age, tree};
pub use waiting::Cause;

use std::collections::{BTreeMap, BTreeSet};

use capt_api::captcontrolplane::{DependencyGraph, ResourceNode};
use k8s_openapi::jiff::Timestamp;

/// An object in the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// One word for how it is.
    pub status: String,
    /// Whether that is good.
    pub health: Health,
    /// One word why.
    pub reason: String,
    /// More words why.
    pub message: String,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// Since when it is as it is.
    pub since: Option<Timestamp>,
}

/// In which way an object needs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// It makes the other, is no readier than that, and goes after it.
    Part,
    /// It uses the other, and goes before it.
    Input,
    /// It is made by the other, and goes before it.
    Product,
}

/// Objects, by an id, and who needs whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    nodes: BTreeMap<String, Node>,
    needs: BTreeMap<String, BTreeMap<String, Relation>>,
    /// The same the other way round.
    needed_by: BTreeMap<String, BTreeMap<String, Relation>>,
}

impl Graph {
    /// Adds an object, in place of one with the same id.
    pub fn add(&mut self, id: impl Into<String>, node: Node) {
        self.nodes.insert(id.into(), node);
    }

    /// Says that one object needs another. Both must be in the graph, or nothing is said.
    pub fn relate(&mut self, who: &str, relation: Relation, whom: &str) {
        if self.nodes.contains_key(who) && self.nodes.contains_key(whom) {
            let needs = self.needs.entry(who.to_owned()).or_default();
            let relation = *needs.entry(whom.to_owned()).or_insert(relation);
            let users = self.needed_by.entry(whom.to_owned()).or_default();
            users.insert(who.to_owned(), relation);
        }
    }

    /// An object.
    #[must_use]
    pub fn node(&self, id: &str) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// All objects by id.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(id, node)| (id.as_str(), node))
    }

    /// What an object needs, and in which way.
    pub fn needs<'a>(&'a self, id: &str) -> impl Iterator<Item = (&'a str, Relation)> + use<'a> {
        let needs = self.needs.get(id).into_iter().flatten();
        needs.map(|(whom, relation)| (whom.as_str(), *relation))
    }

    /// Who needs an object, and in which way.
    pub fn needed_by<'a>(&'a self, id: &str) -> impl Iterator<Item = (&'a str, Relation)> + use<'a> {
        let users = self.needed_by.get(id).into_iter().flatten();
        users.map(|(who, relation)| (who.as_str(), *relation))
    }

    /// What an object makes: its parts and its products.
    pub fn made_by<'a>(&'a self, id: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let parts = self.needs(id).filter(|(_, relation)| *relation == Relation::Part);
        let products = self
            .needed_by(id)
            .filter(|(_, relation)| *relation == Relation::Product);
        parts.chain(products).map(|(id, _)| id)
    }

    /// An object, and all that is made for it.
    #[must_use]
    pub fn whole(&self, root: &str) -> BTreeSet<String> {
        let mut whole = BTreeSet::new();
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if self.nodes.contains_key(id) && whole.insert(id.to_owned()) {
                open.extend(self.made_by(id));
            }
        }
        whole
    }

    /// An object, all that is made for it, all that these need, and what is known among them.
    #[must_use]
    pub fn around(&self, root: &str) -> Self {
        let mut ids = self.whole(root);
        let mut open: Vec<String> = ids.iter().cloned().collect();
        while let Some(id) = open.pop() {
            for (needed, _) in self.needs(&id) {
                if ids.insert(needed.to_owned()) {
                    open.push(needed.to_owned());
                }
            }
        }
        let mut part = Self::default();
        for (id, node) in self.nodes.iter().filter(|(id, _)| ids.contains(*id)) {
            part.add(id.clone(), node.clone());
        }
        for id in &ids {
            for (needed, relation) in self.needs(id) {
                part.relate(id, relation, needed);
            }
        }
        part
    }

    /// As it is written in the status of a control plane.
    #[must_use]
    pub fn to_status(&self) -> DependencyGraph {
        let nodes = self.nodes.iter().map(|(id, node)| {
            let node = ResourceNode {
                type_: node.kind.clone(),
                name: node.name.clone(),
                status: Some(node.status.clone()),
            };
            (id.clone(), node)
        });
        let edges = self.needs.iter().map(|(who, needs)| {
            let needs = needs.keys().cloned().collect();
            (who.clone(), needs)
        });
        DependencyGraph {
            nodes: Some(nodes.collect()),
            edges: Some(edges.collect()),
        }
    }
}

#[cfg(test)]
mod tests;
