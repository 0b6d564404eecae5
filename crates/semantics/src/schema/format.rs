//! String and number formats, as `k8s.io/kube-openapi` knows them.
//!
//! Names are compared without their dashes (`date-time` is `datetime`). A format that is unknown, or does not fit the
//! type, is ignored; upstream ignores it too.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::raw::{additional, entries, items, list, set, text};

/// A format that is checked.
#[derive(Debug, Clone)]
pub(super) struct Format {
    /// As written, for messages.
    pub(super) name: String,
    pub(super) kind: FormatKind,
}

/// What to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormatKind {
    BsonObjectId,
    Byte,
    Cidr,
    CreditCard,
    Date,
    DateTime,
    Duration,
    Email,
    HexColor,
    Hostname,
    Ipv4,
    Ipv6,
    Isbn,
    Isbn10,
    Isbn13,
    LongName,
    Mac,
    Password,
    RgbColor,
    ShortName,
    Ssn,
    Uri,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
    Int32,
    Int64,
    Float,
    Double,
}

impl Format {
    /// The format of a value of `json_type` (empty for int-or-string and nested rules), if it is one that is checked.
    pub(super) fn parse(json_type: &str, name: &str) -> Option<Self> {
        let kind = match json_type {
            "" | "string" => string_kind(&name.replace('-', ""))?,
            "integer" if name == "int32" => FormatKind::Int32,
            "integer" if name == "int64" => FormatKind::Int64,
            "number" if name == "float" => FormatKind::Float,
            "number" if name == "double" => FormatKind::Double,
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            kind,
        })
    }

    /// Whether a string has this format. Number formats say nothing about strings.
    pub(super) fn fits(&self, text: &str) -> bool {
        match self.kind {
            FormatKind::BsonObjectId => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
            FormatKind::Byte => BASE64.fits(text),
            FormatKind::Cidr => is_cidr(text),
            FormatKind::CreditCard => is_credit_card(text),
            FormatKind::Date => is_date(text),
            FormatKind::DateTime => is_date_time(text),
            FormatKind::Duration => is_duration(text),
            FormatKind::Email => is_email(text),
            FormatKind::HexColor => HEX_COLOR.fits(text),
            FormatKind::Hostname => {
                HOSTNAME.fits(text) && text.len() <= 255 && text.split('.').all(|label| label.len() <= 63)
            }
            FormatKind::Ipv4 => text.contains('.') && (is_ipv4(text) || text.parse::<Ipv6Addr>().is_ok()),
            FormatKind::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            FormatKind::Isbn => is_isbn10(text) || is_isbn13(text),
            FormatKind::Isbn10 => is_isbn10(text),
            FormatKind::Isbn13 => is_isbn13(text),
            FormatKind::LongName => text.len() <= 253 && text.split('.').all(is_name_segment),
            FormatKind::Mac => is_mac(text),
            FormatKind::RgbColor => RGB_COLOR.fits(text),
            FormatKind::ShortName => text.len() <= 63 && is_name_segment(text),
            FormatKind::Ssn => text.len() == 11 && SSN.fits(text),
            FormatKind::Uri => is_request_uri(text),
            FormatKind::Uuid => is_uuid(text, None, false),
            FormatKind::Uuid3 => is_uuid(text, Some(b'3'), false),
            FormatKind::Uuid4 => is_uuid(text, Some(b'4'), true),
            FormatKind::Uuid5 => is_uuid(text, Some(b'5'), true),
            FormatKind::Password
            | FormatKind::Int32
            | FormatKind::Int64
            | FormatKind::Float
            | FormatKind::Double => true,
        }
    }
}

/// The formats in a CRD's schema that say nothing to the server, with those of all schemas in it.
#[must_use]
pub fn unrecognized_formats(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let format = text(schema, "format");
    if !format.is_empty() && Format::parse(text(schema, "type"), format).is_none() {
        found.push(format.to_owned());
    }
    let listed = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .flat_map(|key| list(schema, key));
    let named = entries(schema, "properties").map(|(_, inner)| inner);
    let single = [items(schema), additional(schema), set(schema, "not")];
    for inner in named.chain(listed).chain(single.into_iter().flatten()) {
        found.append(&mut unrecognized_formats(inner));
    }
    found
}

