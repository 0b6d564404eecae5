//! The character rules and the sentences that name them.

use crate::{FieldError, FieldErrorKind};

const DNS_LABEL_FORM: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS_1035_LABEL_FORM: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const DNS_SUBDOMAIN_FORM: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_NAME_FORM: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_NAME_SENTENCE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                                   with an alphanumeric character";
const LABEL_NAME_EXAMPLES: &str = "'MyName',  or 'my.name',  or '123-abc', ";

const DNS_LABEL_MAX: usize = 63;
const DNS_SUBDOMAIN_MAX: usize = 253;
const LABEL_MAX: usize = 63;
const FIELD_MANAGER_MAX: usize = 128;

/// Upstream counts bytes everywhere but calls them characters in its older checks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    Bytes,
    Characters,
}

fn too_long(limit: usize, unit: Unit) -> String {
    let unit = match unit {
        Unit::Bytes => "bytes",
        Unit::Characters => "characters",
    };
    format!("must be no more than {limit} {unit}")
}

fn broken_form(sentence: &str, examples: &str, form: &str) -> String {
    format!("{sentence} (e.g. {examples}regex used for validation is '{form}')")
}

fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn starts_and_ends(text: &[u8], edge: fn(u8) -> bool, inside: fn(u8) -> bool) -> bool {
    match text {
        [] => false,
        [first, .., last] if !edge(*first) || !edge(*last) => false,
        [only] => edge(*only),
        _ => text.iter().all(|&byte| inside(byte)),
    }
}

fn is_dns_label(text: &[u8]) -> bool {
    starts_and_ends(text, is_lower_alphanumeric, |byte| {
        is_lower_alphanumeric(byte) || byte == b'-'
    })
}

fn is_dns_subdomain(text: &str) -> bool {
    text.as_bytes().split(|&byte| byte == b'.').all(is_dns_label)
}

fn is_label_name(text: &str) -> bool {
    starts_and_ends(
        text.as_bytes(),
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
    )
}

pub(super) fn dns_label_errors(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > DNS_LABEL_MAX {
        errors.push(too_long(DNS_LABEL_MAX, Unit::Characters));
    }
    if !is_dns_label(name.as_bytes()) {
        errors.push(if is_dns_subdomain(name) {
            "must not contain dots".to_owned()
        } else {
            broken_form(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                 start and end with an alphanumeric character",
                "'my-name',  or '123-abc', ",
                DNS_LABEL_FORM,
            )
        });
    }
    errors
}

/// Checks a name that must start with a letter, as those of resources, kinds and versions do.
#[must_use]
pub fn dns_1035_label_errors(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > DNS_LABEL_MAX {
        errors.push(too_long(DNS_LABEL_MAX, Unit::Characters));
    }
    if !is_dns_label(name.as_bytes()) || !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        errors.push(broken_form(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            "'my-name',  or 'abc-123', ",
            DNS_1035_LABEL_FORM,
        ));
    }
    errors
}

pub(super) fn dns_subdomain_errors(name: &str, unit: Unit) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > DNS_SUBDOMAIN_MAX {
        errors.push(too_long(DNS_SUBDOMAIN_MAX, unit));
    }
    if !is_dns_subdomain(name) {
        errors.push(broken_form(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
             must start and end with an alphanumeric character",
            "'example.com', ",
            DNS_SUBDOMAIN_FORM,
        ));
    }
    errors
}

pub(super) fn path_segment_errors(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    path_segment_prefix_errors(name)
}

pub(super) fn path_segment_prefix_errors(name: &str) -> Vec<String> {
    ["/", "%"]
        .iter()
        .filter(|refused| name.contains(**refused))
        .map(|refused| format!("may not contain '{refused}'"))
        .collect()
}

/// Checks the key of a label, or anything else with the same form (an annotation's key, a finalizer).
#[must_use]
pub fn label_key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => {
            let form = broken_form(LABEL_NAME_SENTENCE, LABEL_NAME_EXAMPLES, LABEL_NAME_FORM);
            return vec![format!(
                "a valid label key {form} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            errors.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            let faults = dns_subdomain_errors(prefix, Unit::Bytes);
            errors.extend(faults.into_iter().map(|fault| format!("prefix part {fault}")));
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        errors.push(format!("name part {}", too_long(LABEL_MAX, Unit::Bytes)));
    }
    if !is_label_name(name) {
        errors.push(format!(
            "name part {}",
            broken_form(LABEL_NAME_SENTENCE, LABEL_NAME_EXAMPLES, LABEL_NAME_FORM)
        ));
    }
    errors
}

/// Checks a key of a ConfigMap's or Secret's data.
#[must_use]
pub fn data_key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if key.len() > DNS_SUBDOMAIN_MAX {
        errors.push(too_long(DNS_SUBDOMAIN_MAX, Unit::Characters));
    }
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if key.is_empty() || !key.bytes().all(is_good) {
        errors.push(broken_form(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "'key.name',  or 'KEY_NAME',  or 'key-name', ",
            "[-._a-zA-Z0-9]+",
        ));
    }
    match key {
        "." | ".." => errors.push(format!("must not be '{key}'")),
        _ if key.starts_with("..") => errors.push("must not start with '..'".to_owned()),
        _ => {}
    }
    errors
}

/// Checks the value of a label.
#[must_use]
pub fn label_value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > LABEL_MAX {
        errors.push(too_long(LABEL_MAX, Unit::Bytes));
    }
    if !value.is_empty() && !is_label_name(value) {
        errors.push(broken_form(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            "'MyValue',  or 'my_value',  or '12345', ",
            &format!("({LABEL_NAME_FORM})?"),
        ));
    }
    errors
}

/// Checks the name of a field manager, which stands at `field`.
#[must_use]
pub fn field_manager_errors(field: &str, manager: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > FIELD_MANAGER_MAX {
        let detail = format!("may not be more than {FIELD_MANAGER_MAX} bytes");
        errors.push(FieldError::new(FieldErrorKind::TooLong, field, None, detail));
    }
    for (position, character) in manager.char_indices() {
        // The ASCII space is the only white space that counts as printable.
        if character.is_control() || (character.is_whitespace() && character != ' ') {
            let detail = format!(
                "invalid character U+{:04X} (at position {position})",
                u32::from(character)
            );
            errors.push(FieldError::invalid(field, manager.into(), detail));
        }
    }
    errors
}
