//! Collecting what must not leave.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use super::{
    PLACEHOLDER,
    automaton::Patterns,
    document::{self, Format, Values},
    forms::{self, MIN_LENGTH, THOROUGH_UP_TO},
    lines::is_mute,
    number::decimal,
};

/// Longer files are known by their parts only.
const WHOLE_UP_TO: usize = 64 << 10;

/// Words that are never secret: a log without them could not be read.
const ORDINARY: [&str; 5] = ["true", "false", "null", "redacted", PLACEHOLDER];

/// Everything that must not leave, and what is public all the same.
///
/// A value that is both is public, in whatever order that was learned: what anybody may read beside a text is no secret
/// in it, and without versions, regions and ids a plan could not be read.
#[derive(Clone, Default)]
pub struct Secrets {
    values: BTreeSet<String>,
    /// Those of several lines, whose shorter lines count where they stand in their order.
    blocks: BTreeSet<String>,
    public: BTreeSet<String>,
    revision: u64,
}

impl Secrets {
    /// A secret value: a password, a token, an environment variable. Space around it does not belong to it. If it has
    /// values in it, because it is JSON or has several lines, they are secret too.
    pub fn value(&mut self, value: &str) {
        self.scalar(value);
        if let Some(values) = document::structure(value) {
            self.take(&values);
        } else if value.trim().contains('\n') {
            self.lines(value);
        }
    }

    /// A value of any shape that is secret as a whole, such as a sensitive output.
    pub fn json(&mut self, value: &Value) {
        each_scalar(value, &mut |text| self.value(text));
    }

    /// A file of variables: the whole, and every value in it. One that its format does not explain is split.
    pub fn variables(&mut self, content: &str, format: Format) {
        self.whole(content);
        let content = content.trim_start_matches('\u{feff}');
        let values = document::values(content, format);
        if !values.is_whole {
            self.lines(content);
            for piece in document::pieces(content) {
                self.scalar(&piece);
            }
        }
        self.take(&values);
    }

    /// A file of no declared format, such as a credentials file: the whole, every line, and every value in it.
    pub fn file(&mut self, content: &str) {
        self.whole(content);
        match document::structure(content) {
            Some(values) => self.take(&values),
            None => self.lines(content),
        }
    }

    /// A value that is no secret, whatever else it is found in: anybody may read it where it is from.
    pub fn exempt(&mut self, value: &str) {
        let value = value.trim();
        let lines = value.lines().map(|line| line.trim().to_owned());
        let number = decimal(value);
        for value in [value.to_owned()].into_iter().chain(lines).chain(number) {
            let is_known = self.values.contains(&value);
            let is_new = value.len() >= MIN_LENGTH && self.public.insert(value);
            self.revision += u64::from(is_new && is_known);
        }
    }

    /// A value of any shape that is public as a whole, such as an output that is not sensitive.
    pub fn exempt_json(&mut self, value: &Value) {
        each_scalar(value, &mut |text| self.exempt(text));
    }

    /// Everything that another collection knows.
    pub fn extend(&mut self, other: &Self) {
        other.values.iter().for_each(|value| self.insert(value));
        for block in &other.blocks {
            self.block(block);
        }
        other.public.iter().for_each(|value| self.exempt(value));
    }

    /// A number that differs when what is secret has changed.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// All spellings of all secrets, of large ones only the likely ones.
    pub(super) fn patterns(&self) -> Patterns {
        let mut patterns = Patterns::new();
        let mut room = THOROUGH_UP_TO;
        let mut values: Vec<&String> = self.values.difference(&self.public).collect();
        values.sort_by_key(|value| value.len());
        for value in values {
            let left = room.checked_sub(value.len());
            forms::spell(value, left.is_some(), |form, reach| {
                let known = patterns.entry(form).or_insert(reach);
                *known = reach.max(*known);
            });
            room = left.unwrap_or(0);
        }
        patterns
    }

    /// The lines of each secret that has several and short ones among them; none for those that are taken out anyway.
    pub(super) fn sequences(&self) -> impl Iterator<Item = Vec<Option<String>>> {
        let lines = |block: &String| {
            let lines = block.lines().map(str::trim);
            let lines = lines.filter(|line| !is_mute(line.as_bytes()));
            let lines = lines.filter_map(|line| self.line(line));
            lines.collect::<Vec<_>>()
        };
        let is_sequence = |lines: &Vec<Option<String>>| lines.len() > 1 && lines.iter().any(Option::is_some);
        self.blocks
            .difference(&self.public)
            .map(lines)
            .filter(is_sequence)
    }

    /// A line of a sequence: itself if it is short, or that it is taken out anyway.
    fn line(&self, line: &str) -> Option<Option<String>> {
        if line.len() < MIN_LENGTH {
            return Some(Some(line.to_owned()));
        }
        let is_taken_out = self.values.contains(line) && !self.public.contains(line);
        is_taken_out.then_some(None)
    }

    fn whole(&mut self, content: &str) {
        if content.len() <= WHOLE_UP_TO {
            self.insert(content);
        }
    }

    fn take(&mut self, values: &Values) {
        values.meant.iter().for_each(|value| self.value(value));
        values.written.iter().for_each(|value| self.insert(value));
    }

    fn lines(&mut self, text: &str) {
        self.block(text);
        for value in document::text_values(text) {
            self.value(&value);
        }
    }

    fn block(&mut self, text: &str) {
        let is_new = self.blocks.insert(text.trim().to_owned());
        self.revision += u64::from(is_new);
    }

    /// A value without parts, also as the number that it may be.
    fn scalar(&mut self, text: &str) {
        self.insert(text);
        if let Some(number) = decimal(text.trim()) {
            self.insert(&number);
        }
    }

    fn insert(&mut self, text: &str) {
        let text = text.trim();
        let is_ordinary = ORDINARY.iter().any(|word| word.eq_ignore_ascii_case(text));
        if text.len() >= MIN_LENGTH && !is_ordinary && !self.values.contains(text) {
            self.values.insert(text.to_owned());
            self.revision += u64::from(!self.public.contains(text));
        }
    }
}

fn each_scalar(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => found(&number.to_string()),
        Value::String(text) => found(text),
        Value::Array(items) => items.iter().for_each(|item| each_scalar(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| each_scalar(field, found)),
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} values)", self.values.len())
    }
}
