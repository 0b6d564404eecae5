//! Values of arguments.

use std::{num::NonZeroUsize, time::Duration};

use apiary_semantics::naming::{NameRule, label_value_errors, name_errors};
use tracing_subscriber::EnvFilter;

/// A length of time that may be never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length(pub(crate) Option<Duration>);

/// Reads a length of time, such as `90s` or `1h30m`.
pub(crate) fn length(text: &str) -> Result<Duration, String> {
    let length = capt_api::duration::Duration::from(text).to_std();
    length
        .filter(|length| !length.is_zero())
        .ok_or_else(|| "write a duration with a unit, such as 90s, 10m or 1h30m".to_owned())
}

/// Reads a length of time, or `0` for never.
pub(crate) fn length_or_never(text: &str) -> Result<Length, String> {
    if matches!(text, "0" | "0s" | "never") {
        return Ok(Length(None));
    }
    length(text).map(|length| Length(Some(length)))
}

/// Reads how many of something, of which there must be one.
pub(crate) fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .map_err(|_| "write a whole number, 1 or more".to_owned())
}

/// Reads what is to be logged.
pub(crate) fn log_filter(text: &str) -> Result<String, String> {
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!(
            "{error}; write a level, or levels of parts, such as warn,apiary=trace"
        )),
    }
}

/// Reads the name of a namespace.
pub(crate) fn namespace(text: &str) -> Result<String, String> {
    unless_faulty(text, name_errors(NameRule::DnsLabel, text))
}

/// Reads the name of a namespace, or `*` for all of them.
pub(crate) fn namespace_or_all(text: &str) -> Result<String, String> {
    match text {
        "*" => Ok(text.to_owned()),
        name => namespace(name).map_err(|fault| format!("{fault}; write a namespace, or * for all")),
    }
}

/// Reads the name of an object.
pub(crate) fn object_name(text: &str) -> Result<String, String> {
    unless_faulty(text, name_errors(NameRule::DnsSubdomain, text))
}

/// Reads the value of a label, of which there must be one.
pub(crate) fn label_value(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("write a value, or leave the option out".to_owned());
    }
    unless_faulty(text, label_value_errors(text))
}

fn unless_faulty(text: &str, faults: Vec<String>) -> Result<String, String> {
    match faults.into_iter().next() {
        None => Ok(text.to_owned()),
        Some(fault) => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_some_things_there_must_be_one() {
        for (text, expected) in [
            ("1", Some(1)),
            ("16", Some(16)),
            ("0", None),
            ("-1", None),
            ("many", None),
        ] {
            assert_eq!(at_least_one(text).ok().map(NonZeroUsize::get), expected, "{text}");
        }
    }

    #[test]
    fn what_kubernetes_would_refuse_is_refused_at_once() {
        type Read = fn(&str) -> Result<String, String>;
        for (read, good, bad) in [
            (namespace as Read, "team-a", ["Team", "a.b", "", "a_b"]),
            (namespace, "kube-system", ["*", "a,b", "-", "a*"]),
            (namespace_or_all, "team-a", ["Team", "a.b", "", "a*"]),
            (namespace_or_all, "*", ["**", "a,*", " ", "*,a"]),
            (object_name, "capt-controller.blue", ["Capt", "a_b", "", "a/b"]),
            (label_value, "Blue_1.2", ["a b", "-a", "", "a/b"]),
        ] {
            assert_eq!(read(good).as_deref(), Ok(good));
            for bad in bad {
                assert!(read(bad).is_err(), "{bad}");
            }
        }
    }

    #[test]
    fn lengths_of_time_need_a_unit() {
        for (text, expected) in [
            ("90s", Some(90)),
            ("10m", Some(600)),
            ("1h30m", Some(5400)),
            ("10", None),
            ("", None),
            ("0s", None),
            ("soon", None),
        ] {
            assert_eq!(length(text).ok(), expected.map(Duration::from_secs), "{text}");
        }
        assert_eq!(length_or_never("0"), Ok(Length(None)));
        assert_eq!(length_or_never("1m"), Ok(Length(Some(Duration::from_secs(60)))));
        assert!(length_or_never("1").is_err());
    }
}
