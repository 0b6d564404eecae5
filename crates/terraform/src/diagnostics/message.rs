//! Errors as one message for a condition or an event.

use crate::stream::{Diagnostic, Severity};

/// All errors as one message of at most this many bytes, the first in full, repeated ones once.
///
/// `None` if there is no error.
#[must_use]
pub fn message(diagnostics: &[Diagnostic], max_bytes: usize) -> Option<String> {
    let mut errors: Vec<String> = Vec::new();
    for diagnostic in diagnostics {
        if diagnostic.severity != Severity::Error || super::is_echo(diagnostic) {
            continue;
        }
        let text = one(diagnostic);
        if !errors.contains(&text) {
            errors.push(text);
        }
    }
    // An interrupted run may have nothing but the echo to show.
    let echo = diagnostics
        .iter()
        .find(|diagnostic| diagnostic.severity == Severity::Error)
        .map(one);
    if errors.is_empty() {
        return echo.map(|text| bounded(&text, max_bytes));
    }
    let mut text = errors.remove(0);
    for (at, error) in errors.iter().enumerate() {
        if text.len() + error.len() + 2 > max_bytes {
            let more = format!("\n(and {} more)", errors.len() - at);
            text = bounded(&text, max_bytes.saturating_sub(more.len()));
            text.push_str(&more);
            break;
        }
        text.push_str("\n\n");
        text.push_str(error);
    }
    Some(bounded(&text, max_bytes))
}

/// One diagnostic in full: what, where, and the detail.
#[must_use]
pub fn one(diagnostic: &Diagnostic) -> String {
    let mut text = diagnostic.summary.trim().to_owned();
    if let Some(address) = &diagnostic.address {
        text.push_str(&format!(" with {address}"));
    }
    if let Some(range) = &diagnostic.range {
        text.push_str(&format!(" at {}:{}", range.filename, range.start.line));
    }
    let detail = diagnostic.detail.trim();
    if !detail.is_empty() {
        text.push_str(": ");
        text.push_str(detail);
    }
    text
}

/// The text, cut to at most this many bytes between characters, with a sign that it was cut.
#[must_use]
pub fn bounded(text: &str, max_bytes: usize) -> String {
    const CUT: &str = "…";
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let Some(room) = max_bytes.checked_sub(CUT.len()) else {
        return String::new();
    };
    let mut end = room;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", text[..end].trim_end())
}
