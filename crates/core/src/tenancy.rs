//! Tenancy: which namespaces an operator, or the owner of an object, named.
//!
//! A namespace is a tenant. What a tenant may write is a claim; these sets come from the operator's options, or from an
//! annotation on an object that the tenant in question cannot write.

mod watch_scope;

use std::{collections::BTreeSet, fmt};

pub use watch_scope::WatchScope;

/// Stands for every namespace in an annotation that lists namespaces.
const EVERY: &str = "*";

/// A set of namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceSet {
    /// Every namespace.
    All,
    /// These and no others.
    Only(BTreeSet<String>),
}

impl NamespaceSet {
    /// No namespace.
    #[must_use]
    pub const fn none() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// These and no others.
    pub fn only<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::Only(names.into_iter().map(Into::into).collect())
    }

    /// The namespaces in the value of an annotation: names with commas between them, or `*` for every namespace.
    #[must_use]
    pub fn parse(list: &str) -> Self {
        let names = || list.split(',').map(str::trim).filter(|name| !name.is_empty());
        if names().any(|name| name == EVERY) {
            Self::All
        } else {
            Self::only(names())
        }
    }

    /// Whether a namespace is one of them.
    #[must_use]
    pub fn contains(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(namespace),
        }
    }

    /// Whether it has no namespace at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Only(names) if names.is_empty())
    }
}

impl fmt::Display for NamespaceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all namespaces"),
            Self::Only(names) if names.is_empty() => f.write_str("no namespace"),
            Self::Only(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_names_namespaces_exactly() {
        for (list, namespace, expected) in [
            ("a,b", "a", true),
            (" a , b ", "b", true),
            ("a,b", "ab", false),
            ("a", "A", false),
            ("", "", false),
            (",", "", false),
            ("", "a", false),
            ("*", "a", true),
            ("a,*", "c", true),
            ("a*", "ab", false),
        ] {
            assert_eq!(
                NamespaceSet::parse(list).contains(namespace),
                expected,
                "{list:?} {namespace:?}"
            );
        }
    }

    #[test]
    fn an_empty_set_is_not_every_namespace() {
        assert!(NamespaceSet::none().is_empty() && NamespaceSet::parse(" , ").is_empty());
        assert!(!NamespaceSet::All.is_empty() && !NamespaceSet::none().contains("a"));
    }
}
