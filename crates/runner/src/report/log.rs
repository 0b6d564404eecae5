//! What Terraform printed, readable, and never too much of it.

use std::collections::VecDeque;

use capt_terraform::{
    diagnostics,
    stream::{Event, Kind, Severity},
};
use k8s_openapi::jiff::Timestamp;

use crate::engine::{Phase, Told};

/// How much of a log is kept. Two logs of operations, one of a plan, a plan as text and the report with its lists must fit
/// into one ConfigMap, which may hold a mebibyte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes of the beginning.
    head: usize,
    /// Bytes of the end.
    tail: usize,
}

impl Room {
    /// For an operation.
    pub(crate) const OPERATION: Self = Self {
        head: 64 * 1024,
        tail: 144 * 1024,
    };
    /// For a plan that somebody asked for.
    pub(crate) const PLAN: Self = Self {
        head: 16 * 1024,
        tail: 48 * 1024,
    };
}

/// Bytes of one line that are kept.
const LINE: usize = 8 * 1024;

/// A log that keeps its beginning and its end.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    room: Room,
    head: String,
    tail: VecDeque<String>,
    tail_bytes: usize,
    left_out: u64,
}

impl Log {
    /// An empty one.
    pub(crate) fn new(room: Room) -> Self {
        Self {
            room,
            head: String::new(),
            tail: VecDeque::new(),
            tail_bytes: 0,
            left_out: 0,
        }
    }

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
        if self.tail.is_empty() && self.head.len() + line.len() <= self.room.head {
            self.head.push_str(&line);
            return;
        }
        self.tail_bytes += line.len();
        self.tail.push_back(line);
        while self.tail_bytes > self.room.tail {
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
        for room in [Room::OPERATION, Room::PLAN] {
            let mut log = Log::new(room);
            for number in 0..100_000 {
                log.push(now(), &format!("line {number}"));
            }
            let text = log.text();
            assert!(text.len() <= room.head + room.tail + 100, "{}", text.len());
            assert!(text.starts_with("08:00:00 line 0\n"), "{}", &text[..40]);
            assert!(text.ends_with("line 99999\n"));
            let shown = text.lines().filter(|line| line.contains(" line ")).count();
            assert!(text.contains(&format!("… {} lines are left out here …", 100_000 - shown)));
        }
    }

    #[test]
    fn all_that_is_told_fits_into_one_configmap() {
        let whole = |room: Room| room.head + room.tail;
        let all = 2 * whole(Room::OPERATION) + whole(Room::PLAN) + super::super::MAX_PLAN_TEXT;
        // The rest is for the report, of which values may have a part.
        assert!(
            all + 96 * 1024 + super::super::values::ROOM <= 1024 * 1024,
            "{all}"
        );
    }

    #[test]
    fn a_short_log_is_whole_and_a_long_line_is_not() {
        let mut log = Log::new(Room::OPERATION);
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
