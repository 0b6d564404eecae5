//! Redaction of bytes that come in pieces.

use super::{
    PLACEHOLDER,
    automaton::{Automaton, State},
    forms::MIN_LENGTH,
    lines::{Lines, Sequences},
    token::{self, LOOKBACK},
};

/// A gate for one stream of bytes.
///
/// It holds back only what could still become a secret, so a line is out as soon as it is read unless it ends like a
/// secret begins, or is a line of one. Of a token that is short the next byte decides.
pub struct RedactedStream<'a> {
    automaton: &'a Automaton,
    state: State,
    held: Vec<u8>,
    /// The last bytes that were read before `held`, as they were.
    before: Vec<u8>,
    /// Parts of `held` that are secret, in order, none touching the next by more than an end.
    secret: Vec<(usize, usize)>,
    /// The first of them began before `held` does, and its placeholder is out.
    announced: bool,
    /// What leaves here passes this too.
    lines: Lines<'a>,
}

impl<'a> RedactedStream<'a> {
    pub(super) fn new(automaton: &'a Automaton, sequences: &'a Sequences) -> Self {
        Self {
            automaton,
            state: Automaton::start(),
            held: Vec::new(),
            before: Vec::new(),
            secret: Vec::new(),
            announced: false,
            lines: Lines::new(sequences),
        }
    }

    /// Takes a piece and appends to `out` what may leave by now.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        self.read(piece);
        self.release_decided(out);
    }

    /// The same for a piece that was cut at its end: what could still become a secret is taken for one.
    pub(super) fn push_cut(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        self.read(piece);
        let begun = self.automaton.depth(self.state);
        if begun >= MIN_LENGTH {
            self.mark(self.held.len() - begun);
        }
        self.release_decided(out);
    }

    fn read(&mut self, piece: &[u8]) {
        for byte in piece {
            self.end_tokens(Some(*byte));
            self.held.push(*byte);
            self.state = self.automaton.next(self.state, *byte);
            let found = self.automaton.found(self.state);
            if found > 0 {
                self.mark(self.held.len() - found);
            }
        }
    }

    fn release_decided(&mut self, out: &mut Vec<u8>) {
        let decided = self.held.len() - self.automaton.depth(self.state);
        let mut clean = Vec::new();
        self.release(decided, &mut clean);
        self.lines.push(&clean, out);
    }

    /// Ends the stream and appends the rest to `out`.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.end_tokens(None);
        let mut clean = Vec::new();
        self.release(self.held.len(), &mut clean);
        self.lines.push(&clean, out);
        self.lines.finish(out);
    }

    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.held.len()
    }

    /// Marks the longest token that ends in front of this byte.
    fn end_tokens(&mut self, next: Option<u8>) {
        let Some(last) = self.held.last().filter(|_| self.automaton.has_tokens(self.state)) else {
            return;
        };
        if token::ends(*last, next) {
            let starts = self
                .automaton
                .tokens(self.state)
                .map(|length| self.held.len() - length);
            if let Some(start) = starts.into_iter().find(|start| self.begins_token(*start)) {
                self.mark(start);
            }
        }
    }

    fn begins_token(&self, start: usize) -> bool {
        let (before, rest) = self.held.split_at(start);
        let Some(first) = rest.first() else { return false };
        match start.checked_sub(LOOKBACK) {
            Some(from) => token::begins(&before[from..], *first),
            None => token::begins(&[&self.before, before].concat(), *first),
        }
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

    /// Lets go of everything before `until`. Of a secret that goes on after that, only the placeholder leaves, so that
    /// secrets that overlap without end do not fill the memory.
    fn release(&mut self, until: usize, out: &mut Vec<u8>) {
        let mut at = 0;
        let mut ended = 0;
        for (start, end) in &self.secret {
            if *start >= until {
                break;
            }
            out.extend_from_slice(&self.held[at..*start]);
            if !self.announced {
                out.extend_from_slice(PLACEHOLDER.as_bytes());
            }
            self.announced = *end > until;
            at = (*end).min(until);
            ended += usize::from(*end <= until);
        }
        out.extend_from_slice(&self.held[at..until]);
        self.before
            .extend_from_slice(&self.held[until.saturating_sub(LOOKBACK)..until]);
        let forgotten = self.before.len().saturating_sub(LOOKBACK);
        self.before.drain(..forgotten);
        self.held.drain(..until);
        self.secret.drain(..ended);
        for (start, end) in &mut self.secret {
            *start = start.saturating_sub(until);
            *end -= until;
        }
    }
}
