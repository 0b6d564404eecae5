//! Lengths of time as users write them, in the form of Go: `45m`, `1h30m`, `1.5h`, and, for timeouts, a bare number of
//! minutes.

use std::{borrow::Cow, fmt, time};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What a length of time looks like, as a regular expression: Go's own form without a minus. The digits are limited so
/// that no length gets out of what clocks can add.
pub(crate) const SHAPE: &str = "[+]?(([0-9]{1,6}([.][0-9]*)?|[.][0-9]+)(h|m)|\
                                ([0-9]{1,10}([.][0-9]*)?|[.][0-9]+)(s|ms|us|µs|μs|ns))+";

/// A length of time, such as `90s`, `45m`, `1h30m` or `1.5h`.
///
/// The text is kept as it was written, so that reading and writing an object changes nothing in it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("maxLength" = 32, "x-kubernetes-validations" = [json!({
    "rule": format!("self.matches('^{SHAPE}$') && self.matches('[1-9]')"),
    "message": "write a duration longer than zero, with a unit after each number, such as 90s, 45m or 1h30m",
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
                "rule": format!("string(self).matches('^([0-9]{{1,6}}|{SHAPE})$') && string(self).matches('[1-9]')"),
                "message": "write a number of minutes, such as 45, or a duration, such as 45m or 1h30m; \
                            it must be longer than zero",
            }],
        })
    }
}

/// Units by name, in nanoseconds. Of those that begin alike the longer one comes first.
const UNITS: &[(&str, u128)] = &[
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ns", 1),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

fn parse(text: &str) -> Option<time::Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), split_digits);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (unit, after) = UNITS
            .iter()
            .find_map(|(name, unit)| Some((*unit, after.strip_prefix(name)?)))?;
        total = total
            .checked_add(number(whole)?.checked_mul(unit)?)?
            .checked_add(part_of(unit, fraction)?)?;
        rest = after;
    }
    let seconds = u64::try_from(total / 1_000_000_000).ok()?;
    let nanoseconds = u32::try_from(total % 1_000_000_000).ok()?;
    Some(time::Duration::new(seconds, nanoseconds))
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn number(digits: &str) -> Option<u128> {
    if digits.is_empty() {
        Some(0)
    } else {
        digits.parse().ok()
    }
}

/// The part of a unit that the digits after a point stand for. More than 18 of them are below a nanosecond.
fn part_of(unit: u128, digits: &str) -> Option<u128> {
    let digits = digits.get(..18).unwrap_or(digits);
    let scale = 10_u128.checked_pow(u32::try_from(digits.len()).ok()?)?;
    Some(number(digits)? * unit / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_milliseconds() {
        for (text, milliseconds) in [
            ("45m", Some(2_700_000)),
            ("1h30m", Some(5_400_000)),
            ("90s", Some(90_000)),
            ("1h0m5s", Some(3_605_000)),
            ("1.5h", Some(5_400_000)),
            ("100ms", Some(100)),
            ("1m30.25s", Some(90_250)),
            (".5h", Some(1_800_000)),
            ("2.m", Some(120_000)),
            ("+1s", Some(1000)),
            ("5000us", Some(5)),
            ("5000µs", Some(5)),
            ("5000μs", Some(5)),
            ("5000000ns", Some(5)),
            ("0.1234567890123456789012345678h", Some(444_444)),
            ("0s", Some(0)),
            ("+", None),
            (".h", None),
            ("1.5", None),
            ("1..5h", None),
            ("1h+1m", None),
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
            let length = Duration::from(text).to_std().map(|length| length.as_millis());
            assert_eq!(length, milliseconds, "{text}");
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
            ("\"45\"", Some(2700)),
            ("\"1.5h\"", Some(5400)),
            ("-1", None),
            ("\"soon\"", None),
        ] {
            let timeout: Timeout = serde_json::from_str(json).expect(json);
            assert_eq!(timeout.to_std(), seconds.map(time::Duration::from_secs), "{json}");
            assert_eq!(serde_json::to_string(&timeout).expect(json), json);
        }
    }
}
