//! The differences that are meant, each with its reason.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::diff::Difference;

/// The exceptions of a suite.
#[derive(Debug, Default)]
pub struct Allowed(Vec<Exception>);

/// One kind of difference that is meant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The scenarios it applies to; `*` stands for any text.
    #[serde(default = "anything")]
    pub scenario: String,
    /// The steps it applies to.
    #[serde(default = "anything")]
    pub step: String,
    /// The fields it applies to, such as `body.metadata.*`.
    pub path: String,
    /// Why the servers differ here, in a sentence.
    pub reason: String,
    #[serde(skip)]
    used: Cell<bool>,
}

/// Why the list of exceptions cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AllowedError {
    /// The file cannot be read.
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// The file is no list of exceptions.
    #[error("{} is no list of exceptions", .0.display())]
    Shape(PathBuf, #[source] Box<serde_saphyr::Error>),
}

impl Allowed {
    /// Reads the list from a file.
    pub fn read(path: &Path) -> Result<Self, AllowedError> {
        let text = std::fs::read_to_string(path).map_err(|error| AllowedError::Read(path.into(), error))?;
        let exceptions = serde_saphyr::from_str(&text)
            .map_err(|error| AllowedError::Shape(path.into(), Box::new(error)))?;
        Ok(Self(exceptions))
    }

    /// The reason why this difference is meant, if it is.
    pub fn reason(&self, scenario: &str, step: &str, difference: &Difference) -> Option<&str> {
        let exception = self.0.iter().find(|exception| {
            glob(&exception.scenario, scenario)
                && glob(&exception.step, step)
                && glob(&exception.path, &difference.path)
        })?;
        exception.used.set(true);
        Some(&exception.reason)
    }

    /// The exceptions that no difference needed, which are better deleted.
    pub fn unused(&self) -> impl Iterator<Item = &Exception> {
        self.0.iter().filter(|exception| !exception.used.get())
    }
}

fn anything() -> String {
    "*".into()
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && glob(tail, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_any_text_at_a_star() {
        let cases = [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("a", "a", true),
            ("a*", "b", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(glob(pattern, text), expected, "{pattern} on {text}");
        }
    }
}
