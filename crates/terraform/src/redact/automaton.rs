//! Finds any of many byte strings in one pass (Aho and Corasick, 1975).
//!
//! Beside matches it tells how much of what was read could still become one, which is exactly what a stream must hold
//! back and nothing more; that is why this is not left to a library.

use std::{
    collections::{BTreeMap, VecDeque},
    iter::successors,
};

use super::forms::{MIN_LENGTH_ANYWHERE, Reach};

/// What is looked for, and where it counts.
pub(super) type Patterns = BTreeMap<Vec<u8>, Reach>;

/// A place in the automaton: the longest end of the input that begins some pattern.
pub(super) type State = u32;

const ROOT: State = 0;

/// A secret has thousands of places, most with one way on: they are linked by numbers, so that none needs room elsewhere.
#[derive(Clone, Copy, Default)]
struct Node {
    /// The byte that leads here.
    byte: u8,
    /// The first of the places that a byte leads to from here; [`ROOT`] if there is none.
    child: State,
    /// The next place that another byte leads to from where this one is reached; [`ROOT`] if there is none.
    sibling: State,
    fallback: State,
    depth: u32,
    /// Length of the longest pattern that counts anywhere and ends here; 0 if none does.
    found: u32,
    /// Lengths of the patterns that count as tokens and end here, one bit for each: they are short.
    tokens: u16,
}

const _: () = assert!(MIN_LENGTH_ANYWHERE <= u16::BITS as usize);

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
    pub(super) fn new(patterns: &Patterns) -> Self {
        let mut automaton = Self::default();
        automaton.nodes.reserve(patterns.keys().map(Vec::len).sum());
        for (pattern, reach) in patterns {
            automaton.insert(pattern, *reach);
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

    /// Length of the longest pattern that counts anywhere and that the last bytes are.
    pub(super) fn found(&self, state: State) -> usize {
        self.nodes[state as usize].found as usize
    }

    /// Lengths of the patterns that count as tokens and that the last bytes are, the longest first.
    pub(super) fn tokens(&self, state: State) -> impl Iterator<Item = usize> {
        let lengths = self.nodes[state as usize].tokens;
        let is_one = move |length: &usize| lengths & (1 << length) != 0;
        (0..MIN_LENGTH_ANYWHERE).rev().filter(is_one)
    }

    /// Whether the last bytes are a pattern that counts as a token.
    pub(super) fn has_tokens(&self, state: State) -> bool {
        self.nodes[state as usize].tokens != 0
    }

    fn edge(&self, state: State, byte: u8) -> Option<State> {
        self.children(state)
            .find(|child| self.nodes[*child as usize].byte == byte)
    }

    fn children(&self, state: State) -> impl Iterator<Item = State> {
        let is_place = |state: &State| *state != ROOT;
        let first = Some(self.nodes[state as usize].child).filter(is_place);
        successors(first, move |child| {
            Some(self.nodes[*child as usize].sibling).filter(is_place)
        })
    }

    fn insert(&mut self, pattern: &[u8], reach: Reach) {
        let mut state = ROOT;
        for byte in pattern {
            state = match self.edge(state, *byte) {
                Some(next) => next,
                None => self.grow(state, *byte),
            };
        }
        let node = &mut self.nodes[state as usize];
        match reach {
            Reach::Anywhere => node.found = node.depth,
            Reach::Token => node.tokens |= 1 << pattern.len(),
        }
    }

    fn grow(&mut self, from: State, byte: u8) -> State {
        let new = State::try_from(self.nodes.len()).unwrap_or(State::MAX);
        let depth = self.nodes[from as usize].depth + 1;
        let sibling = std::mem::replace(&mut self.nodes[from as usize].child, new);
        self.nodes.push(Node {
            byte,
            sibling,
            depth,
            ..Node::default()
        });
        if from == ROOT {
            self.first[usize::from(byte)] = new;
        }
        new
    }

    /// Gives every place the place to go on from when no edge fits, nearest places first.
    fn link(&mut self) {
        let mut queue: VecDeque<State> = self.children(ROOT).collect();
        while let Some(state) = queue.pop_front() {
            let mut child = self.nodes[state as usize].child;
            while child != ROOT {
                let Node { byte, sibling, .. } = self.nodes[child as usize];
                let fallback = self.next(self.nodes[state as usize].fallback, byte);
                let Node { found, tokens, .. } = self.nodes[fallback as usize];
                let node = &mut self.nodes[child as usize];
                node.fallback = fallback;
                node.found = node.found.max(found);
                node.tokens |= tokens;
                queue.push_back(child);
                child = sibling;
            }
        }
    }
}
