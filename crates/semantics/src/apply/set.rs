//! A set of paths, kept as a sorted tree.
//!
//! A node of the tree is a member of the set, or leads to members below it, or both. A node that is neither never exists.

use std::cmp::Ordering;

use super::path::PathElement;
use super::types::Type;

/// A set of paths.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Set {
    nodes: Vec<Node>,
}

/// A path element in a set, with what the set says about it and below it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// The step.
    pub(super) element: PathElement,
    /// Whether the path that ends here is in the set.
    pub(super) member: bool,
    /// The paths that go on from here.
    pub(super) children: Set,
}

impl Node {
    fn is_void(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl Set {
    /// Builds a level from nodes in any order; equal elements are united, void nodes dropped.
    pub(super) fn from_nodes(mut nodes: Vec<Node>) -> Self {
        nodes.retain(|node| !node.is_void());
        if nodes.is_sorted_by(|a, b| a.element < b.element) {
            return Self { nodes };
        }
        nodes.sort_by(|a, b| a.element.cmp(&b.element));
        let mut united: Vec<Node> = Vec::with_capacity(nodes.len());
        for node in nodes {
            match united.last_mut() {
                Some(last) if last.element == node.element => {
                    last.member |= node.member;
                    last.children = std::mem::take(&mut last.children).union(node.children);
                }
                _ => united.push(node),
            }
        }
        Self { nodes: united }
    }

    /// Adds a node that sorts after all present ones; does nothing if it would be void.
    pub(super) fn push(&mut self, node: Node) {
        debug_assert!(self.nodes.last().is_none_or(|last| last.element < node.element));
        if !node.is_void() {
            self.nodes.push(node);
        }
    }

    /// The nodes of this level, sorted.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes of this level, to change what is below them. The caller must not leave a void node behind.
    pub(super) fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// Keeps only the top-level nodes for which `keep` holds.
    pub(super) fn retain(&mut self, keep: impl FnMut(&Node) -> bool) {
        self.nodes.retain(keep);
    }

    /// Whether no path is in the set.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of `element` at this level.
    pub(super) fn get(&self, element: &PathElement) -> Option<&Node> {
        let at = self
            .nodes
            .binary_search_by(|node| node.element.cmp(element))
            .ok()?;
        self.nodes.get(at)
    }

    /// The node of the field `name` at this level.
    pub(super) fn field(&self, name: &str) -> Option<&Node> {
        let at = self
            .nodes
            .binary_search_by(|node| node.element.cmp_field(name))
            .ok()?;
        self.nodes.get(at)
    }

    /// Whether `path` is a member.
    pub(super) fn has(&self, path: &[&PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.get(last).is_some_and(|node| node.member),
            [first, rest @ ..] => self.get(first).is_some_and(|node| node.children.has(rest)),
        }
    }

    /// Paths that are in either set.
    pub(super) fn union(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let mut out = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let mut left = self.nodes.into_iter().peekable();
        let mut right = other.nodes.into_iter().peekable();
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(l), Some(r)) => l.element.cmp(&r.element),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            match order {
                Ordering::Less => out.extend(left.next()),
                Ordering::Greater => out.extend(right.next()),
                Ordering::Equal => {
                    if let (Some(l), Some(r)) = (left.next(), right.next()) {
                        out.push(Node {
                            element: l.element,
                            member: l.member || r.member,
                            children: l.children.union(r.children),
                        });
                    }
                }
            }
        }
        Self { nodes: out }
    }

    /// Paths that are in both sets.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut out = Self::default();
        let (mut i, mut j) = (0, 0);
        while let (Some(l), Some(r)) = (self.nodes.get(i), other.nodes.get(j)) {
            match l.element.cmp(&r.element) {
                Ordering::Less => i += 1,
                Ordering::Greater => j += 1,
                Ordering::Equal => {
                    out.push(Node {
                        element: l.element.clone(),
                        member: l.member && r.member,
                        children: l.children.intersection(&r.children),
                    });
                    i += 1;
                    j += 1;
                }
            }
        }
        out
    }

    /// Paths that are in this set and not in the other. What lies below a path of the other set stays.
    pub(super) fn difference(self, other: &Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return self;
        }
        let mut others = other.nodes.iter().peekable();
        let mut out = Self {
            nodes: Vec::with_capacity(self.nodes.len()),
        };
        for mut node in self.nodes {
            while others.next_if(|theirs| theirs.element < node.element).is_some() {}
            if let Some(theirs) = others.next_if(|theirs| theirs.element == node.element) {
                node.member &= !theirs.member;
                node.children = node.children.difference(&theirs.children);
            }
            out.push(node);
        }
        out
    }

    /// Adds the named fields that lead to members. Such fields are not recorded by themselves, but go away with the
    /// last thing in them.
    pub(super) fn with_named_fields(&self, ty: Type<'_>) -> Self {
        let nodes = self.nodes.iter().map(|node| {
            let (named, child) = match &node.element {
                PathElement::Field(name) => {
                    let field = ty.field(name);
                    (field.named, field.ty)
                }
                PathElement::Key(_) => (false, ty.items()),
                PathElement::Value(_) | PathElement::Index(_) => (false, Type::Undeclared),
            };
            Node {
                element: node.element.clone(),
                member: node.member || named,
                children: node.children.with_named_fields(child),
            }
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// Calls `visit` with every member; at each level the members first, then what is below.
    pub(super) fn for_each<'s>(&'s self, visit: &mut impl FnMut(&[&'s PathElement])) {
        self.walk(&mut Vec::new(), visit);
    }

    fn walk<'s>(&'s self, prefix: &mut Vec<&'s PathElement>, visit: &mut impl FnMut(&[&'s PathElement])) {
        for node in self.nodes.iter().filter(|node| node.member) {
            prefix.push(&node.element);
            visit(prefix);
            prefix.pop();
        }
        for node in self.nodes.iter().filter(|node| !node.children.is_empty()) {
            prefix.push(&node.element);
            node.children.walk(prefix, visit);
            prefix.pop();
        }
    }
}
