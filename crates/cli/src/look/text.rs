//! Texts of other people, made safe for a terminal.

use std::ops::Range;

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

/// All that a text of several lines says.
pub(crate) fn whole(text: &str) -> String {
    lines(text).join("\n").trim().to_owned()
}

/// The first line of a text that says anything, cut to what fits on a line, and without the mark that it has in a list.
pub(crate) fn first_line(text: &str) -> String {
    cut(&first(text), MAX_LINE)
}

/// What a text says, on one line and whole: the first line that says anything, and the command in the last, which is what to
/// do about it.
pub(crate) fn line(text: &str) -> String {
    let first = first(text);
    let mut lines = text.lines().rev().map(|line| plain(line.trim()));
    let last = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let command = commands(&last).into_iter().next_back();
    let Some(command) = command.filter(|_| !first.ends_with(&last)) else {
        return first;
    };
    let sentence = last[..command.start].rfind(". ").map_or(0, |end| end + 2);
    format!("{first} … {}", &last[sentence..])
}

fn first(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut line = plain(lines.next().unwrap_or_default().trim_start_matches("* "));
    // A line that only announces the next one says nothing.
    if line.ends_with(':')
        && let Some(next) = lines.next()
    {
        line = format!("{line} {}", plain(next).trim());
    }
    line.trim().to_owned()
}

/// A text in lines of at most so many characters. Words stay whole, and so do commands: half of one cannot be typed.
pub(crate) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let commands = commands(text);
    let is_inside = |at: usize| {
        commands
            .iter()
            .any(|command| command.start < at && at < command.end)
    };
    let ends = text
        .match_indices(' ')
        .map(|(at, _)| at)
        .filter(|at| !is_inside(*at));
    let mut lines: Vec<String> = Vec::new();
    let mut start = 0;
    for end in ends.chain([text.len()]) {
        let word = text[start..end].trim();
        start = end;
        if word.is_empty() {
            continue;
        }
        let length = word.chars().count() + 1;
        match lines
            .last_mut()
            .filter(|line| line.chars().count() + length <= most)
        {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The lines of a text that say anything, each in as many lines as the room asks for, on the indent that it has. At least half of
/// the room is left to the words.
pub(crate) fn hung(text: &str, room: Option<usize>) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let hung = |line: &str| {
        let words = line.trim_start();
        let Some(room) = room else {
            return vec![line.trim_end().to_owned()];
        };
        let indent = line.chars().count() - words.chars().count();
        let indent = indent.min(room / 2);
        let parts = wrapped(words, room - indent).into_iter();
        parts
            .map(|part| format!("{}{part}", " ".repeat(indent)))
            .collect()
    };
    lines.flat_map(hung).collect()
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
    let mut commands = commands(text).into_iter().rev();
    let last = commands.find(|command| command.start < end)?;
    (last.end > end).then_some(last.start)
}

/// Where commands stand in a text.
pub(crate) fn commands(text: &str) -> Vec<Range<usize>> {
    let begins = |at: &usize| {
        let before = text[..*at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && !matches!(before, '-' | '/' | '.' | '_'))
    };
    let mut starts: Vec<usize> = ["kubectl ", "capt "]
        .iter()
        .flat_map(|program| text.match_indices(program).map(|(at, _)| at))
        .filter(begins)
        .collect();
    starts.sort_unstable();
    starts
        .into_iter()
        .map(|start| {
            // A sentence, or a part of one, ends a command; so do they in the messages that have any.
            let rest = &text[start..];
            let over = ["; ", ". ", ", ", "\n"].iter().filter_map(|mark| rest.find(mark));
            start..start + over.min().unwrap_or(rest.len())
        })
        .collect()
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
    fn a_line_says_what_is_wrong_and_what_to_do_however_long_it_is() {
        let long = format!("{}: capt retry wtapply/x", "x".repeat(500));
        let retry = "Mend it, and ask for another try: capt retry wtapply/x -n team";
        for (text, expected) in [
            (long.as_str(), long.clone()),
            ("one\ntwo", "one".to_owned()),
            ("* One:\n  * it broke", "One: * it broke".to_owned()),
            (
                "One:\ncapt retry wtapply/x",
                "One: capt retry wtapply/x".to_owned(),
            ),
            (
                &format!("Terraform failed: no subnets\n\n  on main.tf\n  in a module. {retry}"),
                format!("Terraform failed: no subnets … {retry}"),
            ),
            ("", String::new()),
        ] {
            assert_eq!(line(text), expected, "{text}");
        }
    }

    #[test]
    fn a_long_text_goes_on_below_and_keeps_its_commands() {
        let text =
            "the Secret is not there; to have it written again: capt retry wtapply/x -n team. See to it";
        for (most, expected) in [
            (200, vec![text]),
            (
                40,
                vec![
                    "the Secret is not there; to have it",
                    "written again:",
                    "capt retry wtapply/x -n team. See to it",
                ],
            ),
            (
                20,
                vec![
                    "the Secret is not",
                    "there; to have it",
                    "written again:",
                    "capt retry wtapply/x -n team.",
                    "See to it",
                ],
            ),
        ] {
            assert_eq!(wrapped(text, most), expected, "{most}");
        }
        assert!(wrapped("", 20).is_empty());
    }

    #[test]
    fn an_indent_leaves_room_for_the_words() {
        let deep = format!("{}one two three four", " ".repeat(60));
        let half = " ".repeat(10);
        for (text, room, expected) in [
            (
                deep.as_str(),
                Some(20),
                vec![format!("{half}one two"), format!("{half}three four")],
            ),
            (deep.as_str(), None, vec![deep.clone()]),
            // Wide spaces are one character each, and several bytes.
            ("\u{3000}\u{3000}one two", Some(9), vec!["  one two".to_owned()]),
            ("  one", Some(0), vec!["one".to_owned()]),
        ] {
            assert_eq!(hung(text, room), expected, "{text:?} {room:?}");
        }
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
