//! The strings of a JSON text, with their places, so that one can be replaced and all else kept: the order of keys,
//! repeated keys (which Terraform gives a meaning), and white space.

use std::ops::Range;

/// A string in a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Literal {
    /// From quote to quote.
    pub(super) span: Range<usize>,
    /// Whether it is the key of a map.
    pub(super) is_key: bool,
    /// Where it is in the document.
    pub(super) path: String,
}

/// What the scan is inside of.
enum Inside {
    /// A map, after this key; before it if a key must follow.
    Map { key: String, key_follows: bool },
    /// A list, at this item.
    List(usize),
}

/// The strings of a JSON text that `wanted` picks by their raw text. The text must be known to be JSON.
pub(super) fn strings(text: &str, wanted: impl Fn(&str) -> bool) -> Vec<Literal> {
    let bytes = text.as_bytes();
    let mut inside: Vec<Inside> = Vec::new();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' => inside.push(Inside::Map {
                key: String::new(),
                key_follows: true,
            }),
            b'[' => inside.push(Inside::List(0)),
            b'}' | b']' => {
                inside.pop();
            }
            b',' => match inside.last_mut() {
                Some(Inside::Map { key_follows, .. }) => *key_follows = true,
                Some(Inside::List(index)) => *index += 1,
                None => {}
            },
            b'"' => {
                let span = at..end_of_string(bytes, at);
                at = span.end - 1;
                let raw = text.get(span.clone()).unwrap_or_default();
                let mut is_key = false;
                if let Some(Inside::Map {
                    key,
                    key_follows: follows @ true,
                }) = inside.last_mut()
                {
                    (is_key, *follows) = (true, false);
                    *key = raw.trim_matches('"').to_owned();
                }
                if wanted(raw) {
                    found.push(Literal {
                        span,
                        is_key,
                        path: path(&inside),
                    });
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The place after the closing quote of the string that starts at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn path(inside: &[Inside]) -> String {
    let steps = inside.iter().map(|step| match step {
        Inside::Map { key, .. } => format!(".{key}"),
        Inside::List(index) => format!("[{index}]"),
    });
    steps.collect::<String>().trim_start_matches('.').to_owned()
}
