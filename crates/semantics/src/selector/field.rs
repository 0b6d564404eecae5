//! Field selectors: `metadata.name=x,status.phase!=Running`.

use std::borrow::Cow;
use std::fmt;

/// A parsed field selector (`metadata.name=x,status.phase!=Running`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    field: String,
    equal: bool,
    value: String,
}

impl FieldSelector {
    /// Reads the query parameter; the error is the text Kubernetes answers with.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::with_capacity(parts.len());
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let (field, equal, value) = split_term(part)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            let value = unescape(value)?.into_owned();
            // Upstream drops a term that says nothing (`=`).
            if !(field.is_empty() && value.is_empty()) {
                terms.push(Term {
                    field: field.to_owned(),
                    equal,
                    value,
                });
            }
        }
        Ok(Self { terms })
    }

    /// Whether it selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The fields it names.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| term.field.as_str())
    }

    /// The value that `field` must equal, if the selector demands one (`metadata.name=x`).
    #[must_use]
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.terms
            .iter()
            .find(|term| term.equal && term.field == field)
            .map(|term| term.value.as_str())
    }

    /// Whether field values, given as a look-up (missing = empty string), match.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> &'a str) -> bool {
        self.terms
            .iter()
            .all(|term| (field(&term.field) == term.value) == term.equal)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let operator = if term.equal { "=" } else { "!=" };
            write!(f, "{comma}{}{operator}", term.field)?;
            for character in term.value.chars() {
                if matches!(character, '\\' | ',' | '=') {
                    f.write_str("\\")?;
                }
                write!(f, "{character}")?;
            }
        }
        Ok(())
    }
}

/// Splits at commas that are not escaped; escapes stay.
fn split_terms(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|character| {
        let splits = character == ',' && !escaped;
        escaped = character == '\\' && !escaped;
        splits
    })
    .collect()
}

/// Splits at the first operator; a field name cannot contain one.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    term.char_indices().find_map(|(at, _)| {
        let (field, rest) = term.split_at(at);
        [("!=", false), ("==", true), ("=", true)]
            .iter()
            .find_map(|(operator, equal)| Some((field, *equal, rest.strip_prefix(operator)?)))
    })
}

fn unescape(text: &str) -> Result<Cow<'_, str>, String> {
    if !text.contains(['\\', ',', '=']) {
        return Ok(Cow::Borrowed(text));
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: {sequence}"
                    ));
                }
            },
            // Upstream prints the character's number.
            ',' | '=' => {
                let code = u32::from(character);
                return Err(format!(
                    "invalid field selector: unescaped character in value: {code}"
                ));
            }
            other => plain.push(other),
        }
    }
    Ok(Cow::Owned(plain))
}
