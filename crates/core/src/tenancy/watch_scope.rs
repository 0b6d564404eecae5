//! What one watch reads of a kind.

use super::NamespaceSet;

/// What one watch reads of a kind. An API watches either all namespaces or one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WatchScope {
    /// Every object: those of all namespaces, and cluster-scoped ones.
    Cluster,
    /// The objects of one namespace, or that Namespace itself.
    Namespace(String),
}

impl WatchScope {
    /// Whether it has the objects of a namespace.
    #[must_use]
    pub fn contains(&self, namespace: &str) -> bool {
        self.namespace().is_none_or(|own| own == namespace)
    }

    /// Its namespace, unless it is the whole cluster.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Cluster => None,
            Self::Namespace(namespace) => Some(namespace),
        }
    }
}

impl NamespaceSet {
    /// The watches that read a namespaced kind.
    #[must_use]
    pub fn scopes(&self) -> Vec<WatchScope> {
        match self {
            Self::All => vec![WatchScope::Cluster],
            Self::Only(names) => names.iter().cloned().map(WatchScope::Namespace).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_have_the_namespaces_of_the_set_and_each_namespace_once() {
        for set in [
            NamespaceSet::All,
            NamespaceSet::only(["a", "b"]),
            NamespaceSet::none(),
        ] {
            for namespace in ["a", "b", "ab", "c", ""] {
                let scopes = set.scopes();
                let count = scopes.iter().filter(|scope| scope.contains(namespace)).count();
                assert_eq!(count, usize::from(set.contains(namespace)), "{set} {namespace:?}");
            }
        }
    }
}
