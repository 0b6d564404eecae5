//! Whatever secrets and texts are: nothing leaves, and it does not matter where a text was cut.

use base64::{Engine as _, engine::general_purpose};
use proptest::prelude::*;

use super::{super::*, hex, in_pieces, redactor};

/// Whether a value is a whole token of what was left between placeholders. Where such a part begins or ends, a word may
/// have gone on.
fn has_token(part: &str, value: &str) -> bool {
    let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
    part.match_indices(value).any(|(at, _)| {
        let before = part[..at].chars().next_back();
        let after = part[at + value.len()..].chars().next();
        let is_bounded = |beside: Option<char>, own: Option<char>| {
            beside.is_some_and(|char| !is_word(char)) || !own.is_some_and(is_word)
        };
        is_bounded(before, value.chars().next()) && is_bounded(after, value.chars().next_back())
    })
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

proptest! {
    /// Few letters, so that secrets overlap, repeat and begin inside each other.
    #[test]
    fn no_secret_ever_leaves(
        values in proptest::collection::vec("[ab\"é\n]{16,20}", 1..5),
        text in proptest::collection::vec("[ab\"é\n]{0,9}", 0..12),
        picks in proptest::collection::vec(0usize..5, 0..12),
        size in 1usize..9,
    ) {
        let mut input = String::new();
        for (at, word) in text.iter().enumerate() {
            input.push_str(word);
            if let Some(value) = picks.get(at).and_then(|pick| values.get(*pick)) {
                input.push_str(value);
            }
        }
        let redactor = redactor(&values.iter().map(String::as_str).collect::<Vec<_>>());
        let whole = redactor.text(&input);
        for value in values.iter().map(|value| value.trim()).filter(|value| value.len() >= MIN_LENGTH_ANYWHERE) {
            prop_assert!(!whole.contains(value), "{value:?} is in {whole:?}");
        }
        prop_assert_eq!(in_pieces(&redactor, input.as_bytes(), size), whole.as_bytes());
    }

    #[test]
    fn no_spelling_ever_leaves(value in "[!-'*-~][ !-'*-~]{14,78}[!-'*-~]", before in "[ -~]{0,5}", after in "[ -~]{0,5}", size in 1usize..40) {
        let redactor = redactor(&[&value]);
        let encoded = general_purpose::STANDARD.encode(format!("{before}{value}{after}"));
        let inner = &encoded[before.len().div_ceil(3) * 4..];
        let input = format!("{before}{value}{after}\n{}\n{encoded}", serde_json::to_string(&value).unwrap());
        let out = in_pieces(&redactor, input.as_bytes(), size);
        prop_assert!(!contains(&out, value.as_bytes()));
        // Of base64 at most the characters that it shares with its neighbours stay.
        let core = &inner[..inner.len().min(value.len().saturating_sub(4))];
        prop_assert!(core.len() < 8 || !contains(&out, core.as_bytes()), "{}", String::from_utf8_lossy(&out));
    }

    /// Of a spelling that stands alone nothing stays but what encloses it.
    #[test]
    fn nothing_stays_of_a_spelling(value in "[!-~][ -~é\n]{2,90}[!-~]", margin in "[ -/]{0,5}") {
        let redactor = redactor(&[&value]);
        let quoted = serde_json::to_string(&value).unwrap();
        let encoded = general_purpose::STANDARD.encode(&value);
        for form in [
            hex(&value),
            hex(&value).to_uppercase(),
            encoded.clone(),
            general_purpose::STANDARD_NO_PAD.encode(&value),
            general_purpose::URL_SAFE.encode(&value),
            quoted[1..quoted.len() - 1].to_owned(),
        ] {
            let form = form.trim();
            prop_assert_eq!(redactor.text(form), PLACEHOLDER, "{}", form);
            let clean = redactor.text(&format!("{margin} {form} {margin}"));
            prop_assert!(!clean.contains(form), "{} in {}", form, clean);
        }
        for width in [64, 76] {
            let lines: Vec<&str> = encoded.as_bytes().chunks(width).map(|line| str::from_utf8(line).unwrap()).collect();
            let clean = redactor.text(&lines.iter().map(|line| format!("{margin} {line}\n")).collect::<String>());
            for line in lines.iter().filter(|line| line.len() >= MIN_LENGTH) {
                prop_assert!(!clean.contains(line), "{} in {}", line, clean);
            }
        }
    }

    /// Few letters here too, and what separates tokens.
    #[test]
    fn no_token_ever_leaves(
        values in proptest::collection::vec("[ab_ .\"é]{4,15}", 1..5),
        text in proptest::collection::vec("[ab_ .é\\\\n]{0,5}", 0..12),
        picks in proptest::collection::vec(0usize..5, 0..12),
        size in 1usize..9,
    ) {
        let mut input = String::new();
        for (at, word) in text.iter().enumerate() {
            input.push_str(word);
            if let Some(value) = picks.get(at).and_then(|pick| values.get(*pick)) {
                input.push_str(value.trim());
            }
        }
        let redactor = redactor(&values.iter().map(String::as_str).collect::<Vec<_>>());
        let whole = redactor.text(&input);
        // What stays is what stood there.
        let stays: Vec<&str> = whole.split(PLACEHOLDER).collect();
        let mut rest = input.as_str();
        for part in &stays {
            let at = rest.find(part);
            prop_assert!(at.is_some(), "{part:?} of {whole:?} is not of {input:?}");
            rest = &rest[at.unwrap_or(0) + part.len()..];
        }
        for value in values.iter().map(|value| value.trim()).filter(|value| value.len() >= MIN_LENGTH) {
            for part in &stays {
                prop_assert!(!has_token(part, value), "{value:?} is in {whole:?}");
            }
        }
        prop_assert_eq!(in_pieces(&redactor, input.as_bytes(), size), whole.as_bytes());
    }

    /// However a secret is told line by line, no two of its lines leave together.
    #[test]
    fn no_lines_leave_in_their_order(
        lines in proptest::collection::vec("[a-c]{3,7}", 2..6),
        margin in "[ -~]{0,9} ",
        before in "[ a-c\n]{0,20}",
        size in 1usize..30,
    ) {
        let redactor = redactor(&[&lines.join("\n")]);
        let mut input = format!("{before}\n");
        lines.iter().for_each(|line| input.push_str(&format!("{margin}{line}\n")));
        let clean = redactor.text(&input);
        let after: Vec<&str> = clean.lines().rev().take(lines.len()).collect();
        for (line, clean) in lines.iter().rev().zip(after) {
            prop_assert!(!clean.ends_with(line.as_str()), "{line:?} is in {clean:?}");
        }
        prop_assert_eq!(in_pieces(&redactor, input.as_bytes(), size), clean.as_bytes());
    }

    #[test]
    fn any_bytes_pass(bytes in proptest::collection::vec(any::<u8>(), 0..300), size in 1usize..50) {
        let redactor = redactor(&["never there at all"]);
        prop_assert_eq!(in_pieces(&redactor, &bytes, size), bytes);
    }
}
