//! Which Workspaces provider-terraform uses, by its ProviderConfigUsages. Each is named by the uid of a Workspace.
//!
//! A user who may write in one namespace may write a ProviderConfigUsage there, so that it counts for Workspaces of its own
//! namespace only.

use std::collections::{HashMap, HashSet};

use capt_core::{render::WorkspaceGroup, tenancy::WatchScope};

use crate::view::WorkspaceView;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Usage {
    /// Its namespace; none for one of the cluster-scoped group.
    pub(crate) namespace: Option<String>,
    /// The uid of the Workspace.
    pub(crate) uid: String,
}

/// All of them, by the group of the Workspaces and what each watch reads, once that is known.
#[derive(Debug, Default)]
pub(crate) struct Usages(HashMap<(WorkspaceGroup, WatchScope), HashSet<Usage>>);

impl Usages {
    /// In this scope there are these and no others.
    pub(crate) fn only(&mut self, group: WorkspaceGroup, scope: WatchScope, usages: HashSet<Usage>) {
        self.0.insert((group, scope), usages);
    }

    /// One is there, or is gone.
    pub(crate) fn note(&mut self, group: WorkspaceGroup, usage: &Usage, is_there: bool) {
        let namespace = usage.namespace.as_deref().unwrap_or_default();
        let known = self.0.iter_mut();
        let mut of_scope = known.filter(|((of, scope), _)| *of == group && scope.contains(namespace));
        if let Some((_, usages)) = of_scope.next() {
            match is_there {
                true => usages.insert(usage.clone()),
                false => usages.remove(usage),
            };
        }
    }

    /// Whether one names this Workspace.
    pub(crate) fn has(&self, view: &WorkspaceView) -> bool {
        let usage = Usage {
            namespace: view.namespace.clone(),
            uid: view.uid.clone(),
        };
        self.of(view).is_some_and(|usages| usages.contains(&usage))
    }

    /// Whether all that could name this Workspace are known.
    pub(crate) fn are_known_of(&self, view: &WorkspaceView) -> bool {
        self.of(view).is_some()
    }

    fn of(&self, view: &WorkspaceView) -> Option<&HashSet<Usage>> {
        let namespace = view.namespace.as_deref().unwrap_or_default();
        let mut known = self.0.iter();
        let found = known.find(|((group, scope), _)| *group == view.group && scope.contains(namespace));
        found.map(|(_, usages)| usages)
    }
}

#[cfg(test)]
mod tests {
    use capt_api::foreign::Workspace;
    use serde_json::json;

    use super::*;

    fn workspace(namespace: &str) -> WorkspaceView {
        let object: Workspace = serde_json::from_value(json!({
            "metadata": {"name": "vpc", "namespace": namespace, "uid": "u"},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
        }))
        .expect("a Workspace");
        WorkspaceView::from(&object)
    }

    fn usage(namespace: &str) -> Usage {
        Usage {
            namespace: Some(namespace.to_owned()),
            uid: "u".to_owned(),
        }
    }

    #[test]
    fn one_counts_in_its_own_namespace_and_only_once_all_of_that_are_known() {
        let group = WorkspaceGroup::Namespaced;
        let (a, b) = (workspace("a"), workspace("b"));
        for scopes in [
            vec![WatchScope::Cluster],
            ["a", "b"]
                .map(|name| WatchScope::Namespace(name.to_owned()))
                .into(),
        ] {
            let mut usages = Usages::default();
            usages.note(group, &usage("a"), true);
            assert!(!usages.has(&a) && !usages.are_known_of(&a));
            for scope in scopes {
                usages.only(group, scope, HashSet::new());
            }
            assert!(usages.are_known_of(&a) && usages.are_known_of(&b));
            usages.note(group, &usage("a"), true);
            assert!(usages.has(&a) && !usages.has(&b));
            usages.note(group, &usage("a"), false);
            assert!(!usages.has(&a));
        }
    }

    #[test]
    fn a_list_of_one_namespace_says_nothing_about_another() {
        let group = WorkspaceGroup::Namespaced;
        let [in_a, in_b] = ["a", "b"].map(|name| WatchScope::Namespace(name.to_owned()));
        let mut usages = Usages::default();
        usages.only(group, in_a.clone(), [usage("a")].into());
        assert!(usages.has(&workspace("a")) && !usages.are_known_of(&workspace("b")));
        usages.only(group, in_b, [usage("b")].into());
        usages.only(group, in_a, HashSet::new());
        assert!(!usages.has(&workspace("a")) && usages.has(&workspace("b")));
    }
}