fn string_kind(name: &str) -> Option<FormatKind> {
    Some(match name {
        "bsonobjectid" => FormatKind::BsonObjectId,
        "byte" => FormatKind::Byte,
        "cidr" => FormatKind::Cidr,
        "creditcard" => FormatKind::CreditCard,
        "date" => FormatKind::Date,
        "datetime" => FormatKind::DateTime,
        "duration" => FormatKind::Duration,
        "email" => FormatKind::Email,
        "hexcolor" => FormatKind::HexColor,
        "hostname" => FormatKind::Hostname,
        "ipv4" => FormatKind::Ipv4,
        "ipv6" => FormatKind::Ipv6,
        "isbn" => FormatKind::Isbn,
        "isbn10" => FormatKind::Isbn10,
        "isbn13" => FormatKind::Isbn13,
        "k8slongname" => FormatKind::LongName,
        "k8sshortname" => FormatKind::ShortName,
        "mac" => FormatKind::Mac,
        "password" => FormatKind::Password,
        "rgbcolor" => FormatKind::RgbColor,
        "ssn" => FormatKind::Ssn,
        "uri" => FormatKind::Uri,
        "uuid" => FormatKind::Uuid,
        "uuid3" => FormatKind::Uuid3,
        "uuid4" => FormatKind::Uuid4,
        "uuid5" => FormatKind::Uuid5,
        _ => return None,
    })
}

/// A fixed expression; the tests prove that each compiles.
struct Fixed(LazyLock<Option<Regex>>);

impl Fixed {
    fn fits(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

macro_rules! fixed {
    ($name:ident, $pattern:expr) => {
        static $name: Fixed = Fixed(LazyLock::new(|| Regex::new($pattern).ok()));
    };
}

fixed!(
    BASE64,
    r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"
);
fixed!(
    CREDIT_CARD,
    concat!(
        r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}",
        r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$"
    )
);
fixed!(HEX_COLOR, "^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$");
fixed!(
    HOSTNAME,
    concat!(
        r"^(?:[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?",
        r"|(?:[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$"
    )
);
fixed!(
    RGB_COLOR,
    concat!(
        r"^rgb\(\s*(?:0|[1-9][0-9]?|1[0-9]{1,2}|2[0-4][0-9]|25[0-5])\s*",
        r"(?:,\s*(?:0|[1-9][0-9]?|1[0-9]{1,2}|2[0-4][0-9]|25[0-5])\s*){2}\)$"
    )
);
fixed!(SSN, "^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$");
fixed!(
    TIME,
    r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$"
);
fixed!(
    GO_DURATION,
    r"^[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$"
);
fixed!(
    WORDY_DURATION,
    r"(?i)[0-9]+\s*(?:ns|nano[a-zµ]*|us|µs|micro[a-zµ]*|ms|milli[a-zµ]*|s|sec[a-zµ]*|m|min[a-zµ]*|h|hr|hour[a-zµ]*|d|day[a-zµ]*|w|wk|week[a-zµ]*)(?:[^a-zµ]|$)"
);
fixed!(
    EMAIL,
    concat!(
        r#"^(?:[a-zA-Z0-9!#$%&'*+/=?^_`{|}~\-\p{L}\p{N}]+(?:\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~\-\p{L}\p{N}]+)*|"(?:[^"\\]|\\.)+")"#,
        r#"@(?:[a-zA-Z0-9!#$%&'*+/=?^_`{|}~\-\p{L}\p{N}]+(?:\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~\-\p{L}\p{N}]+)*|\[[^\[\]]+\])$"#
    )
);

fn is_name_segment(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|b| alphanumeric(b) || *b == b'-')
}

/// Go before 1.17 allowed leading zeros, and Kubernetes still does.
fn is_ipv4(text: &str) -> bool {
    let mut parts = 0;
    for part in text.split('.') {
        parts += 1;
        let trimmed = part.trim_start_matches('0');
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) || trimmed.len() > 3 {
            return false;
        }
        if trimmed.parse::<u16>().is_ok_and(|octet| octet > 255) {
            return false;
        }
    }
    parts == 4
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let limit = if is_ipv4(address) || address.parse::<Ipv4Addr>().is_ok() {
        32
    } else if address.parse::<Ipv6Addr>().is_ok() {
        128
    } else {
        return false;
    };
    !bits.is_empty()
        && bits.bytes().all(|b| b.is_ascii_digit())
        && bits.parse::<u16>().is_ok_and(|bits| bits <= limit)
}

