//! Finds any of many byte strings in one pass (Aho and Corasick, 1975).
//!
//! Beside matches it tells how much of what was read could still become one, which is exactly what a stream must hold
//! back and nothing more; that is why this is not left to a library.

use std::collections::{BTreeSet, VecDeque};

/// A place in the automaton: the longest end of the input that begins some pattern.
pub(super) type State = u32;

const ROOT: State = 0;

#[derive(Clone, Default)]
struct Node {
    /// Sorted by byte.
    edges: Vec<(u8, State)>,
    fallback: State,
    depth: u32,
    /// Length of the longest pattern that ends here; 0 if none does.
    found: u32,
}

/// All patterns.
pub(super) struct Automaton {
    nodes: Vec<Node>,
    /// Most bytes of a log lead nowhere, so the first step is a plain table.
    first: [State; 256],
}

impl Default for Automaton {
    fn default() -> Self {
        Self {
            nodes: vec![Node::default()],
            first: [ROOT; 256],
        }
    }
}

impl Automaton {
    pub(super) fn new(patterns: &BTreeSet<Vec<u8>>) -> Self {
        let mut automaton = Self::default();
        for pattern in patterns {
            automaton.insert(pattern);
        }
        automaton.link();
        automaton
    }

    pub(super) fn start() -> State {
        ROOT
    }

    pub(super) fn next(&self, state: State, byte: u8) -> State {
        let mut state = state;
        while state != ROOT {
            if let Some(next) = self.edge(state, byte) {
                return next;
            }
            state = self.nodes[state as usize].fallback;
        }
        self.first[usize::from(byte)]
    }

    /// How many of the last bytes could be the beginning of a pattern.
    pub(super) fn depth(&self, state: State) -> usize {
        self.nodes[state as usize].depth as usize
    }

    /// Length of the longest pattern that the last bytes are.
    pub(super) fn found(&self, state: State) -> usize {
        self.nodes[state as usize].found as usize
    }

    fn edge(&self, state: State, byte: u8) -> Option<State> {
        let edges = &self.nodes[state as usize].edges;
        edges
            .binary_search_by_key(&byte, |edge| edge.0)
            .ok()
            .map(|at| edges[at].1)
    }

    fn insert(&mut self, pattern: &[u8]) {
        let mut state = ROOT;
        for byte in pattern {
            state = match self.edge(state, *byte) {
                Some(next) => next,
                None => self.grow(state, *byte),
            };
        }
        let depth = self.nodes[state as usize].depth;
        self.nodes[state as usize].found = depth;
    }

    fn grow(&mut self, from: State, byte: u8) -> State {
        let new = State::try_from(self.nodes.len()).unwrap_or(State::MAX);
        let depth = self.nodes[from as usize].depth + 1;
        self.nodes.push(Node {
            depth,
            ..Node::default()
        });
        let edges = &mut self.nodes[from as usize].edges;
        let at = edges.partition_point(|edge| edge.0 < byte);
        edges.insert(at, (byte, new));
        if from == ROOT {
            self.first[usize::from(byte)] = new;
        }
        new
    }

    /// Gives every place the place to go on from when no edge fits, nearest places first.
    fn link(&mut self) {
        let mut queue: VecDeque<State> = self.nodes[ROOT as usize]
            .edges
            .iter()
            .map(|edge| edge.1)
            .collect();
        while let Some(state) = queue.pop_front() {
            for (byte, child) in self.nodes[state as usize].edges.clone() {
                let fallback = self.next(self.nodes[state as usize].fallback, byte);
                let found = self.nodes[fallback as usize].found;
                let node = &mut self.nodes[child as usize];
                node.fallback = fallback;
                node.found = node.found.max(found);
                queue.push_back(child);
            }
        }
    }
}
