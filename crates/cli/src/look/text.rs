//! Texts of other people, made safe for a terminal.

/// The longest message on one line.
const MAX_LINE: usize = 200;

/// A text without anything that a terminal would obey: control characters become spaces, and those that turn the
/// direction of writing or have no width are left out.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .filter(|character| !is_invisible(*character))
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect()
}

/// The same for a text of several lines.
pub(crate) fn lines(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| plain(line).trim_end().to_owned())
        .collect()
}

/// The first line of a text that says anything, cut to what fits on a line, and without the mark that it has in a list.
pub(crate) fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut line = plain(lines.next().unwrap_or_default().trim_start_matches("* "));
    // A line that only announces the next one says nothing.
    if line.ends_with(':')
        && let Some(next) = lines.next()
    {
        line = format!("{line} {}", plain(next).trim());
    }
    cut(line.trim(), MAX_LINE)
}

/// A text of at most so many characters. Half a command is worse than none: one that does not fit is left out.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most.saturating_sub(1)).collect();
    let start = match cut_command(text, start.len()) {
        Some(at) => &start[..at],
        None => &start,
    };
    format!("{}…", start.trim_end())
}

/// Where the command begins that would be cut off here.
fn cut_command(text: &str, end: usize) -> Option<usize> {
    let begins = |at: &usize| {
        let before = text[..*at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && !matches!(before, '-' | '/' | '.' | '_'))
    };
    let last = ["kubectl ", "capt "]
        .iter()
        .flat_map(|program| text.match_indices(program).map(|(at, _)| at))
        .filter(|at| *at < end && begins(at))
        .max()?;
    // A sentence, or a part of one, ends a command; so do they in the messages that have any.
    let rest = &text[last..];
    let over = ["; ", ". ", ", ", "\n"]
        .iter()
        .filter_map(|mark| rest.find(mark))
        .min()
        .unwrap_or(rest.len());
    (last + over > end).then_some(last)
}

fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_steers_a_terminal() {
        for (text, expected) in [
            ("plain", "plain"),
            ("\u{1b}[2Jgone", " [2Jgone"),
            ("a\tb\u{7}c\u{9b}31m", "a b c 31m"),
            ("ab\u{202e}cd\u{200b}", "abcd"),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
        assert_eq!(lines("one\r\n\u{1b}two"), ["one", " two"]);
    }

    #[test]
    fn a_line_is_the_first_that_says_anything_and_is_not_too_long() {
        assert_eq!(first_line("\n  \n first \nsecond"), "first");
        assert_eq!(first_line(""), "");
        assert_eq!(first_line("* One: x\n* Two: y"), "One: x");
        assert_eq!(first_line("* One:\n  * it broke"), "One: * it broke");
        let long = first_line(&"x".repeat(500));
        assert_eq!((long.chars().count(), long.ends_with('…')), (200, true));
        assert_eq!(cut("héllo", 5), "héllo");
        assert_eq!(cut("héllo", 4), "hél…");
    }

    #[test]
    fn a_command_is_there_whole_or_not_at_all() {
        let text = "no state. If it is gone: kubectl annotate wtapply x -n team a=b; then all is made anew";
        for (most, expected) in [
            (200, text),
            (
                79,
                "no state. If it is gone: kubectl annotate wtapply x -n team a=b; then all is m…",
            ),
            (60, "no state. If it is gone:…"),
            (27, "no state. If it is gone:…"),
            (12, "no state. I…"),
        ] {
            assert_eq!(cut(text, most), expected, "{most}");
        }
        assert_eq!(
            cut("the capt-apt is a word, and no command", 20),
            "the capt-apt is a w…"
        );
    }
}
