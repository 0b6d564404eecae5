//! Kubernetes versions as users write them for EKS.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A Kubernetes version: `1.31`, `v1.31` or `v1.31.2`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("maxLength" = 16, "x-kubernetes-validations" = [json!({
    "rule": "self.matches('^v?1[.](0|[1-9][0-9]{0,2})([.](0|[1-9][0-9]{0,2}))?$')",
    "message": "write a Kubernetes version as 1.31, v1.31 or v1.31.2",
})]))]
pub struct Version(pub String);

/// The numbers of a [`Version`], comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor {
    /// The first number, 1.
    pub major: u32,
    /// The second number: EKS knows a cluster's version no further than this.
    pub minor: u32,
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    /// The text as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part that EKS knows, without prefix and patch; `None` if the text is no version.
    #[must_use]
    pub fn minor(&self) -> Option<Minor> {
        let text = self.0.strip_prefix('v').unwrap_or(&self.0);
        let mut numbers = text.split('.').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u32>().ok()).flatten()
        });
        let (major, minor) = (numbers.next()??, numbers.next()??);
        match (numbers.next(), numbers.next()) {
            (None | Some(Some(_)), None) => Some(Minor { major, minor }),
            _ => None,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Version {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minor_is_read_from_every_accepted_form() {
        for (text, expected) in [
            ("1.31", Some((1, 31))),
            ("v1.31", Some((1, 31))),
            ("v1.31.2", Some((1, 31))),
            ("1.31.", None),
            ("1", None),
            ("", None),
            ("v", None),
            ("1.31.2.3", None),
            ("1.+31", None),
            ("1.x", None),
            ("1.31.x", None),
        ] {
            let expected = expected.map(|(major, minor)| Minor { major, minor });
            assert_eq!(Version::from(text).minor(), expected, "{text}");
        }
    }
}
