//! Values of a plan in the shape of the report: redacted first, then cut, and never too many.

use capt_api::run::ChangedValue;
use capt_terraform::{
    plan::{AttributeChange, SENSITIVE, Shown, UNKNOWN},
    redact::Redactor,
};
use serde_json::Value;

/// Values of one change that are told.
const MAX_VALUES: usize = 20;
/// Characters of one value that are told.
const MAX_LENGTH: usize = 160;
/// Characters before the first difference that are told of long values.
const LEAD: usize = 24;
/// Bytes of all values of a report together.
pub(super) const ROOM: usize = 64 * 1024;

/// What is left of the room for values.
pub(super) struct Room(usize);

impl Room {
    pub(super) fn new() -> Self {
        Self(ROOM)
    }

    /// The values that may be told and have room, and how many are left out.
    pub(super) fn values(
        &mut self,
        changes: &[AttributeChange],
        redactor: &Redactor,
    ) -> (Vec<ChangedValue>, u32) {
        let mut told = Vec::new();
        for change in changes.iter().take(MAX_VALUES) {
            let value = value(change, redactor);
            let bytes = serde_json::to_string(&value).map_or(0, |text| text.len() + 1);
            let Some(left) = self.0.checked_sub(bytes) else {
                break;
            };
            self.0 = left;
            told.push(value);
        }
        let more = u32::try_from(changes.len() - told.len()).unwrap_or(u32::MAX);
        (told, more)
    }
}

fn value(change: &AttributeChange, redactor: &Redactor) -> ChangedValue {
    let words = |shown: &Shown| {
        Some(match shown {
            Shown::Nothing => return None,
            // As it is, and not as JSON, it is what the redactor knows best.
            Shown::Text(text) => Value::from(redactor.text(text)).to_string(),
            Shown::Other(text) => redactor.text(text),
            Shown::Sensitive => SENSITIVE.to_owned(),
            Shown::Unknown => UNKNOWN.to_owned(),
            Shown::Long(bytes) => format!("({bytes} bytes)"),
        })
    };
    let (before, after) = cut(words(&change.before), words(&change.after));
    ChangedValue {
        path: redactor.text(&change.path),
        before,
        after,
        forces_replacement: change.forces_replacement,
    }
}

/// Long values are told from where they begin to differ.
fn cut(before: Option<String>, after: Option<String>) -> (Option<String>, Option<String>) {
    let is_long = |text: &Option<String>| {
        text.as_ref()
            .is_some_and(|text| text.chars().count() > MAX_LENGTH)
    };
    let same = match (&before, &after) {
        (Some(one), Some(other)) if is_long(&before) || is_long(&after) => {
            let both = one.chars().zip(other.chars());
            both.take_while(|(one, other)| one == other).count()
        }
        _ => 0,
    };
    let start = match same.saturating_sub(LEAD) {
        start if start > LEAD => start,
        _ => 0,
    };
    let part = |text: String| {
        let length = text.chars().count();
        let (head, tail) = (start > 0, length.saturating_sub(start) > MAX_LENGTH);
        let part: String = text.chars().skip(start).take(MAX_LENGTH).collect();
        let mark = |is_cut: bool| if is_cut { "…" } else { "" };
        format!("{}{part}{}", mark(head), mark(tail))
    };
    (before.map(part), after.map(part))
}

#[cfg(test)]
mod tests {
    use capt_terraform::redact::Secrets;

    use super::*;

    fn text(text: &str) -> Shown {
        Shown::Text(text.to_owned())
    }

    fn change(before: Shown, after: Shown) -> AttributeChange {
        AttributeChange {
            path: "input".to_owned(),
            before,
            after,
            forces_replacement: false,
        }
    }

    fn told(before: Shown, after: Shown, secrets: &Secrets) -> (Option<String>, Option<String>) {
        let value = value(&change(before, after), &Redactor::new(secrets));
        (value.before, value.after)
    }

    #[test]
    fn values_are_told_in_terraforms_words() {
        let none = Secrets::default();
        let other = |text: &str| Shown::Other(text.to_owned());
        for (shown, expected) in [
            (Shown::Nothing, None),
            (text("a \"b\"\n"), Some(r#""a \"b\"\n""#)),
            (
                other("[1, (known after apply)]"),
                Some("[1, (known after apply)]"),
            ),
            (Shown::Sensitive, Some("(sensitive value)")),
            (Shown::Unknown, Some("(known after apply)")),
            (Shown::Long(70_000), Some("(70000 bytes)")),
        ] {
            let (before, after) = told(shown.clone(), Shown::Nothing, &none);
            assert_eq!((before.as_deref(), after), (expected, None), "{shown:?}");
        }
    }

    #[test]
    fn a_secret_is_taken_out_before_anything_is_cut() {
        let secret = "line one of it\n\"two\"; and a third one";
        let mut secrets = Secrets::default();
        secrets.value(secret);
        // Only the first characters of it would be told.
        let long = format!("{}{secret}", "x".repeat(MAX_LENGTH - 8));
        let json = Shown::Other(format!("[{}]", Value::from(long.as_str())));
        for shown in [text(&long), json] {
            let (before, after) = told(shown, Shown::Nothing, &secrets);
            let before = before.unwrap();
            assert!(!before.contains("line"), "{before}");
            assert!(before.contains("x(red"), "{before}");
            assert_eq!(after, None);
        }
        let twice = change(text(secret), text("short"));
        let value = value(&twice, &Redactor::new(&secrets));
        assert_eq!(value.before.as_deref(), Some("\"(redacted)\""));
    }

    #[test]
    fn long_values_are_told_where_they_differ() {
        let same = "é".repeat(1000);
        let (before, after) = told(
            text(&format!("{same}old{same}")),
            text(&format!("{same}new{same}")),
            &Secrets::default(),
        );
        for (side, word) in [(before.unwrap(), "old"), (after.unwrap(), "new")] {
            assert!(side.contains(word), "{side}");
            assert!(side.starts_with("…é") && side.ends_with("é…"), "{side}");
            assert_eq!(side.chars().count(), MAX_LENGTH + 2);
        }
    }

    #[test]
    fn no_report_grows_without_bound() {
        let none = Redactor::default();
        let many = vec![change(text(&"\"".repeat(10_000)), text(&"€".repeat(5000))); 64];
        let mut room = Room::new();
        let mut bytes = 0;
        for _ in 0..200 {
            let (values, more) = room.values(&many, &none);
            assert!(values.len() <= MAX_VALUES);
            assert_eq!(values.len() + more as usize, many.len());
            bytes += serde_json::to_string(&values).unwrap().len();
        }
        assert!(bytes <= ROOM + 200 * 2 && bytes > ROOM / 2, "{bytes}");
    }
}
