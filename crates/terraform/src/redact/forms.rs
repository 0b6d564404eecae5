//! The spellings that one secret has.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose};

/// Shorter values are not taken out.
pub const MIN_LENGTH: usize = 4;

/// From this length on a value is taken out wherever it stands, a shorter one as a whole token only.
pub const MIN_LENGTH_ANYWHERE: usize = 16;

/// Shorter pieces of base64 stand in ordinary text too.
const MIN_FRAGMENT: usize = 6;

/// How much of all secrets together is looked for in every spelling, the shortest first; of the rest only the likely ones.
/// Every spelling is several times as long as the value, so that memory bounds this.
pub(super) const THOROUGH_UP_TO: usize = 64 << 10;

/// Characters of a line of base64, as PEM and as MIME have it.
const LINES: [usize; 2] = [64, 76];

/// Where a spelling is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Where it is a whole token.
    Token,
    /// Wherever it stands.
    Anywhere,
}

/// Calls `found` for every spelling of this value, or only for the likely ones.
pub(super) fn spell(value: &str, is_thorough: bool, mut found: impl FnMut(Vec<u8>, Reach)) {
    let mut text = |form: &[u8]| match form.len() {
        ..MIN_LENGTH => {}
        MIN_LENGTH..MIN_LENGTH_ANYWHERE => found(form.to_vec(), Reach::Token),
        MIN_LENGTH_ANYWHERE.. => found(form.to_vec(), Reach::Anywhere),
    };
    text(value.as_bytes());
    let escaped = escaped(value);
    escaped.iter().for_each(|form| text(form.as_bytes()));
    if !is_thorough {
        return;
    }
    // An event quotes a message that may quote JSON itself.
    for twice in escaped.iter().flat_map(|form| json_escaped(form)) {
        text(twice.as_bytes());
    }
    url_forms(value).iter().for_each(|form| text(form.as_bytes()));
    for is_upper in [false, true] {
        text(hex(value.as_bytes(), is_upper).as_bytes());
    }
    for engine in [general_purpose::STANDARD, general_purpose::URL_SAFE] {
        let whole = engine.encode(value);
        // Whole, so that no padding is left behind.
        text(whole.as_bytes());
        text(whole.trim_end_matches('=').as_bytes());
        for width in LINES.into_iter().filter(|width| whole.len() > *width) {
            whole.as_bytes().chunks(width).for_each(&mut text);
        }
    }
    for fragment in base64_fragments(value.as_bytes()) {
        if fragment.len() >= MIN_FRAGMENT {
            found(fragment, Reach::Anywhere);
        }
    }
}

/// As contents of text in quotes: in JSON, in Terraform's language and as Terraform prints it in plans.
fn escaped(value: &str) -> Vec<String> {
    let [short, go] = json_escaped(value);
    let mut forms = vec![go, go_quoted(value)];
    if value.contains("${") || value.contains("%{") {
        let is_template = |text: &str| text.replace("${", "$${").replace("%{", "%%{");
        forms.extend([is_template(value), is_template(&short)]);
    }
    forms.push(short);
    forms
}

/// As contents of text in quotes, the way of Go's `%q`.
fn go_quoted(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for char in value.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            char if char.is_ascii_control() => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\x{:02x}", u32::from(char));
            }
            char if char.is_control() || matches!(char, '\u{2028}' | '\u{2029}') => {
                unicode_escape(char, &mut out);
            }
            char => out.push(char),
        }
    }
    out
}

fn hex(bytes: &[u8], is_upper: bool) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = match is_upper {
            true => write!(out, "{byte:02X}"),
            false => write!(out, "{byte:02x}"),
        };
    }
    out
}

/// As string contents in JSON: the shortest way, and the way of Go, which escapes what HTML cares about.
fn json_escaped(value: &str) -> [String; 2] {
    let (mut short, mut go) = (
        String::with_capacity(value.len()),
        String::with_capacity(value.len()),
    );
    for char in value.chars() {
        let plain = match char {
            '"' => Some("\\\""),
            '\\' => Some("\\\\"),
            '\n' => Some("\\n"),
            '\r' => Some("\\r"),
            '\t' => Some("\\t"),
            _ => None,
        };
        if let Some(escaped) = plain {
            short.push_str(escaped);
            go.push_str(escaped);
            continue;
        }
        match char {
            '\u{8}' => short.push_str("\\b"),
            '\u{c}' => short.push_str("\\f"),
            char if char < ' ' => unicode_escape(char, &mut short),
            char => short.push(char),
        }
        match char {
            char if char < ' ' || matches!(char, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') => {
                unicode_escape(char, &mut go)
            }
            char => go.push(char),
        }
    }
    [short, go]
}

fn unicode_escape(char: char, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(out, "\\u{:04x}", u32::from(char));
}

/// As part of anything that is base64: the characters that depend on this value alone, for each of the three places
/// that it can begin at.
fn base64_fragments(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for engine in [general_purpose::STANDARD_NO_PAD, general_purpose::URL_SAFE_NO_PAD] {
        for (before, mixed) in [(0, 0), (1, 2), (2, 3)] {
            let mut shifted = vec![0; before];
            shifted.extend_from_slice(value);
            let mut encoded = engine.encode(&shifted).into_bytes();
            if shifted.len() % 3 != 0 {
                encoded.pop();
            }
            forms.push(encoded.split_off(mixed.min(encoded.len())));
        }
    }
    forms
}

fn url_forms(value: &str) -> Vec<String> {
    // What is left alone: in a query, in a path by Go's rules, in a path by WHATWG's rules.
    const KEEPS: [&str; 3] = ["-_.~", "-_.~$&+:=@", "-_.~!$&'()*+,;=:@"];
    let mut forms = Vec::new();
    for keep in KEEPS {
        for uppercase in [true, false] {
            forms.push(percent_encoded(value, keep, uppercase, "%20"));
        }
    }
    for uppercase in [true, false] {
        forms.push(percent_encoded(value, KEEPS[0], uppercase, "+"));
    }
    forms
}

fn percent_encoded(value: &str, keep: &str, uppercase: bool, space: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        let char = char::from(byte);
        if char.is_ascii_alphanumeric() || (byte.is_ascii() && keep.contains(char)) {
            out.push(char);
        } else if char == ' ' {
            out.push_str(space);
        } else if uppercase {
            let _ = write!(out, "%{byte:02X}");
        } else {
            let _ = write!(out, "%{byte:02x}");
        }
    }
    out
}
