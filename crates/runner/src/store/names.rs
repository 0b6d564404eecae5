//! Which Secrets with state and copies of it there are, as a watch tells: so that nobody has to search all Secrets of a
//! namespace for the parts of one state, which would cost the more the more Workspaces there are.
//!
//! What is known here may be a moment old. It only tells which names to ask for besides those that every state has.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use parking_lot::RwLock;

/// Namespace and name of a Secret.
type Name = (String, String);

/// The names of Secrets with state, once they are known. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Arc<RwLock<Option<BTreeSet<Name>>>>);

impl Names {
    /// There are these and no others.
    pub(crate) fn only(&self, names: &HashSet<Name>) {
        *self.0.write() = Some(names.iter().cloned().collect());
    }

    /// One is there, or is gone.
    pub(crate) fn note(&self, namespace: &str, name: &str, is_there: bool) {
        if let Some(names) = self.0.write().as_mut() {
            let name = (namespace.to_owned(), name.to_owned());
            match is_there {
                true => names.insert(name),
                false => names.remove(&name),
            };
        }
    }

    /// The names in a namespace that begin so, if all names are known.
    pub(super) fn beginning_with(&self, namespace: &str, beginning: &str) -> Option<Vec<String>> {
        let names = self.0.read();
        let from = (namespace.to_owned(), beginning.to_owned());
        let found = names
            .as_ref()?
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
        names.only(&HashSet::from([
            name("a", "tfstate-x"),
            name("b", "tfstate-x-part-1"),
        ]));
        names.note("a", "tfstate-x-part-2", true);
        names.note("a", "tfstate-y", true);
        names.note("a", "tfstate-x", false);
        let found = names.beginning_with("a", "tfstate-x").expect("all are known");
        assert_eq!(found, ["tfstate-x-part-2"]);
    }
}
