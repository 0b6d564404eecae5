//! Columns that stand below each other.

use super::{
    style::{Colour, Style},
    text,
};

const GAP: usize = 3;
/// Fewer characters than this are no column that anybody reads.
const NARROW: usize = 30;
/// How far a text is indented that stands below its row.
const BELOW: usize = 6;

/// What stands in one place of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) colour: Option<Colour>,
}

impl Cell {
    /// A text in a colour.
    pub(crate) fn in_colour(text: impl Into<String>, colour: Colour) -> Self {
        Self {
            text: text.into(),
            colour: Some(colour),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            colour: None,
        }
    }
}

/// A line of column names.
pub(crate) fn header<const N: usize>(names: [&str; N]) -> Vec<Cell> {
    names
        .into_iter()
        .map(|name| Cell::in_colour(name, Colour::Dim))
        .collect()
}

/// The name of the last column stays beside the others, although texts that find no room in that column stand below their rows.
fn header_line(row: &[Cell], widths: &[usize], style: Style) -> String {
    let no_end = Style { width: None, ..style };
    let Some(((last, others), width)) = row.split_last().zip(style.width) else {
        return line(row, widths, no_end) + "\n";
    };
    let length = last.text.chars().count();
    let mut widths = widths.to_vec();
    // It moves to the left as far as it has to and as the name before it lets it.
    let before: usize = widths.iter().take(others.len()).map(|width| width + GAP).sum();
    let excess = (before + length).saturating_sub(width);
    if let (Some(previous), Some(padded)) = (others.last(), widths.get_mut(others.len().saturating_sub(1))) {
        *padded = padded.saturating_sub(excess).max(previous.text.chars().count());
    }
    line(row, &widths, no_end) + "\n"
}

/// How wide each column of a table is, at least as wide as it was before.
pub(crate) fn widths(rows: &[Vec<Cell>], before: &[usize]) -> Vec<usize> {
    let mut widths = before.to_vec();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.text.chars().count().max(*width);
        }
    }
    widths
}

/// The rows of a table, one per line. The last column is cut where lines have an end.
pub(crate) fn laid_out(rows: &[Vec<Cell>], widths: &[usize], style: Style) -> String {
    rows.iter().map(|row| line(row, widths, style) + "\n").collect()
}

/// The same, but nothing of the last column is left out: where lines have an end it goes on below itself, or below the whole row
/// if there is too little room for that. Lines of a text stay lines everywhere.
pub(crate) fn wrapped(rows: &[Vec<Cell>], widths: &[usize], style: Style) -> String {
    rows.iter().map(|row| hanging(row, widths, style)).collect()
}

/// The same below a line of column names.
pub(crate) fn titled(header: &[Cell], rows: &[Vec<Cell>], widths: &[usize], style: Style) -> String {
    header_line(header, widths, style) + &wrapped(rows, widths, style)
}

/// A row whose last column hangs on an indent.
fn hanging(row: &[Cell], widths: &[usize], style: Style) -> String {
    let Some((last, others)) = row.split_last() else {
        return "\n".to_owned();
    };
    let before: usize = widths.iter().take(others.len()).map(|width| width + GAP).sum();
    let room = style.width.map(|width| width.saturating_sub(before));
    let is_one_line = |room: usize| !last.text.contains('\n') && last.text.chars().count() <= room;
    let is_below = room.is_some_and(|room| room < NARROW && !is_one_line(room));
    let (indent, room) = match style.width.filter(|_| is_below) {
        Some(width) => (BELOW, Some(width.saturating_sub(BELOW))),
        None => (before, room),
    };
    let mut parts = text::hung(&last.text, room).into_iter();
    let mut first = others.to_vec();
    if !is_below {
        first.push(Cell {
            text: parts.next().unwrap_or_default(),
            colour: last.colour,
        });
    }
    let no_end = Style { width: None, ..style };
    let mut text = line(&first, widths, no_end) + "\n";
    for part in parts {
        let part = style.paint(&part, last.colour);
        text.push_str(&format!("{}{part}\n", " ".repeat(indent)));
    }
    text
}

