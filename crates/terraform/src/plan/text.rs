//! A plan for people to read.

use std::fmt::Write as _;

use super::{Plan, ResourceChange};
use crate::stream::Action;

impl Plan {
    /// The plan in words, at most this many lines of changes: what destroys first, then the rest by address.
    #[must_use]
    pub fn text(&self, max_lines: usize) -> String {
        let mut text = format!("Plan {}: {}\n", self.id(), self.summary());
        if self.errored {
            text.push_str("Planning failed half-way, so this is not all of it.\n");
        }
        let (first, rest): (Vec<_>, Vec<_>) = self.changes.iter().partition(|change| change.is_destructive());
        let mut lines: Vec<String> = first.into_iter().chain(rest).map(line).collect();
        lines.extend(
            self.outputs
                .iter()
                .map(|(name, action)| format!("  {} output.{name}", mark(action))),
        );
        lines.extend(self.drift.iter().map(|change| {
            format!(
                "  ! {} was {} by somebody else{}",
                change.address,
                past(&change.action),
                paths(&change.paths)
            )
        }));
        let hidden = lines.len().saturating_sub(max_lines);
        lines.truncate(max_lines);
        for line in lines {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{line}");
        }
        if hidden > 0 {
            let _ = writeln!(text, "  … and {hidden} more");
        }
        text
    }
}

fn line(change: &ResourceChange) -> String {
    let mut line = format!("  {} {}", mark(&change.action), change.address);
    if let Some(deposed) = &change.deposed {
        let _ = write!(line, " (leftover {deposed})");
    }
    if let Some(previous) = &change.previous_address {
        let _ = write!(line, ", until now {previous}");
    }
    if let Some(id) = &change.id {
        let _ = write!(line, " [id={id}]");
    }
    match change.action {
        Action::Replace if !change.replace_paths.is_empty() => {
            let _ = write!(line, ": must be replaced{}", paths(&change.replace_paths));
        }
        Action::Replace => line.push_str(": must be replaced"),
        Action::Delete => line.push_str(": will be destroyed"),
        _ => line.push_str(&paths(&change.paths)),
    }
    match change.reason.as_deref() {
        Some("cannot_update") | None => {}
        Some(reason) => {
            let _ = write!(line, " ({})", reason.replace('_', " "));
        }
    }
    line
}

fn mark(action: &Action) -> &'static str {
    match action {
        Action::Create => "+",
        Action::Update => "~",
        Action::Replace => "±",
        Action::Delete => "-",
        Action::Read => "<",
        Action::Import => "&",
        Action::Move => ">",
        Action::Forget => ".",
        Action::Noop | Action::Other(_) => "?",
    }
}

fn past(action: &Action) -> &'static str {
    match action {
        Action::Delete => "deleted",
        Action::Create => "created",
        _ => "changed",
    }
}

fn paths(paths: &[String]) -> String {
    if paths.is_empty() {
        String::new()
    } else {
        format!(" ({})", paths.join(", "))
    }
}
