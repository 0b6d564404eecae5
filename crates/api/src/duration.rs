//! Lengths of time as users write them: `45m`, `1h30m`, and, for timeouts, a bare number of minutes.

use std::{borrow::Cow, fmt, time};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A length of time, such as `90s`, `45m` or `1h30m`.
///
/// The text is kept as it was written, so that reading and writing an object changes nothing in it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("maxLength" = 32, "x-kubernetes-validations" = [json!({
    "rule": "self.matches('^([0-9]{1,6}(h|m|s))+$') && self.matches('[1-9]')",
    "message": "write a duration longer than zero in hours, minutes and seconds, such as 90s, 45m or 1h30m",
})]))]
pub struct Duration(pub String);

impl Duration {
    /// The length, or `None` if the text is no duration.
    #[must_use]
    pub fn to_std(&self) -> Option<time::Duration> {
        parse(&self.0)
    }
}

impl From<time::Duration> for Duration {
    /// Whole seconds, in the form that Go prints.
    fn from(duration: time::Duration) -> Self {
        let seconds = duration.as_secs();
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        Self(match (hours, minutes) {
            (0, 0) => format!("{seconds}s"),
            (0, _) => format!("{minutes}m{seconds}s"),
            _ => format!("{hours}h{minutes}m{seconds}s"),
        })
    }
}

impl From<&str> for Duration {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How long something may take: a number of minutes, or a duration such as `45m`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
#[serde(untagged)]
pub enum Timeout {
    /// Whole minutes.
    Minutes(i64),
    /// A duration such as `45m` or `1h30m`; digits alone are minutes here too.
    Text(Duration),
}

impl Timeout {
    /// The length, or `None` if it is neither a number of minutes nor a duration.
    #[must_use]
    pub fn to_std(&self) -> Option<time::Duration> {
        match self {
            Self::Minutes(minutes) => u64::try_from(*minutes)
                .ok()?
                .checked_mul(60)
                .map(time::Duration::from_secs),
            Self::Text(text) => {
                let minutes = text
                    .0
                    .parse()
                    .ok()
                    .map(|minutes: u32| time::Duration::from_secs(60 * u64::from(minutes)));
                minutes.or_else(|| text.to_std())
            }
        }
    }
}

impl JsonSchema for Timeout {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timeout".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "maxLength": 32,
            "x-kubernetes-validations": [{
                "rule": "string(self).matches('^([0-9]{1,6}|([0-9]{1,6}(h|m|s))+)$') && string(self).matches('[1-9]')",
                "message": "write a number of minutes, such as 45, or a duration, such as 45m or 1h30m; \
                            it must be longer than zero",
            }],
        })
    }
}

fn parse(text: &str) -> Option<time::Duration> {
    let mut total: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit())?;
        let number: u64 = rest.get(..end)?.parse().ok()?;
        let unit = match rest.as_bytes().get(end)? {
            b'h' => 3600,
            b'm' => 60,
            b's' => 1,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(unit)?)?;
        rest = rest.get(end + 1..)?;
    }
    (!text.is_empty()).then(|| time::Duration::from_secs(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_seconds() {
        for (text, seconds) in [
            ("45m", Some(2700)),
            ("1h30m", Some(5400)),
            ("90s", Some(90)),
            ("1h0m5s", Some(3605)),
            ("", None),
            ("45", None),
            ("m", None),
            ("4 m", None),
            ("-4m", None),
            ("1d", None),
            ("99999999999999999999h", None),
            ("9999999999999999999h", None),
            ("1µ", None),
        ] {
            assert_eq!(
                Duration::from(text).to_std(),
                seconds.map(time::Duration::from_secs),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_printed_reads_the_same() {
        for seconds in [0, 1, 59, 60, 61, 3599, 3600, 3661, 86_400, 1_000_000] {
            let length = time::Duration::from_secs(seconds);
            assert_eq!(Duration::from(length).to_std(), Some(length));
        }
        assert_eq!(Duration::from(time::Duration::from_secs(5400)).0, "1h30m0s");
    }

    #[test]
    fn a_timeout_is_minutes_or_a_duration() {
        for (json, seconds) in [
            ("45", Some(2700)),
            ("\"45m\"", Some(2700)),
            ("-1", None),
            ("\"soon\"", None),
        ] {
            let timeout: Timeout = serde_json::from_str(json).expect(json);
            assert_eq!(timeout.to_std(), seconds.map(time::Duration::from_secs), "{json}");
            assert_eq!(serde_json::to_string(&timeout).expect(json), json);
        }
    }
}
