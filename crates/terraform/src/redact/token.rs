//! Where a token begins and ends.
//!
//! A short secret is only looked for as a whole token, else a `prod` would be taken out of `product`. A cut between two
//! bytes is a boundary unless a word goes on over it: letters, digits and underscores on both sides. So a secret that
//! begins or ends with punctuation is a whole token whatever stands there, and bytes beyond ASCII, which may be quotes
//! or margins, bound words.
//!
//! What looks like the end of a word may be the end of an escape: in `\nprod`, `%3Dprod` and behind a colour of a
//! terminal a token begins too.

/// Bytes before a token that are looked at. No escape is longer.
pub(super) const LOOKBACK: usize = 24;

/// Whether a byte is a part of words.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a token that begins with `first` may begin behind these bytes.
pub(super) fn begins(before: &[u8], first: u8) -> bool {
    let goes_on = before.last().is_some_and(|last| is_word(*last)) && is_word(first);
    !goes_on || ends_escape(before)
}

/// Whether a token that ends with `last` may end in front of this byte, if there is one.
pub(super) fn ends(last: u8, next: Option<u8>) -> bool {
    !next.is_some_and(|next| is_word(next) && is_word(last))
}

fn ends_escape(before: &[u8]) -> bool {
    let letter = matches!(
        before,
        [.., b'\\', b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v']
    );
    letter
        || ends_code(before, b"\\u", 4, 16)
        || ends_code(before, b"\\U", 8, 16)
        || ends_code(before, b"\\x", 2, 16)
        || ends_code(before, b"%", 2, 16)
        || ends_code(before, b"\\", 3, 8)
        || ends_colour(before)
}

/// Whether the end is a code of this many digits behind this sign.
fn ends_code(before: &[u8], sign: &[u8], digits: usize, radix: u32) -> bool {
    let at = before.len().checked_sub(digits);
    at.is_some_and(|at| {
        let is_digit = |byte: &u8| char::from(*byte).is_digit(radix);
        before[..at].ends_with(sign) && before[at..].iter().all(is_digit)
    })
}

/// Whether the end is a control sequence of a terminal, such as `ESC[1;31m`, itself or escaped.
fn ends_colour(before: &[u8]) -> bool {
    const ESCAPES: [&[u8]; 5] = [b"\x1b", b"\\u001b", b"\\x1b", b"\\033", b"\\e"];
    let Some((last, rest)) = before.split_last() else {
        return false;
    };
    let is_parameter = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
    let parameters = rest.iter().rev().take_while(|byte| is_parameter(byte)).count();
    let rest = &rest[..rest.len() - parameters];
    last.is_ascii_alphabetic()
        && rest.strip_suffix(b"[").is_some_and(|rest| {
            let rest = rest.to_ascii_lowercase();
            ESCAPES.iter().any(|escape| rest.ends_with(escape))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_begin_and_end_where_no_word_goes_on() {
        for (before, token, after, expected) in [
            ("", "prod", "", true),
            ("is ", "prod", ".", true),
            ("vpc-", "prod", "-1", true),
            ("\"", "prod", "\"", true),
            ("user:", "prod", "@host", true),
            ("=", "prod", "&", true),
            ("│", "prod", "│", true),
            ("é", "prod", "é", true),
            ("", "prod", "uct", false),
            ("re", "prod", "", false),
            ("x_", "prod", "", false),
            ("", "prod", "_x", false),
            ("", "prod", "1", false),
            // A value with punctuation is bounded by it.
            ("x", "!prod", "", true),
            ("", "prod!", "x", true),
            ("x", "-p-", "x", true),
            ("x", "p-d", "", false),
            ("", "p d", "x", false),
            ("x", "é", "x", true),
            // Escapes end without a word.
            ("a\\n", "prod", "\\n", true),
            ("a\\t", "prod", "", true),
            ("a\\u003c", "prod", "\\u003e", true),
            ("a\\x1F", "prod", "", true),
            ("a\\033", "prod", "", true),
            ("a%3D", "prod", "%26", true),
            ("a%3d", "prod", "", true),
            ("a\x1b[1;31m", "prod", "\x1b[0m", true),
            ("a\\u001b[31m", "prod", "", true),
            ("a\\x1B[m", "prod", "", true),
            // And what only looks like one does not.
            ("an", "prod", "", false),
            ("u003c", "prod", "", false),
            ("3D", "prod", "", false),
            ("\\u03c", "prod", "", false),
            ("[31m", "prod", "", false),
            ("a\\z", "prod", "", false),
        ] {
            let bytes = token.as_bytes();
            let is_token = begins(before.as_bytes(), bytes[0])
                && ends(bytes[bytes.len() - 1], after.as_bytes().first().copied());
            assert_eq!(is_token, expected, "{before:?} {token:?} {after:?}");
        }
    }
}
