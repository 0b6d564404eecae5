//! Values of text of any format: ini, dotenv, YAML, and files that are broken.

use crate::redact::lines::is_mute;

/// What encloses and separates values in one format or another.
const PUNCTUATION: [char; 15] = [
    '"', '\'', '`', ',', ';', '(', ')', '[', ']', '{', '}', '<', '>', '=', ':',
];

/// Longer lines are split at once: each reading of one is as long as the line.
const MAX_LINE: usize = 64 << 10;

/// Every line, and in every line what stands behind a name, with and without quotes and comments.
pub(in crate::redact) fn values(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !is_mute(line.as_bytes()))
    {
        found.push(line.to_owned());
        if line.len() > MAX_LINE {
            split(line, &mut found);
            quoted(line, &mut found);
            continue;
        }
        let entry = entry(line);
        value(entry, &mut found);
        for sign in ['=', ':'] {
            if let Some((_, rest)) = entry.split_once(sign) {
                value(rest, &mut found);
            }
        }
        quoted(line, &mut found);
    }
    found
}

/// The same, and every piece of a line between spaces and punctuation that is no name of a value.
pub(in crate::redact) fn pieces(text: &str) -> Vec<String> {
    let mut found = values(text);
    text.lines().for_each(|line| split(line, &mut found));
    found
}

fn split(line: &str, found: &mut Vec<String>) {
    let words = line.split_whitespace().map(|word| word.trim_matches(PUNCTUATION));
    found.extend(words.filter(|word| !is_name(word)).map(str::to_owned));
    let mut rest = line;
    while let Some(start) = rest.find(|char| !is_separator(char)) {
        rest = &rest[start..];
        let (piece, behind) = rest.split_at(rest.find(is_separator).unwrap_or(rest.len()));
        rest = behind;
        let behind = behind.trim_start_matches(['"', '\'', ' ', '\t']);
        if !(is_name(piece) && behind.starts_with(['=', ':'])) {
            found.push(piece.to_owned());
        }
    }
}

/// A line without what makes it an item of a list, a comment or an assignment of a shell.
fn entry(line: &str) -> &str {
    const MARKS: [&str; 5] = ["- ", "#", ";", "//", "export "];
    let mut line = line;
    while let Some(rest) = MARKS.iter().find_map(|mark| line.strip_prefix(mark)) {
        line = rest.trim_start();
    }
    line
}

/// What stands behind a name.
fn value(text: &str, found: &mut Vec<String>) {
    const COMMENTS: [&str; 6] = [" #", "\t#", " ;", "\t;", " //", "\t//"];
    let text = text.trim();
    if text.starts_with(['{', '[']) {
        split(text, found);
    }
    // What looks like a comment may be in the value.
    let firsts = COMMENTS.iter().filter_map(|sign| text.find(sign));
    let lasts = COMMENTS.iter().filter_map(|sign| text.rfind(sign));
    let ends: Vec<usize> = firsts.chain(lasts).chain([text.len()]).collect();
    for end in ends {
        let text = text[..end].trim();
        let bare = text.strip_suffix([',', ';']).map(str::trim_end);
        for text in [text].into_iter().chain(bare) {
            found.push(text.to_owned());
            let inner = ['"', '\''].iter().find_map(|quote| {
                let inner = text.strip_prefix(*quote)?;
                inner.strip_suffix(*quote)
            });
            found.extend(inner.map(str::to_owned));
        }
    }
}

/// What stands in quotes and is no key, as it is and as it is meant.
fn quoted(line: &str, found: &mut Vec<String>) {
    for quote in ['"', '\''] {
        let mut rest = line;
        while let Some(start) = rest.find(quote) {
            rest = &rest[start + 1..];
            let end = end_of_quoted(rest, quote);
            let (inner, behind) = rest.split_at(end.unwrap_or(rest.len()));
            let behind = behind.strip_prefix(quote).unwrap_or(behind);
            if !(is_name(inner) && behind.trim_start().starts_with(['=', ':'])) {
                let meant: Option<String> = serde_json::from_str(&format!("\"{inner}\"")).ok();
                // In Terraform's language, which other formats only look like.
                found.extend(
                    meant
                        .as_ref()
                        .map(|text| text.replace("$${", "${").replace("%%{", "%{")),
                );
                found.extend(meant);
                found.push(inner.to_owned());
            }
            rest = behind;
        }
    }
}

fn end_of_quoted(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    let ends = |char: char| {
        let ends = char == quote && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        ends
    };
    text.find(ends)
}

fn is_separator(char: char) -> bool {
    char.is_whitespace() || PUNCTUATION.contains(&char)
}

fn is_name(text: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.');
    text.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_') && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_found(found: &[String], text: &str, expected: &[&str], absent: &[&str]) {
        for value in expected {
            assert!(
                found.iter().any(|one| one == value),
                "{value:?} of {text:?} in {found:?}"
            );
        }
        for name in absent {
            assert!(
                !found.iter().any(|one| one == name),
                "{name:?} of {text:?} in {found:?}"
            );
        }
    }

    #[test]
    fn values_stand_behind_names() {
        for (text, expected, absent) in [
            (
                "[default]\nkey = AKIA/x+y=\n",
                vec!["AKIA/x+y=", "key = AKIA/x+y="],
                vec!["key"],
            ),
            ("A=b c # d\n", vec!["b c", "b c # d"], vec!["A"]),
            ("A=b#c\n", vec!["b#c"], vec![]),
            ("export A='b \"c\"'\n", vec!["b \"c\""], vec![]),
            ("A=\"b\\nc\"\n", vec!["b\nc", "b\\nc"], vec![]),
            ("A=\"$${b}\\t%%{c}\"\n", vec!["${b}\t%{c}"], vec![]),
            ("key: \"b, c\" # d\n", vec!["b, c"], vec!["key"]),
            (
                "- name: x y\n  token: 'it is'\n- plain one\n",
                vec!["x y", "it is", "plain one"],
                vec!["token"],
            ),
            ("cert: |\n  QUJD\n  REVG\n", vec!["QUJD", "REVG"], vec!["cert"]),
            (
                "a: {b: \"c d\", \"e\": \"f\", g: [h-i]}\n",
                vec!["c d", "f", "h-i"],
                vec!["b", "e", "g"],
            ),
            (
                "# old: hunter22\n; older = hunter33\n",
                vec!["hunter22", "hunter33"],
                vec!["old"],
            ),
            ("user:pa:ss=wd\n", vec!["pa:ss=wd"], vec![]),
            ("a = 'x', \n}\n", vec!["x"], vec!["}"]),
            ("\"\\", vec!["\\"], vec![]),
        ] {
            assert_found(&values(text), text, &expected, &absent);
        }
    }

    #[test]
    fn a_broken_file_is_split_and_names_are_left() {
        for (text, expected, absent) in [
            (
                "db = { pass = \"hunter22\", user = ada, \"",
                vec!["hunter22", "ada"],
                vec!["pass", "user", "db"],
            ),
            (
                "x = [\n  one-two,\n  'three'\n",
                vec!["one-two", "three"],
                vec!["x"],
            ),
            (
                "pass = upper(\"a b\") + \"c\"",
                vec!["a b", "c", "upper"],
                vec!["pass"],
            ),
            (
                "{\"key\": \"a b\", \"other\": 12",
                vec!["a b", "12"],
                vec!["key", "other"],
            ),
            ("key: a=b", vec!["a=b", "b"], vec!["key"]),
        ] {
            assert_found(&pieces(text), text, &expected, &absent);
        }
    }
}
