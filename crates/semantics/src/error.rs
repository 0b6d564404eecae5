//! Errors about one field of a document, worded as Kubernetes words them.
//!
//! Clients show these texts to people and branch on the cause's reason, so both follow `k8s.io/apimachinery`'s
//! `field.Error`.

use std::fmt;

use serde_json::Value;

/// What is wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// The field must be present.
    Required,
    /// The value breaks a rule.
    Invalid,
    /// The value has the wrong JSON type.
    TypeInvalid,
    /// The value occurs twice where it may occur once.
    Duplicate,
    /// The value names something that does not exist.
    NotFound,
    /// The value is none of the allowed ones.
    NotSupported,
    /// The field may not be set here.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// The list has too many items.
    TooMany,
    /// The rule itself could not be evaluated.
    Internal,
}

impl FieldErrorKind {
    /// The machine-readable reason used in a `Status` cause.
    #[must_use]
    pub fn cause_reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotFound => "FieldValueNotFound",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
        }
    }

    fn headline(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::Duplicate => "Duplicate value",
            Self::NotFound => "Not found",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }
}

/// One field of a document that was refused, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// What is wrong.
    pub kind: FieldErrorKind,
    /// Where, as `spec.items[0].name` or `metadata.labels[a/b]`; empty for the whole document.
    pub field: String,
    /// The refused value. It is shown for the kinds that show one (`Invalid`, `Duplicate`, …).
    pub value: Option<Value>,
    /// The rest of the sentence, without field and headline.
    pub detail: String,
}

impl FieldError {
    /// A value that breaks a rule.
    pub fn invalid(field: impl Into<String>, value: Value, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, field, Some(value), detail)
    }

    /// A field that must be present.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, field, None, detail)
    }

    /// A field that may not be set or changed here.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, field, None, detail)
    }

    /// A value that occurs twice.
    pub fn duplicate(field: impl Into<String>, value: Value) -> Self {
        Self::new(FieldErrorKind::Duplicate, field, Some(value), "")
    }

    /// Any error, from its parts.
    pub fn new(
        kind: FieldErrorKind,
        field: impl Into<String>,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            field: field.into(),
            value,
            detail: detail.into(),
        }
    }

    /// The text without the field, as it stands in a `Status` cause.
    #[must_use]
    pub fn body(&self) -> String {
        let mut text = String::from(self.kind.headline());
        let shows_value = matches!(
            self.kind,
            FieldErrorKind::Invalid
                | FieldErrorKind::TypeInvalid
                | FieldErrorKind::Duplicate
                | FieldErrorKind::NotFound
                | FieldErrorKind::NotSupported
                | FieldErrorKind::TooMany
        );
        if let (true, Some(value)) = (shows_value, &self.value) {
            text.push_str(": ");
            text.push_str(&shown(value));
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            // Upstream prints a nil path as this.
            write!(f, "<nil>: {}", self.body())
        } else {
            write!(f, "{}: {}", self.field, self.body())
        }
    }
}

impl std::error::Error for FieldError {}

/// Upstream prints maps and lists of unstructured values as JSON, strings quoted, and null as the word.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Number(number) if number.as_i64().is_none() => go_float(number.as_f64().unwrap_or(f64::NAN)),
        other => other.to_string(),
    }
}

/// A float as Go's `%v` prints it.
pub(crate) fn go_float(value: f64) -> String {
    // `{:e}` gives the shortest digits that read back as the same number, and so does Go.
    let text = format!("{value:e}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..=5).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_read_as_upstream() {
        let cases = [
            (FieldError::required("spec.name", ""), "spec.name: Required value"),
            (
                FieldError::invalid("spec.name", json!("A"), "must be lower case"),
                "spec.name: Invalid value: \"A\": must be lower case",
            ),
            (
                FieldError::duplicate("spec.x[1]", json!({"a": 1})),
                "spec.x[1]: Duplicate value: {\"a\":1}",
            ),
            (
                FieldError::forbidden("metadata.uid", "is immutable"),
                "metadata.uid: Forbidden: is immutable",
            ),
            (FieldError::invalid("a", json!(5.0), ""), "a: Invalid value: 5"),
            (
                FieldError::invalid("a", json!(2_345_678.5), ""),
                "a: Invalid value: 2.3456785e+06",
            ),
            (
                FieldError::invalid("a", json!(0.00001), ""),
                "a: Invalid value: 1e-05",
            ),
            (
                FieldError::invalid("a", json!(2_000_000), ""),
                "a: Invalid value: 2000000",
            ),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }
}
