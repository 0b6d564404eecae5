//! A picture of what an object is made of, as text.

use k8s_openapi::jiff::Timestamp;

use super::{Branch, Graph, Health, Place, branches};

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
    let branches = branches(graph, root);
    lines.extend(branches.iter().filter_map(|branch| line(graph, branch, now)));
    laid_out(&lines)
}

fn line(graph: &Graph, branch: &Branch, now: Timestamp) -> Option<Line> {
    let Branch { lines, id, place } = branch;
    let node = graph.node(id)?;
    let short = |name: String, status: &str| Line {
        columns: [name, status.to_owned(), String::new(), String::new()],
        message: String::new(),
    };
    Some(match place {
        Place::Again => short(format!("{lines}{id}"), "(above)"),
        Place::Lacking => short(format!("{lines}needs {id}"), &node.status),
        Place::Made => Line {
            columns: [
                format!("{lines}{id}"),
                node.status.clone(),
                node.reason.clone(),
                node.created_at.map_or_else(String::new, |time| age(time, now)),
            ],
            message: match node.health {
                Health::Good => String::new(),
                _ => first_line(&node.message),
            },
        },
    })
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
