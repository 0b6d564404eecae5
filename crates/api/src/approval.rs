//! What the annotation [`crate::marks::APPROVED`] says, and when it counts.
//!
//! Its value names a plan or a rendering, and may have a token after a slash. An approval counts once: whoever carries
//! out what it names writes the whole value down, and a value that was written down counts no more. The names are made
//! from what would happen, so that the same may come up again; the token makes a second approval of it another value.

/// The plan or the rendering that an approval names.
#[must_use]
pub fn names(value: &str) -> &str {
    value.split_once('/').map_or(value, |(name, _)| name)
}

/// An approval that differs from all others of the same.
#[must_use]
pub fn once(name: &str, token: &str) -> String {
    format!("{name}/{token}")
}

/// Whether an approval names this and was not used up.
#[must_use]
pub fn counts(value: Option<&str>, name: &str, used_up: Option<&str>) -> bool {
    !name.is_empty() && value.is_some_and(|value| names(value) == name && used_up != Some(value))
}

/// Whether an approval names this, and counts no more.
#[must_use]
pub fn is_used_up(value: Option<&str>, name: &str, used_up: Option<&str>) -> bool {
    counts(value, name, None) && value == used_up
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_counts_for_what_it_names_until_it_is_used_up() {
        for (value, used_up, expected) in [
            (None, None, (false, false)),
            (Some(""), None, (false, false)),
            (Some("/token"), None, (false, false)),
            (Some("p1"), None, (true, false)),
            (Some("p1/token"), None, (true, false)),
            (Some("p1/token/more"), None, (true, false)),
            (Some("p12"), None, (false, false)),
            (Some("p2/p1"), None, (false, false)),
            (Some("p1"), Some("p1"), (false, true)),
            (Some("p1/again"), Some("p1"), (true, false)),
            (Some("p1"), Some("p1/again"), (true, false)),
            (Some("p1/again"), Some("p1/again"), (false, true)),
            (Some("p2"), Some("p2"), (false, false)),
        ] {
            let found = (counts(value, "p1", used_up), is_used_up(value, "p1", used_up));
            assert_eq!(found, expected, "{value:?} {used_up:?}");
        }
        assert!(!counts(Some(""), "", None), "nothing cannot be approved");
        assert_eq!(names(&once("p1", "token")), "p1");
    }
}
