//! Messages that provider-terraform wrote: the whole error, compressed and encoded, inside a shell command.

use std::{borrow::Cow, io::Read as _};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;

/// More than a run ever prints; less than what a crafted message could unpack to.
const MAX_DECODED: u64 = 1 << 20;

const BEFORE: &str = "To see the full error run: echo \"";
const AFTER: &str = "\" | base64 -d | gunzip";

/// The message with every encoded error in it replaced by its text. A message without one stays as it is.
#[must_use]
pub fn readable(message: &str) -> Cow<'_, str> {
    let mut clear = String::new();
    let mut rest = message;
    while let Some((before, encoded, after)) = next(rest) {
        let Some(text) = decoded(encoded) else {
            let kept = rest.len() - after.len();
            clear.push_str(&rest[..kept]);
            rest = after;
            continue;
        };
        clear.push_str(before.trim_end());
        clear.push('\n');
        clear.push_str(text.trim());
        rest = after;
    }
    if clear.is_empty() {
        return Cow::Borrowed(message);
    }
    clear.push_str(rest);
    Cow::Owned(clear)
}

fn next(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(BEFORE)?;
    let (encoded, after) = rest.split_once(AFTER)?;
    Some((before, encoded, after))
}

fn decoded(encoded: &str) -> Option<String> {
    let packed = STANDARD.decode(encoded.trim()).ok()?;
    let mut text = Vec::new();
    GzDecoder::new(packed.as_slice())
        .take(MAX_DECODED)
        .read_to_end(&mut text)
        .ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
