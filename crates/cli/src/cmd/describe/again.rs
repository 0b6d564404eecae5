//! What stands under Why is not printed a second time in full.

use crate::look::text;

/// What a message says to who has read another one: of lines that were there, the first as a reminder; of all others everything.
pub(super) fn again(message: &str, why: &str) -> String {
    let (told, known) = (lines(message), lines(why));
    // A single line is its own reminder.
    let Some(first) = told.first().filter(|_| told.len() > 1 && known.len() > 1) else {
        return text::whole(message);
    };
    let reminder = format!("{} (see Why)", first.trim());
    if is_known(message, why) {
        return reminder;
    }
    let (all, known) = (told.join("\n"), known.join("\n"));
    match all.strip_prefix(&known) {
        // Often it is what to do about it.
        Some(rest) if rest.starts_with(char::is_whitespace) => format!("{reminder}\n{}", rest.trim()),
        _ => text::whole(message),
    }
}

/// Whether all lines of a message are among those of another one, as they are there.
pub(super) fn is_known(message: &str, why: &str) -> bool {
    let (told, known) = (lines(message), lines(why));
    !told.is_empty() && known.windows(told.len()).any(|window| window == told)
}

/// The lines that say anything, as they are printed.
fn lines(text: &str) -> Vec<String> {
    let lines = text::lines(text).into_iter();
    lines.filter(|line| !line.trim().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_reminded_of_and_nothing_else_is_left_out() {
        let why = "It failed: no room\n\n  with aws_vpc.this\nAsk for more";
        for (message, expected) in [
            (why, "It failed: no room (see Why)"),
            (
                "It failed: no room\n  with aws_vpc.this\n\nAsk for more\n",
                "It failed: no room (see Why)",
            ),
            (
                "It failed: no room\n  with aws_vpc.this",
                "It failed: no room (see Why)",
            ),
            ("  with aws_vpc.this\nAsk for more", "with aws_vpc.this (see Why)"),
            (
                "It failed: no room\n  with aws_vpc.this\nAsk for more\nThen: capt retry wtapply/x",
                "It failed: no room (see Why)\nThen: capt retry wtapply/x",
            ),
            (
                "It failed: no room\n  with aws_vpc.this\nAsk for more. Then wait",
                "It failed: no room\n  with aws_vpc.this\nAsk for more. Then wait",
            ),
            (
                "It failed: no room\n  with aws_vpc.other",
                "It failed: no room\n  with aws_vpc.other",
            ),
            ("It failed: no room", "It failed: no room"),
            ("", ""),
        ] {
            assert_eq!(again(message, why), expected, "{message}");
        }
        for why in ["", "It failed"] {
            assert_eq!(again("It failed\nhere", why), "It failed\nhere", "{why}");
        }
    }
}
