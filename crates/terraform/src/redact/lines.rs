//! Secrets of several lines that are told line by line.
//!
//! A log puts times, names or margins before lines, and then such a secret does not stand in it as it is. Its longer
//! lines are taken out wherever they are, its shorter ones only where they stand in their order: two or more of them one
//! after the other, or one beside a longer one. Lines of nothing but brackets and the like say nothing and are passed
//! over, so that a log keeps its braces.

use std::collections::{HashMap, VecDeque};

use super::PLACEHOLDER;

/// A line and its place: which secret, and which line of it.
type Place = (u32, u32);

/// Bytes at the end of a line that are looked at. No short line is longer.
const TAIL: usize = 64;
/// Bytes of a line that are held back until it ends.
const MAX_LINE: usize = 4096;
/// Lines that are held back.
const MAX_HELD: usize = 64;
/// Bytes of short lines that together differ from ordinary words.
const MIN_RUN: usize = 6;
/// Places of one line that are known; who repeats a line more often than this is found by the others.
const MAX_PLACES: usize = 16;

/// The lines of all secrets that have several, as they look when longer secrets are taken out of them.
#[derive(Default)]
pub(super) struct Sequences {
    places: HashMap<Vec<u8>, Vec<Place>>,
    /// Places of lines of which nothing is left, if one beside it has something left.
    gone: Vec<Place>,
}

impl Sequences {
    /// The lines of these secrets; of each line what `clean` leaves of it.
    pub(super) fn new(
        secrets: impl Iterator<Item = Vec<Option<String>>>,
        clean: impl Fn(&str) -> Vec<u8>,
    ) -> Self {
        let mut sequences = Self::default();
        for (secret, lines) in (0..).zip(secrets) {
            let clean_line = |line: &Option<String>| match line {
                Some(line) => clean(line),
                None => PLACEHOLDER.as_bytes().to_vec(),
            };
            let lines: Vec<Vec<u8>> = lines.iter().map(clean_line).collect();
            let is_gone = |at: usize| lines.get(at).is_some_and(|line| line == PLACEHOLDER.as_bytes());
            let has_left = |at: usize| at < lines.len() && !is_gone(at);
            for (at, line) in lines.iter().enumerate() {
                let place = (secret, u32::try_from(at).unwrap_or(u32::MAX));
                if !is_gone(at) {
                    let places = sequences.places.entry(line.clone()).or_default();
                    if places.len() < MAX_PLACES {
                        places.push(place);
                    }
                } else if has_left(at + 1) || at.checked_sub(1).is_some_and(has_left) {
                    sequences.gone.push(place);
                }
            }
        }
        sequences
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What the end of a line is: places, and where in it they begin and end.
    fn find(&self, line: &[u8]) -> Vec<Found> {
        let end = line.trim_ascii_end().len();
        let text = &line[..end];
        let mut found = Vec::new();
        if text.ends_with(PLACEHOLDER.as_bytes()) {
            found.extend(self.gone.iter().map(|place| Found {
                place: *place,
                range: None,
            }));
        }
        for start in end.saturating_sub(TAIL)..end {
            let is_word = start == 0 || text[start - 1].is_ascii_whitespace();
            if let Some(places) = self.places.get(&text[start..]).filter(|_| is_word) {
                found.extend(places.iter().map(|place| Found {
                    place: *place,
                    range: Some((start, end)),
                }));
            }
        }
        found
    }
}

struct Found {
    place: Place,
    /// None, if nothing of it is left anyway.
    range: Option<(usize, usize)>,
}

/// Whether a line says nothing by itself.
pub(super) fn is_mute(line: &[u8]) -> bool {
    let mute = |byte: &u8| byte.is_ascii_whitespace() || b"{}[]()<>,;:\"'`".contains(byte);
    line.iter().all(mute)
}

/// Lines of a secret, one after the other.
#[derive(Clone)]
struct Run {
    /// The place that comes next.
    next: Place,
    /// Number of the line that it began with.
    begin: u64,
    /// Parts of lines that it would take out, by the numbers of the lines.
    parts: Vec<(u64, (usize, usize))>,
    lines: usize,
    bytes: usize,
    has_gone: bool,
}

impl Run {
    /// Long enough to be told from ordinary words.
    fn is_secret(&self) -> bool {
        self.lines > 1 && (self.has_gone || self.bytes >= MIN_RUN)
    }
}

/// A line that may turn out to be secret.
struct Held {
    bytes: Vec<u8>,
    secret: Option<(usize, usize)>,
}

/// A gate for lines from which longer secrets are already taken out.
pub(super) struct Lines<'a> {
    sequences: &'a Sequences,
    line: Vec<u8>,
    held: VecDeque<Held>,
    /// Number of the first line that is held.
    first: u64,
    runs: Vec<Run>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(sequences: &'a Sequences) -> Self {
        Self {
            sequences,
            line: Vec::new(),
            held: VecDeque::new(),
            first: 0,
            runs: Vec::new(),
        }
    }

