//! The one gate that every byte passes before it leaves: status, events, logs, metrics.
//!
//! Terraform's own marks are not enough. A failing provisioner prints a sensitive value inside a diagnostic, plans hold
//! sensitive variables in the clear, and some providers copy a sensitive input into an attribute that is not marked. So
//! we collect every value that is known to be secret and take out whatever equals one of them, in all the spellings
//! that a secret has on its way through JSON, base64 and URLs, also when it arrives in pieces.
//!
//! What is taken out depends on how likely it stands in ordinary text too:
//!
//! | a value of | is taken out |
//! |---|---|
//! | [`MIN_LENGTH_ANYWHERE`] bytes and more | wherever it stands |
//! | [`MIN_LENGTH`] bytes and more | where it is a whole token (`token` says what that is) |
//! | less | never: a log without the word `yes` could not be read |
//! | `true`, `false`, `null`; what is public, by [`Secrets::exempt`] | never |
//!
//! What passes it ends in ConfigMaps and events: every subject that may `get configmaps` reads it, as the built-in
//! ClusterRole `view` allows. This module must never know more of where bytes come from or go to.

mod automaton;
mod document;
mod forms;
mod lines;
mod names;
mod number;
mod secrets;
mod sources;
mod stream;
mod token;

use std::fmt;

pub use document::Format;
pub use forms::{MIN_LENGTH, MIN_LENGTH_ANYWHERE};
pub use names::is_telling;
pub use secrets::Secrets;
pub use sources::{sensitive_in_plan, sensitive_in_state};
pub use stream::RedactedStream;

use automaton::Automaton;
use lines::Sequences;

/// What stands where a secret was.
pub const PLACEHOLDER: &str = "(redacted)";

/// Takes secrets out of text.
#[derive(Default)]
pub struct Redactor {
    automaton: Automaton,
    sequences: Sequences,
}

impl Redactor {
    /// One that knows these secrets.
    #[must_use]
    pub fn new(secrets: &Secrets) -> Self {
        let whole = Self {
            automaton: Automaton::new(&secrets.patterns()),
            sequences: Sequences::default(),
        };
        let sequences = Sequences::new(secrets.sequences(), |line| whole.text(line).into_bytes());
        Self { sequences, ..whole }
    }

    /// The text without secrets. Where it was cut (it ends with `…`), half a secret is one too.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        const CUT: &str = "…";
        let mut clean = Vec::with_capacity(text.len());
        let mut stream = self.stream();
        match text.strip_suffix(CUT) {
            Some(begun) => {
                stream.push_cut(begun.as_bytes(), &mut clean);
                stream.push(CUT.as_bytes(), &mut clean);
            }
            None => stream.push(text.as_bytes(), &mut clean),
        }
        stream.finish(&mut clean);
        String::from_utf8(clean)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// A gate for bytes that come in pieces. What leaves does not depend on where they were cut.
    #[must_use]
    pub fn stream(&self) -> RedactedStream<'_> {
        RedactedStream::new(&self.automaton, &self.sequences)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(…)")
    }
}

#[cfg(test)]
mod tests;
