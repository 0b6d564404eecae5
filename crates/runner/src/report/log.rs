//! What Terraform printed, readable, and never too much of it.

use std::collections::VecDeque;

use capt_terraform::{
    diagnostics,
    stream::{Event, Kind, Severity},
};
use k8s_openapi::jiff::Timestamp;

use crate::engine::{Phase, Told};

/// Bytes of the beginning that are kept.
const HEAD: usize = 64 * 1024;
/// Bytes of the end that are kept.
const TAIL: usize = 192 * 1024;
/// Bytes of one line that are kept.
const LINE: usize = 8 * 1024;

/// A log that keeps its beginning and its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    head: String,
    tail: VecDeque<String>,
    tail_bytes: usize,
    left_out: u64,
}

impl Log {
    /// Appends lines, each with the time.
    pub(crate) fn push(&mut self, now: Timestamp, text: &str) {
        for line in text.lines() {
            let line = format!(
                "{} {}\n",
                now.strftime("%H:%M:%S"),
                diagnostics::bounded(line, LINE)
            );
            self.push_line(line);
        }
    }

    /// All of it.
    pub(crate) fn text(&self) -> String {
        let mut text = self.head.clone();
        if self.left_out > 0 {
            text.push_str(&format!("… {} lines are left out here …\n", self.left_out));
        }
        self.tail.iter().for_each(|line| text.push_str(line));
        text
    }

    fn push_line(&mut self, line: String) {
        if self.tail.is_empty() && self.head.len() + line.len() <= HEAD {
            self.head.push_str(&line);
            return;
        }
        self.tail_bytes += line.len();
        self.tail.push_back(line);
        while self.tail_bytes > TAIL {
            let Some(oldest) = self.tail.pop_front() else {
                break;
            };
            self.tail_bytes -= oldest.len();
            self.left_out += 1;
        }
    }
}

/// What is told, as lines for people; nothing if it is not for them.
pub(crate) fn readable(told: &Told) -> Option<String> {
    match told {
        Told::Phase(phase) => Some(format!("--- {}", name(*phase))),
        Told::Event(event) => event_text(event),
        Told::Text(text) => Some(text.clone()),
        Told::State(_) | Told::Secrets(_) => None,
    }
}

/// What a phase is called.
pub(crate) fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Init => "init",
        Phase::Plan => "plan",
        Phase::Apply => "apply",
    }
}

fn event_text(event: &Event) -> Option<String> {
    match &event.kind {
        Kind::Diagnostic(diagnostic) => {
            let severity = match diagnostic.severity {
                Severity::Error => "Error",
                _ => "Warning",
            };
            Some(format!("{severity}: {}", diagnostics::one(diagnostic)))
        }
        // They come twice, once in the plan and once before it is applied, and once more in the plan's own text.
        Kind::PlannedChange(_) | Kind::Outputs(_) | Kind::Version { .. } => None,
        _ => Some(event.message.clone()).filter(|message| !message.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).expect("a valid time")
    }

    #[test]
    fn a_long_log_keeps_its_beginning_and_its_end() {
        let mut log = Log::default();
        for number in 0..100_000 {
            log.push(now(), &format!("line {number}"));
        }
        let text = log.text();
        assert!(text.len() <= HEAD + TAIL + 100, "{}", text.len());
        assert!(text.starts_with("08:00:00 line 0\n"), "{}", &text[..40]);
        assert!(text.ends_with("line 99999\n"));
        let shown = text.lines().filter(|line| line.contains(" line ")).count();
        assert!(text.contains(&format!("… {} lines are left out here …", 100_000 - shown)));
    }

    #[test]
    fn a_short_log_is_whole_and_a_long_line_is_not() {
        let mut log = Log::default();
        log.push(now(), "one\ntwo");
        log.push(now(), &"x".repeat(LINE * 2));
        let text = log.text();
        assert!(
            text.starts_with("08:00:00 one\n08:00:00 two\n08:00:00 xxx"),
            "{text}"
        );
        assert!(text.len() < LINE + 100);
        assert!(!text.contains("left out"));
    }
}
