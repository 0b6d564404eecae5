//! A picture of what an object is made of, as text.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;

use super::{Graph, Health, Relation};

/// The longest message that a line shows.
const MAX_MESSAGE: usize = 160;
const GAP: &str = "   ";

/// One line: what stands in each column.
struct Line {
    columns: [String; 4],
    message: String,
}

/// Draws an object and all that is made for it, one per line, with status, reason and age, and with what is the matter
/// if it is not well. What it uses and is not well either is shown below it.
#[must_use]
pub fn tree(graph: &Graph, root: &str, now: Timestamp) -> String {
    let mut lines = vec![Line {
        columns: ["NAME", "STATUS", "REASON", "AGE"].map(str::to_owned),
        message: "MESSAGE".to_owned(),
    }];
    let mut drawing = Drawing {
        graph,
        now,
        drawn: BTreeSet::new(),
        lines: Vec::new(),
    };
    drawing.draw(root, "", "");
    lines.extend(drawing.lines);
    laid_out(&lines)
}

struct Drawing<'a> {
    graph: &'a Graph,
    now: Timestamp,
    drawn: BTreeSet<String>,
    lines: Vec<Line>,
}

impl Drawing<'_> {
    fn draw(&mut self, id: &str, branch: &str, indent: &str) {
        if !self.drawn.insert(id.to_owned()) {
            return self.lines.push(Line {
                columns: [
                    format!("{branch}{id}"),
                    "(above)".to_owned(),
                    String::new(),
                    String::new(),
                ],
                message: String::new(),
            });
        }
        let Some(node) = self.graph.node(id) else {
            return;
        };
        let age_of = |time: Option<Timestamp>| time.map_or_else(String::new, |time| age(time, self.now));
        let message = if node.health == Health::Good {
            String::new()
        } else {
            first_line(&node.message)
        };
        self.lines.push(Line {
            columns: [
                format!("{branch}{id}"),
                node.status.clone(),
                node.reason.clone(),
                age_of(node.created_at),
            ],
            message,
        });
        let mut below: Vec<(String, bool)> = self
            .graph
            .made_by(id)
            .map(|child| (child.to_owned(), true))
            .collect();
        let lacking = self.graph.needs(id).filter(|(needed, relation)| {
            let node = self.graph.node(needed);
            *relation == Relation::Input && node.is_some_and(|node| node.health != Health::Good)
        });
        below.extend(lacking.map(|(needed, _)| (needed.to_owned(), false)));
        let count = below.len();
        for (place, (child, is_made)) in below.into_iter().enumerate() {
            let (fork, further) = if place + 1 == count {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            let (branch, indent) = (format!("{indent}{fork}"), format!("{indent}{further}"));
            if is_made {
                self.draw(&child, &branch, &indent);
            } else {
                self.draw_lacking(&child, &branch);
            }
        }
    }

    fn draw_lacking(&mut self, id: &str, branch: &str) {
        let node = self.graph.node(id);
        self.lines.push(Line {
            columns: [
                format!("{branch}needs {id}"),
                node.map_or_else(String::new, |node| node.status.clone()),
                String::new(),
                String::new(),
            ],
            message: String::new(),
        });
    }
}

fn laid_out(lines: &[Line]) -> String {
    let mut widths = [0; 4];
    for line in lines {
        for (width, column) in widths.iter_mut().zip(&line.columns) {
            *width = column.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (width, column) in widths.iter().zip(&line.columns) {
            let padding = width.saturating_sub(column.chars().count());
            row.push_str(column);
            row.push_str(&" ".repeat(padding));
            row.push_str(GAP);
        }
        row.push_str(&line.message);
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

/// What fits on a line, and no control character of it, which a terminal would obey.
fn first_line(message: &str) -> String {
    let line = message.lines().map(str::trim).find(|line| !line.is_empty());
    let line: String = line
        .unwrap_or_default()
        .chars()
        .filter(|character| !character.is_control())
        .collect();
    if line.chars().count() > MAX_MESSAGE {
        let cut: String = line.chars().take(MAX_MESSAGE - 1).collect();
        format!("{cut}…")
    } else {
        line
    }
}

/// How long ago something was, in the two units that tell most.
#[must_use]
pub fn age(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(time.as_second()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let pair = |large: i64, unit: char, small: i64, small_unit: char| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{small_unit}"),
    };
    match (minutes, hours, days) {
        (0..2, ..) => format!("{seconds}s"),
        (2..10, ..) => pair(minutes, 'm', seconds % 60, 's'),
        (10..180, ..) => format!("{minutes}m"),
        (_, 3..8, _) => pair(hours, 'h', minutes % 60, 'm'),
        (_, 8..48, _) => format!("{hours}h"),
        (_, _, 2..8) => pair(days, 'd', hours % 24, 'h'),
        _ => format!("{days}d"),
    }
}