fn line(row: &[Cell], widths: &[usize], style: Style) -> String {
    let mut line = String::new();
    let mut room = style.width.unwrap_or(usize::MAX);
    // What would follow the last text is left out.
    let count = row
        .iter()
        .rposition(|cell| !cell.text.is_empty())
        .map_or(0, |last| last + 1);
    for (at, cell) in row.iter().enumerate().take(count) {
        let shown = text::cut(&cell.text, room);
        let length = shown.chars().count();
        line.push_str(&style.paint(&shown, cell.colour));
        room = room.saturating_sub(length);
        if at + 1 < count {
            let width = widths.get(at).copied().unwrap_or_default();
            let padding = (width.saturating_sub(length) + GAP).min(room);
            line.push_str(&" ".repeat(padding));
            room = room.saturating_sub(padding);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_and_lines_have_no_tail() {
        let rows = [
            header(["NAME", "STATE", "WHY"]),
            vec!["é".into(), "Ready".into(), "".into()],
            vec!["longer-name".into(), "".into(), "because".into()],
        ];
        let widths = widths(&rows, &[]);
        assert_eq!(
            laid_out(&rows, &widths, Style::default()),
            "NAME          STATE   WHY\né             Ready\nlonger-name           because\n"
        );
    }

    #[test]
    fn a_message_goes_on_below_itself_and_loses_nothing() {
        let message = "the Secret is not there; to have it written again: capt retry captcluster/x -n team";
        let header = header(["NAME", "MESSAGE"]);
        let rows = [vec!["a".into(), message.into()], vec!["b".into(), "".into()]];
        let widths = widths(&rows, &super::widths(std::slice::from_ref(&header), &[]));
        let on = |width| {
            let style = Style { colour: false, width };
            titled(&header, &rows, &widths, style)
        };
        assert_eq!(
            on(Some(47)),
            "NAME   MESSAGE\n\
             a      the Secret is not there; to have it\n       \
             written again:\n       \
             capt retry captcluster/x -n team\n\
             b\n"
        );
        let whole = format!("NAME   MESSAGE\na      {message}\nb\n");
        for width in [None, Some(200)] {
            assert_eq!(on(width), whole, "{width:?}");
        }
        assert_eq!(
            on(Some(36)),
            "NAME   MESSAGE\n\
             a\n      \
             the Secret is not there; to\n      \
             have it written again:\n      \
             capt retry captcluster/x -n team\n\
             b\n",
            "too little room beside the name"
        );
    }

    #[test]
    fn the_name_of_a_column_stays_beside_the_others() {
        let header = header(["AGE", "OBJECT", "MESSAGE"]);
        for (object, width, expected) in [
            (
                "a-name-of-thirty-characters-00",
                40,
                "AGE   OBJECT                     MESSAGE\n",
            ),
            (
                "a-name-of-thirty-characters-00",
                80,
                "AGE   OBJECT                           MESSAGE\n",
            ),
            (
                "a-name-of-forty-characters-0000000000000",
                20,
                "AGE   OBJECT   MESSAGE\n",
            ),
        ] {
            let rows = [vec![
                "1m".into(),
                object.into(),
                "many words, for which there is no room beside it".into(),
            ]];
            let widths = widths(&rows, &super::widths(std::slice::from_ref(&header), &[]));
            let style = Style {
                colour: false,
                width: Some(width),
            };
            let text = titled(&header, &rows, &widths, style);
            let first = text.split_inclusive('\n').next();
            assert_eq!(first, Some(expected), "{width}\n{text}");
        }
    }

    #[test]
    fn lines_of_a_message_stay_lines() {
        let rows = [vec![
            "a".into(),
            "Terraform failed:\n  on main.tf, which is long enough to need a second line\nmend it".into(),
        ]];
        for (width, expected) in [
            (
                None,
                "a   Terraform failed:\n      on main.tf, which is long enough to need a second line\n    mend it\n",
            ),
            (
                Some(40),
                "a   Terraform failed:\n      on main.tf, which is long enough\n      to need a second line\n    mend it\n",
            ),
        ] {
            let style = Style { colour: false, width };
            assert_eq!(wrapped(&rows, &widths(&rows, &[]), style), expected, "{width:?}");
        }
    }

    #[test]
    fn a_line_ends_where_the_terminal_ends_whatever_colour_it_has() {
        let rows = [vec![
            Cell::in_colour("name", Colour::Bold),
            "a long message".into(),
        ]];
        let style = Style {
            colour: true,
            width: Some(12),
        };
        assert_eq!(
            laid_out(&rows, &widths(&rows, &[]), style),
            "\u{1b}[1mname\u{1b}[0m   a lo…\n"
        );
    }
}
