//! The spellings that one secret has.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose};

/// Shorter values are not taken out.
pub const MIN_LENGTH: usize = 6;

/// Shorter parts of a longer secret, such as lines of a file, are not taken out by themselves.
pub const MIN_PART_LENGTH: usize = 16;

/// Beyond this, only the spellings that are likely for a whole file are looked for.
const MANY_FORMS_UP_TO: usize = 64 << 10;

/// Calls `found` for every spelling of this value that is worth looking for.
pub(super) fn spell(value: &str, mut found: impl FnMut(Vec<u8>)) {
    let mut found = |form: Vec<u8>| {
        if form.len() >= MIN_LENGTH {
            found(form);
        }
    };
    for escaped in json_escaped(value) {
        // An event quotes a message that may quote JSON itself.
        for twice in json_escaped(&escaped) {
            found(twice.into_bytes());
        }
        found(escaped.into_bytes());
    }
    found(value.as_bytes().to_vec());
    if value.len() <= MANY_FORMS_UP_TO {
        base64_forms(value.as_bytes()).into_iter().for_each(&mut found);
        url_forms(value)
            .into_iter()
            .map(String::into_bytes)
            .for_each(&mut found);
    }
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
fn base64_forms(value: &[u8]) -> Vec<Vec<u8>> {
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
    // Whole, so that no padding is left behind.
    forms.push(general_purpose::STANDARD.encode(value).into_bytes());
    forms.push(general_purpose::URL_SAFE.encode(value).into_bytes());
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