fn is_mac(text: &str) -> bool {
    let hex = |part: &str, len: usize| part.len() == len && part.bytes().all(|b| b.is_ascii_hexdigit());
    let groups = |separator: char, len: usize, counts: &[usize]| {
        let mut count = 0;
        text.split(separator).all(|part| {
            count += 1;
            hex(part, len)
        }) && counts.contains(&count)
    };
    groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}

fn is_uuid(text: &str, version: Option<u8>, rfc_variant: bool) -> bool {
    let mut digits = Vec::with_capacity(32);
    for &b in text.as_bytes() {
        if b == b'-' {
            // A dash may stand between the groups, and only there; it is optional at each place.
            if !matches!(digits.len(), 8 | 12 | 16 | 20) {
                return false;
            }
        } else if b.is_ascii_hexdigit() {
            digits.push(b.to_ascii_lowercase());
        } else {
            return false;
        }
    }
    digits.len() == 32
        && !text.contains("--")
        && version.is_none_or(|version| digits[12] == version)
        && (!rfc_variant || matches!(digits[16], b'8' | b'9' | b'a' | b'b'))
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date)
        && TIME.fits(time)
        && time.get(0..2).is_some_and(|hours| hours <= "23")
        && time.get(3..5).is_some_and(|minutes| minutes <= "59")
        && time.get(6..8).is_some_and(|seconds| seconds <= "59")
}

/// A Go duration, or a Scala-like one (`22 ns`, `3 weeks`) anywhere in the text.
fn is_duration(text: &str) -> bool {
    GO_DURATION.fits(text) || WORDY_DURATION.fits(text)
}

fn is_email(text: &str) -> bool {
    let text = text.trim();
    match text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) {
        Some((_, address)) => EMAIL.fits(address),
        None => EMAIL.fits(text),
    }
}

fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < b' ' || b == 0x7f) || !escapes_are_whole(text) {
        return false;
    }
    if text == "*" || (text.starts_with('/') && !text.starts_with("//")) {
        return true;
    }
    let rest = match text.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => rest,
        _ if text.starts_with('/') => text,
        _ => return false,
    };
    let Some(after) = rest.strip_prefix("//") else {
        return true;
    };
    let authority = after.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let port = match host.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((_, tail)) => tail,
            None => return false,
        },
        None => host.rfind(':').map_or("", |at| &host[at..]),
    };
    !host.contains([' ', '#', '"', '<', '>', '\\', '^', '`', '{', '|', '}'])
        && (port.is_empty()
            || port
                .strip_prefix(':')
                .is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit())))
}

fn is_scheme(scheme: &str) -> bool {
    scheme.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

fn escapes_are_whole(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let bytes = rest.as_bytes();
        bytes.len() >= 2 && bytes[0].is_ascii_hexdigit() && bytes[1].is_ascii_hexdigit()
    })
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, b)| {
            let digit = u32::from(b - b'0') * if place % 2 == 1 { 2 } else { 1 };
            if digit > 9 { digit - 9 } else { digit }
        })
        .sum();
    CREDIT_CARD.fits(&digits) && sum.is_multiple_of(10)
}

fn without_separators(text: &str) -> Vec<u8> {
    text.bytes()
        .filter(|b| !b.is_ascii_whitespace() && *b != b'-')
        .collect()
}

fn is_isbn10(text: &str) -> bool {
    let symbols = without_separators(text);
    let digits = symbols.len() == 10
        && symbols
            .iter()
            .enumerate()
            .all(|(at, b)| b.is_ascii_digit() || (at == 9 && *b == b'X'));
    let worth = |b: u8| if b == b'X' { 10 } else { u32::from(b - b'0') };
    digits
        && symbols
            .iter()
            .zip(1..)
            .map(|(&b, place)| worth(b) * place)
            .sum::<u32>()
            % 11
            == 0
}

fn is_isbn13(text: &str) -> bool {
    let symbols = without_separators(text);
    let weighed = |(at, b): (usize, &u8)| u32::from(b - b'0') * if at % 2 == 0 { 1 } else { 3 };
    symbols.len() == 13
        && symbols.iter().all(u8::is_ascii_digit)
        && symbols.iter().enumerate().map(weighed).sum::<u32>() % 10 == 0
}

#[cfg(test)]
mod tests;
