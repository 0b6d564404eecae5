//! Which Secrets with state and copies of it there are, as a watch tells: so that nobody has to search all Secrets of a
//! namespace for the parts of one state, which would cost the more the more Workspaces there are.
//!
//! What is known here may be a moment old. It only tells which names to ask for besides those that every state has.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use capt_core::tenancy::WatchScope;
use parking_lot::RwLock;

/// Namespace and name of a Secret.
type Name = (String, String);

/// The names of Secrets with state, once they are known. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Arc<RwLock<BTreeMap<WatchScope, BTreeSet<Name>>>>);

impl Names {
    /// In this scope there are these and no others.
    pub(crate) fn only(&self, scope: &WatchScope, names: &HashSet<Name>) {
        let names = names.iter().cloned().collect();
        self.0.write().insert(scope.clone(), names);
    }

    /// One is there, or is gone.
    pub(crate) fn note(&self, namespace: &str, name: &str, is_there: bool) {
        let mut known = self.0.write();
        if let Some((_, names)) = known.iter_mut().find(|(scope, _)| scope.contains(namespace)) {
            let name = (namespace.to_owned(), name.to_owned());
            match is_there {
                true => names.insert(name),
                false => names.remove(&name),
            };
        }
    }

    /// The names in a namespace that begin so, if all names are known.
    pub(super) fn beginning_with(&self, namespace: &str, beginning: &str) -> Option<Vec<String>> {
        let known = self.0.read();
        let (_, names) = known.iter().find(|(scope, _)| scope.contains(namespace))?;
        let from = (namespace.to_owned(), beginning.to_owned());
        let found = names
            .range(from..)
            .map_while(|(within, name)| (within == namespace && name.starts_with(beginning)).then_some(name));
        Some(found.cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_beginning_once_all_are_known() {
        let names = Names::default();
        names.note("a", "tfstate-x", true);
        assert_eq!(
            names.beginning_with("a", "tfstate-x"),
            None,
            "not all are known yet"
        );
        let name = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
        names.only(
            &WatchScope::Cluster,
            &HashSet::from([name("a", "tfstate-x"), name("b", "tfstate-x-part-1")]),
        );
        names.note("a", "tfstate-x-part-2", true);
        names.note("a", "tfstate-y", true);
        names.note("a", "tfstate-x", false);
        let found = names.beginning_with("a", "tfstate-x").expect("all are known");
        assert_eq!(found, ["tfstate-x-part-2"]);
    }
    #[test]
    fn what_is_known_of_one_namespace_says_nothing_about_another() {
        let names = Names::default();
        let [a, b] = ["a", "b"].map(|namespace| WatchScope::Namespace(namespace.to_owned()));
        let one = |namespace: &str| HashSet::from([(namespace.to_owned(), "tfstate-x".to_owned())]);
        let found = |namespace| names.beginning_with(namespace, "tfstate-");
        names.only(&a, &one("a"));
        assert_eq!((found("a").map(|names| names.len()), found("b")), (Some(1), None));
        names.only(&b, &one("b"));
        names.only(&a, &HashSet::new());
        let counts = ["a", "b", "c"].map(|namespace| found(namespace).map(|names| names.len()));
        assert_eq!(counts, [Some(0), Some(1), None]);
    }
}
