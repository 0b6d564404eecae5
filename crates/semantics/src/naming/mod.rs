//! Names, labels and annotations: what Kubernetes accepts, in its words.
//!
//! The checks are hand-written scans instead of regular expressions because every write runs them over every label.

mod finalizers;
mod metadata;
mod rules;
#[cfg(test)]
mod tests;

pub use finalizers::{finalizer_warnings, standard_finalizer_errors};
pub use metadata::{ANNOTATIONS_MAX_BYTES, metadata_errors, metadata_update_errors};
pub use rules::{
    data_key_errors, dns_1035_label_errors, field_manager_errors, label_key_errors, label_value_errors,
};

/// How a kind's object names are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// Lower-case letters, digits, `-` and `.`; at most 253.
    DnsSubdomain,
    /// Lower-case letters, digits and `-`; at most 63.
    DnsLabel,
    /// Anything that fits one path segment (RBAC kinds).
    PathSegment,
}

/// Checks a name; each text is what upstream says after `Invalid value: "…": `.
#[must_use]
pub fn name_errors(rule: NameRule, name: &str) -> Vec<String> {
    match rule {
        NameRule::DnsSubdomain => rules::dns_subdomain_errors(name, rules::Unit::Characters),
        NameRule::DnsLabel => rules::dns_label_errors(name),
        NameRule::PathSegment => rules::path_segment_errors(name),
    }
}

/// Checks a `generateName`: a prefix, to which letters and digits will be appended.
#[must_use]
pub fn name_prefix_errors(rule: NameRule, prefix: &str) -> Vec<String> {
    if rule == NameRule::PathSegment {
        return rules::path_segment_prefix_errors(prefix);
    }
    // A dash at the end is no fault in a prefix. Upstream masks the last two characters, so a name cut to fit the
    // limit is counted one shorter than it is.
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let kept = rest
                .char_indices()
                .next_back()
                .map_or("", |(last, _)| &rest[..last]);
            name_errors(rule, &format!("{kept}a"))
        }
        _ => name_errors(rule, prefix),
    }
}
