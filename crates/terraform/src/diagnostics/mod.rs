//! What went wrong, in words that help, and whether trying again can help.
//!
//! This module must never know how often something was tried; it says what an error means, others decide what to do.

mod class;
mod encoded;
mod locked;
mod message;

use crate::stream::{Diagnostic, Severity};

pub use class::{Class, classify, classify_text};
pub use encoded::readable;
pub use locked::LockHolder;
pub use message::{bounded, message, one};

/// What the errors of one run mean together.
///
/// Trying again helps only if it helps against every error, so one that is terminal decides.
#[must_use]
pub fn verdict<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Option<Class> {
    let classes = diagnostics
        .into_iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error && !is_echo(diagnostic))
        .map(classify);
    classes.min_by_key(|class| class.is_transient())
}

/// Terraform repeats this when it stops for another reason that has its own diagnostic.
fn is_echo(diagnostic: &Diagnostic) -> bool {
    diagnostic.summary == "execution halted"
}

#[cfg(test)]
mod tests;
