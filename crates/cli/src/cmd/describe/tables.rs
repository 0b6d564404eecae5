//! The tables of a description.

use std::fmt::Write as _;

use capt_core::graph::age;
use k8s_openapi::jiff::Timestamp;

use super::{At, again::again, description::Description};
use crate::look::{
    row::Columns,
    style::{Colour, Style},
    table::{Cell, header, titled, widths},
    text,
};

impl Description {
    /// What there are several of, each in a table.
    pub(super) fn tables(&self, text: &mut String, now: Timestamp, style: Style) {
        let ago = |time: At| time.map_or_else(String::new, |time| age(time, now));
        // What to do often stands at the end of a message.
        let whole = |message: &str| Cell::from(again(message, &self.message));
        let plain = |word: &str| Cell::from(text::plain(word));
        let timeouts = self.timeouts.iter().map(|one| {
            let left = match &one.left {
                Some(left) => Cell::from(left.clone()),
                None => Cell::in_colour("over", Colour::Red),
            };
            vec![
                one.step.into(),
                age(one.since, now).into(),
                one.limit.clone().into(),
                left,
            ]
        });
        section(
            text,
            "Timeouts",
            header(["STEP", "BEGAN", "LIMIT", "LEFT"]),
            timeouts,
            style,
        );
        let columns = Columns::default();
        let parts = self.parts.iter().map(|row| columns.cells(row, now));
        section(text, "Parts", columns.header(), parts, style);
        let profiles = self.profiles.iter().map(|one| {
            vec![
                plain(&one.name),
                plain(&one.phase),
                ago(one.since).into(),
                plain(&one.selectors()),
                plain(one.workspace.as_deref().unwrap_or_default()),
                whole(&one.message),
            ]
        });
        section(
            text,
            "Fargate profiles",
            header(["NAME", "PHASE", "SINCE", "SELECTORS", "WORKSPACE", "MESSAGE"]),
            profiles,
            style,
        );
        let settings = self
            .profiles
            .iter()
            .filter_map(|one| Some((&one.name, one.settings()?)));
        for (at, (name, settings)) in settings.enumerate() {
            let gap = if at == 0 { "\n" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{gap}  {} has {}",
                text::plain(name),
                text::plain(&settings)
            );
        }
        for one in &self.profiles {
            let told = |text: &mut String, words: &str| {
                for line in text::lines(words) {
                    let _ = writeln!(text, "    {line}");
                }
            };
            if let Some(failure) = &one.failure {
                let _ = writeln!(text, "\n  {} went wrong:", text::plain(&one.name));
                told(text, &again(failure, &self.message));
            }
        }
        let conditions = self.conditions.iter().map(|one| {
            vec![
                plain(&one.type_),
                plain(&one.status),
                plain(&one.reason),
                age(one.since, now).into(),
                whole(&one.message),
            ]
        });
        section(
            text,
            "Conditions",
            header(["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"]),
            conditions,
            style,
        );
        let operations = self.operations.iter().map(|one| {
            let took = match (one.started_at, one.ended_at) {
                (Some(start), Some(end)) => age(start, end),
                (start, _) => ago(start),
            };
            vec![
                plain(&one.operation),
                plain(&one.result),
                ago(one.started_at).into(),
                took.into(),
                whole(&one.message),
            ]
        });
        section(
            text,
            "Operations",
            header(["OPERATION", "RESULT", "BEGAN", "TOOK", "MESSAGE"]),
            operations,
            style,
        );
        let events = self.events.iter().map(|one| {
            let count = if one.count > 1 {
                format!(" (x{})", one.count)
            } else {
                String::new()
            };
            vec![
                ago(one.at).into(),
                plain(&one.object),
                Cell {
                    text: text::plain(&one.reason) + &count,
                    colour: one.is_warning.then_some(Colour::Yellow),
                },
                whole(&one.message),
            ]
        });
        section(
            text,
            "Events",
            header(["AGE", "OBJECT", "REASON", "MESSAGE"]),
            events,
            style,
        );
    }
}

/// A table with a title, if there is anything in it.
fn section(
    text: &mut String,
    title: &str,
    header: Vec<Cell>,
    rows: impl Iterator<Item = Vec<Cell>>,
    style: Style,
) {
    let indented = |mut row: Vec<Cell>| {
        if let Some(first) = row.first_mut() {
            first.text.insert_str(0, "  ");
        }
        row
    };
    let rows: Vec<Vec<Cell>> = rows.map(indented).collect();
    if rows.is_empty() {
        return;
    }
    let header = indented(header);
    let widths = widths(&rows, &widths(std::slice::from_ref(&header), &[]));
    let _ = writeln!(text, "\n{title}:");
    text.push_str(&titled(&header, &rows, &widths, style));
}
