//! Regular expressions as Go reads them.
//!
//! Kubernetes compiles `pattern` with Go's `regexp`. The `regex` crate is its close relative, but its classes are
//! Unicode-aware, `[` nests inside a class and a stray `{` is an error. The text is rewritten so that both agree.

use regex::Regex;

/// Compiles a Go pattern; the error is the reason, on one line.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    if let Some(count) = too_often(pattern) {
        return Err(format!(
            "error parsing regexp: invalid repeat count: `{{{count}}}`"
        ));
    }
    Regex::new(&translate(pattern)).map_err(|error| match error {
        regex::Error::Syntax(text) => {
            let reason = text.lines().last().unwrap_or_default();
            format!(
                "error parsing regexp: {}: `{pattern}`",
                reason.trim_start_matches("error: ")
            )
        }
        other => other.to_string().replace('\n', " "),
    })
}

fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => rest = escape(rest, in_class, &mut out),
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                if let Some(after) = rest.strip_prefix('^') {
                    out.push('^');
                    rest = after;
                }
                // A bracket right at the start of a class is a member of it.
                if let Some(after) = rest.strip_prefix(']') {
                    out.push_str("\\]");
                    rest = after;
                }
            }
            '[' => match rest
                .strip_prefix(':')
                .and_then(|r| r.find(":]").map(|end| (r, end)))
            {
                Some((after, end)) => {
                    out.push_str("[:");
                    out.push_str(&after[..end + 2]);
                    rest = &after[end + 2..];
                }
                None => out.push_str("\\["),
            },
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '{' if !in_class && !is_repetition(rest) => out.push_str("\\{"),
            other => out.push(other),
        }
    }
    out
}

/// Rewrites what follows a backslash; returns what is left to read.
fn escape<'a>(rest: &'a str, in_class: bool, out: &mut String) -> &'a str {
    let Some(c) = rest.chars().next() else {
        out.push('\\');
        return rest;
    };
    let after = &rest[c.len_utf8()..];
    match c {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str("[\\t\\n\\f\\r ]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'b' if !in_class => out.push_str("(?-u:\\b)"),
        'B' if !in_class => out.push_str("(?-u:\\B)"),
        '<' | '>' => out.push(c),
        'Q' if !in_class => {
            let (literal, after) = after.split_once("\\E").unwrap_or((after, ""));
            out.push_str(&regex::escape(literal));
            return after;
        }
        'p' | 'P' | 'x' if after.starts_with('{') => {
            let end = after.find('}').map_or(after.len(), |at| at + 1);
            out.push('\\');
            out.push(c);
            out.push_str(&after[..end]);
            return &after[end..];
        }
        other => {
            out.push('\\');
            out.push(other);
        }
    }
    after
}

/// Whether this, after `{`, is `n}`, `n,}` or `n,m}`.
fn is_repetition(rest: &str) -> bool {
    let Some((inside, _)) = rest.split_once('}') else {
        return false;
    };
    let (low, high) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    !low.is_empty() && digits(low) && digits(high)
}

/// A repetition beyond Go's limit.
fn too_often(pattern: &str) -> Option<&str> {
    let repetitions = pattern.split('{').skip(1).filter(|rest| is_repetition(rest));
    let mut counts = repetitions
        .filter_map(|rest| rest.split_once('}'))
        .map(|(count, _)| count);
    counts.find(|count| {
        count
            .split(',')
            .any(|n| !n.is_empty() && n.parse().is_ok_and(|n: u64| n > 1000))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_reading() {
        let cases = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "٣", false),
            (r"^[\w.-]+$", "a.b-c_1", true),
            (r"^[\w.-]+$", "é", false),
            (r"^a{b$", "a{b", true),
            (r"^a{2,3}$", "aaa", true),
            (r"^[[]$", "[", true),
            (r"^[]a]+$", "]a", true),
            (r"^[[:alpha:]]+$", "ab", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^[a&&b]+$", "a&b", true),
            (r"\bcat\b", "a cat.", true),
            (r"^\<\>$", "<>", true),
            (r"^\/a$", "/a", true),
            (r"^\S+\s$", "a ", true),
            (r"^\p{L}\x{41}$", "éA", true),
        ];
        for (pattern, text, expected) in cases {
            let regex = compile(pattern).unwrap();
            assert_eq!(regex.is_match(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn what_does_not_compile_is_one_line() {
        for pattern in ["(", "[a", "*a", "a(?=b)", "a{2,1001}"] {
            let reason = compile(pattern).unwrap_err();
            assert!(reason.starts_with("error parsing regexp: "), "{reason}");
            assert!(!reason.contains('\n'));
        }
    }
}
