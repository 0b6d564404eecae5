//! Redaction of bytes that come in pieces.

use super::{
    PLACEHOLDER,
    automaton::{Automaton, State},
};

/// A gate for one stream of bytes.
///
/// It holds back only what could still become a secret, so a line is out as soon as it is read unless it ends like a
/// secret begins.
pub struct RedactedStream<'a> {
    automaton: &'a Automaton,
    state: State,
    held: Vec<u8>,
    /// Parts of `held` that are secret, in order, none touching the next by more than an end.
    secret: Vec<(usize, usize)>,
}

impl<'a> RedactedStream<'a> {
    pub(super) fn new(automaton: &'a Automaton) -> Self {
        Self {
            automaton,
            state: Automaton::start(),
            held: Vec::new(),
            secret: Vec::new(),
        }
    }

    /// Takes a piece and appends to `out` what may leave by now.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for byte in piece {
            self.held.push(*byte);
            self.state = self.automaton.next(self.state, *byte);
            let found = self.automaton.found(self.state);
            if found > 0 {
                self.mark(self.held.len() - found);
            }
        }
        let undecided = self.held.len() - self.automaton.depth(self.state);
        let decided = match self.secret.last() {
            Some((start, end)) if *end > undecided => (*start).min(undecided),
            _ => undecided,
        };
        self.release(decided, out);
    }

    /// Ends the stream and appends the rest to `out`.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.release(self.held.len(), out);
    }

    /// Marks what was read from `start` on, as one with the marks that it overlaps.
    fn mark(&mut self, start: usize) {
        let mut start = start;
        while let Some((last_start, last_end)) = self.secret.last()
            && *last_end > start
        {
            start = start.min(*last_start);
            self.secret.pop();
        }
        self.secret.push((start, self.held.len()));
    }

    fn release(&mut self, until: usize, out: &mut Vec<u8>) {
        let mut at = 0;
        let mut released = 0;
        for (start, end) in &self.secret {
            if *end > until {
                break;
            }
            out.extend_from_slice(&self.held[at..*start]);
            out.extend_from_slice(PLACEHOLDER.as_bytes());
            at = *end;
            released += 1;
        }
        out.extend_from_slice(&self.held[at..until]);
        self.held.drain(..until);
        self.secret.drain(..released);
        for (start, end) in &mut self.secret {
            *start -= until;
            *end -= until;
        }
    }
}
