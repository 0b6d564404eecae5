//! Collecting what must not leave.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use super::{
    forms::{self, MIN_LENGTH, MIN_PART_LENGTH},
    lines::is_mute,
};

/// Everything that must not leave.
#[derive(Clone, Default)]
pub struct Secrets {
    patterns: BTreeSet<Vec<u8>>,
    /// The lines of each secret that has several and short ones among them; none for those that are taken out anyway.
    sequences: BTreeSet<Vec<Option<String>>>,
}

impl Secrets {
    /// A secret value: a password, a token, an environment variable. Space around it does not belong to it.
    pub fn value(&mut self, value: &str) {
        let value = value.trim();
        if value.len() < MIN_LENGTH {
            return;
        }
        forms::spell(value, |form| {
            self.patterns.insert(form);
        });
        if value.contains('\n') {
            for line in value.lines() {
                self.part(line);
            }
            self.sequence(value);
        }
    }

    /// A value of any shape that is secret as a whole, such as a sensitive output.
    pub fn json(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.value(&number.to_string()),
            Value::String(text) => self.value(text),
            Value::Array(items) => items.iter().for_each(|item| self.json(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.json(field)),
        }
    }

    /// A file that holds secrets among other things, such as a credentials file: the whole, every longer line, the
    /// longer values in it, and shorter ones whose name says that they are secret.
    pub fn file(&mut self, content: &str) {
        self.value(content);
        if let Ok(value) = serde_json::from_str::<Value>(content) {
            self.fields("", &value);
            return;
        }
        for line in content.lines() {
            let line = line.trim();
            for separator in ['=', ':'] {
                if let Some((name, value)) = line.split_once(separator) {
                    self.field(name, value.trim().trim_matches(['"', '\'']));
                }
            }
        }
    }

    /// Everything that another collection knows.
    pub fn extend(&mut self, other: &Self) {
        self.patterns.extend(other.patterns.iter().cloned());
        self.sequences.extend(other.sequences.iter().cloned());
    }

    /// How many spellings are known. It grows when a secret is new.
    #[must_use]
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether there is nothing to hide.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    pub(super) fn patterns(&self) -> &BTreeSet<Vec<u8>> {
        &self.patterns
    }

    pub(super) fn sequences(&self) -> impl Iterator<Item = &Vec<Option<String>>> {
        self.sequences.iter()
    }

    fn fields(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) => self.field(name, text),
            Value::Array(items) => items.iter().for_each(|item| self.fields(name, item)),
            Value::Object(fields) => fields.iter().for_each(|(name, field)| self.fields(name, field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn field(&mut self, name: &str, value: &str) {
        const TELLING: [&str; 6] = ["password", "secret", "token", "key", "credential", "passphrase"];
        let name = name.to_ascii_lowercase();
        if value.len() >= MIN_PART_LENGTH || TELLING.iter().any(|word| name.contains(word)) {
            self.value(value);
        }
    }

    fn sequence(&mut self, value: &str) {
        let lines: Vec<Option<String>> = value
            .lines()
            .map(str::trim)
            .filter(|line| !is_mute(line.as_bytes()))
            .map(|line| (line.len() < MIN_PART_LENGTH).then(|| line.to_owned()))
            .collect();
        if lines.len() > 1 && lines.iter().any(Option::is_some) {
            self.sequences.insert(lines);
        }
    }

    fn part(&mut self, line: &str) {
        let line = line.trim();
        if line.len() >= MIN_PART_LENGTH {
            forms::spell(line, |form| {
                self.patterns.insert(form);
            });
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} spellings)", self.patterns.len())
    }
}