    /// Takes a piece and appends to `out` what may leave by now.
    pub(super) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if self.sequences.is_empty() {
            out.extend_from_slice(piece);
            return;
        }
        for byte in piece {
            self.line.push(*byte);
            if *byte == b'\n' {
                self.end_line(out);
            } else if self.line.len() >= MAX_LINE {
                self.runs.clear();
                self.release(out);
                out.extend(self.line.drain(..MAX_LINE - TAIL));
            }
        }
    }

    /// Ends and appends the rest to `out`.
    pub(super) fn finish(mut self, out: &mut Vec<u8>) {
        if !self.line.is_empty() {
            self.end_line(out);
        }
        self.runs.clear();
        self.release(out);
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        let bytes = std::mem::take(&mut self.line);
        let number = self.first + self.held.len() as u64;
        // What says nothing interrupts nothing.
        if !is_mute(&bytes) {
            let found = self.sequences.find(&bytes);
            let before = std::mem::take(&mut self.runs);
            self.runs = found
                .into_iter()
                .map(|one| extended(&before, &one, number))
                .collect();
        }
        self.held.push_back(Held { bytes, secret: None });
        for run in self.runs.iter_mut().filter(|run| run.is_secret()) {
            for (number, (start, end)) in run.parts.drain(..) {
                let at = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
                if let Some(held) = self.held.get_mut(at) {
                    let (other_start, other_end) = held.secret.unwrap_or((start, end));
                    held.secret = Some((start.min(other_start), end.max(other_end)));
                }
            }
        }
        if self.held.len() > MAX_HELD {
            self.runs.clear();
        }
        self.release(out);
    }

    /// Lets go of everything that no run may still take out.
    fn release(&mut self, out: &mut Vec<u8>) {
        let pending = self.runs.iter().filter(|run| !run.is_secret());
        let until = pending.map(|run| run.begin).min().unwrap_or(u64::MAX);
        while self.first < until
            && let Some(held) = self.held.pop_front()
        {
            self.first += 1;
            match held.secret {
                None => out.extend_from_slice(&held.bytes),
                Some((start, end)) => {
                    out.extend_from_slice(&held.bytes[..start]);
                    out.extend_from_slice(PLACEHOLDER.as_bytes());
                    out.extend_from_slice(&held.bytes[end..]);
                }
            }
        }
    }
}

/// The run that goes on with this line, or begins with it.
fn extended(before: &[Run], found: &Found, number: u64) -> Run {
    let (secret, line) = found.place;
    let longest = before
        .iter()
        .filter(|run| run.next == found.place)
        .max_by_key(|run| (run.has_gone, run.bytes));
    let mut run = longest.cloned().unwrap_or(Run {
        next: found.place,
        begin: number,
        parts: Vec::new(),
        lines: 0,
        bytes: 0,
        has_gone: false,
    });
    run.next = (secret, line.saturating_add(1));
    run.lines += 1;
    match found.range {
        Some((start, end)) => {
            run.bytes += end - start;
            run.parts.push((number, (start, end)));
        }
        None => run.has_gone = true,
    }
    run
}
