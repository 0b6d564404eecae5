//! Values of JSON.
//!
//! Read by its tokens and not as a tree: so numbers keep all their digits, nothing is lost where a key stands twice, and
//! depth costs nothing.

use serde::de::IgnoredAny;

use super::Values;

pub(super) fn values(text: &str) -> Values {
    let mut found = Values {
        is_whole: serde_json::from_str::<IgnoredAny>(text).is_ok(),
        ..Values::default()
    };
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        match byte {
            b'"' => {
                at = end_of_string(bytes, start);
                let is_key = text[at..].trim_ascii_start().starts_with(':');
                if !is_key {
                    string(&text[start..at], &mut found);
                }
            }
            b'-' | b'0'..=b'9' => {
                let is_number = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                at += bytes[start..].iter().take_while(is_number).count();
                found.meant.push(text[start..at].to_owned());
            }
            _ => at += 1,
        }
    }
    found
}

/// Where a string that begins at `start` is over.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            // What is escaped may be longer than a byte; the rest of it is no quote.
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn string(quoted: &str, found: &mut Values) {
    let inner = quoted.strip_prefix('"').unwrap_or(quoted);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if let Ok(meant) = serde_json::from_str::<String>(quoted) {
        if meant != inner {
            found.written.push(inner.to_owned());
        }
        found.meant.push(meant);
    } else {
        found.meant.push(inner.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_strings_and_numbers_that_are_no_keys() {
        for (text, meant, written, is_whole) in [
            (
                r#"{"a": "b", "c" : ["d", {"e": 1.50}]}"#,
                vec!["b", "d", "1.50"],
                vec![],
                true,
            ),
            (
                r#"{"a": "q\"\\A\n"}"#,
                vec!["q\"\\A\n"],
                vec![r#"q\"\\A\n"#],
                true,
            ),
            (r#"{"a": "one", "a": "two"}"#, vec!["one", "two"], vec![], true),
            (
                r#"[12345678901234567890123, -1e-7, true, null]"#,
                vec!["12345678901234567890123", "-1e-7"],
                vec![],
                true,
            ),
            ("\"é\"", vec!["é"], vec![], true),
            (r#"{"a": "cut"#, vec!["cut"], vec![], false),
            ("{\"a\": \"line\nbreak\"}", vec!["line\nbreak"], vec![], false),
            (r#"{"a": "bad \x41"}"#, vec![r"bad \x41"], vec![], false),
            (r#"{"a": "end\"#, vec!["end\\"], vec![], false),
            ("\"\\é", vec!["\\é"], vec![], false),
            ("", vec![], vec![], false),
        ] {
            let found = values(text);
            assert_eq!(found.meant, meant, "{text}");
            assert_eq!(found.written, written, "{text}");
            assert_eq!(found.is_whole, is_whole, "{text}");
        }
        let deep = format!("{}\"deep\"", "[".repeat(100_000));
        assert_eq!(values(&deep).meant, ["deep"]);
    }
}
